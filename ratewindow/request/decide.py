"""The decision: a question becomes at most one call of the store, its reply a decision.

If the store does not answer within TIMEOUT, or is known to be down because the breaker is open, `without_redis` decides
by each rule's `on_error`: allow uncounted, refuse with 503, or count in this process. `decide` and `adecide` differ in the
call alone: a generator costs 1.5 µs. What a request pays for more rarely is written once, as `Steps` for threads and event loops.
"""

from collections.abc import Generator
from time import monotonic, time
from typing import TYPE_CHECKING, Any, TypeVar

from ratewindow import conf
from ratewindow.limiter.redis import faults
from ratewindow.limiter.redis.pipeline import within
from ratewindow.limiter.reply import Reply, decision as decision_of
from ratewindow.limiter.types import Decision, TooManyWindows, What
from ratewindow.request import quotas, soft, without_redis
from ratewindow.request.prepare import Question
from ratewindow.signals import quota_reached
from ratewindow.store import outage, process_clients, stores

if TYPE_CHECKING:
    from ratewindow.limiter.limiter import Store

Result = TypeVar("Result")
# Each call that may wait, as a function, its awaited form and their arguments; the result is sent back:
# ``answer = yield decide, adecide, question`` is ``decide(question)`` in a thread and ``await adecide(question)`` on a loop.
Steps = Generator[tuple[Any, ...], Any, Result]


def decide(question: Question, what: What = "hit") -> Decision:
    """The decision on a question. The store is not called while it is known to be away, nor for a refusal that this
    process knows, nor where the request has waited for it without an answer."""
    at_s, began_s = time(), monotonic()
    if (known := _known(question, what, at_s, began_s)) is not None:
        return known
    try:
        store = stores.held.of_threads or stores.store()
        decision = _answered(question, what, store.run(question.checks, what), at_s, began_s)
    except Exception as error:  # whatever it is, no request fails for it
        if (enforced := _enforced(question, error)) is not None:
            return decide(enforced, what)
        return _failed(question, what, error, at_s, began_s)
    if quota_reached.receivers and what != "peek":
        quotas.tell(decision.parts, decide)
    return decision


async def adecide(question: Question, what: What = "hit") -> Decision:
    """`decide` on the running event loop."""
    at_s, began_s = time(), monotonic()
    if (known := _known(question, what, at_s, began_s)) is not None:
        return known
    try:
        answer = (await stores.astore()).run(question.checks, what)
        reply = answer if isinstance(answer, list) else await within(conf.current().timeout_s, answer)
        decision = _answered(question, what, reply, at_s, began_s)
    except Exception as error:
        if (enforced := _enforced(question, error)) is not None:
            return await adecide(enforced, what)
        return _failed(question, what, error, at_s, began_s)
    if quota_reached.receivers and what != "peek":
        await quotas.atell(decision.parts, adecide)
    return decision


def at_time(question: Question, store: "Store", now_ms: int) -> Decision:
    """The decision of `store` at another time than now, for whoever looks back on requests: nothing is remembered of it."""
    if (settled := _settled(question)) is not None:
        return settled
    reply = store.run(question.checks, "hit", now_ms)
    return _completed(decision_of(question.checks, reply, "hit"), question, now_ms / 1000)


def _known(question: Question, what: What, at_s: float, began_s: float) -> Decision | None:
    """The decision that needs no call of the store."""
    if (settled := _settled(question)) is not None:
        return settled
    if outage.refusals.known and what == "hit":
        refused = outage.refusals.recall(question.checks, 1000 * began_s)
        if refused is not None:
            return _completed(refused, question, at_s)
    if outage.breaker.open or question.waited:
        cause = outage.breaker.cause if outage.breaker.open else question.waited
        return _with_rules(without_redis.unanswered(question, what, cause), question)
    return None


def _settled(question: Question) -> Decision | None:
    """The decision on a question without checks, or one that something settled refuses."""
    if not question.checks or (question.settled and question.refused):
        return _with_rules(without_redis.unasked(question), question)
    return None


def _answered(question: Question, what: What, reply: Reply, at_s: float, began_s: float) -> Decision:
    """The decision in the store's reply; a refusal is remembered."""
    if outage.breaker.counts_answers:
        outage.breaker.succeeded()
    checks = question.checks
    decision = decision_of(checks, reply, what)
    if not decision.allowed and what == "hit" and not process_clients.in_memory():
        outage.refusals.learn(checks, reply, 1000 * began_s)
        without_redis.note_refusal(question, decision)
    return _completed(decision, question, at_s, monotonic() - began_s)


def _completed(decision: Decision, question: Question, at_s: float, took_s: float = 0.0) -> Decision:
    """With its times, the rules that made it, and what was settled without the store."""
    for part in decision.parts:
        part.at_s, part.took_s = at_s, took_s
    decision = _with_rules(decision, question)
    settled = question.settled_for(not decision.allowed) if question.settled else ()
    return Decision.of([*decision.parts, *settled]) if settled else decision


def _with_rules(decision: Decision, question: Question) -> Decision:
    """Let each part keep its rule, which may be edited meanwhile; that of a soft rule then speaks of its own limits. A rate in
    code and a row in shadow share their name."""
    parts, rules = decision.parts, question.rules
    if len(rules) == 1:  # nearly always
        for part in parts:
            part.made_by = part.made_by or rules[0]
        return soft.turned_back(parts) if rules[0].soft else decision
    by_name = {(rule.name, rule.is_beside): rule for rule in rules}
    for part in parts:
        beside = by_name.get((part.rule, True)) if part.mode == "shadow" else None
        part.made_by = part.made_by or beside or by_name.get((part.rule, False)) or by_name.get((part.rule, True))
    return soft.turned_back(parts) if any(rule.soft for rule in rules) else decision


def _enforced(question: Question, error: Exception) -> Question | None:
    """What is enforced, if all is too much for one call: rules in shadow refuse nobody, and must not lift what others do."""
    checks = [check for check in question.checks if check.enforce]
    if not isinstance(error, TooManyWindows) or len(checks) == len(question.checks):
        return None
    outage.report_decision(error, question.checks)
    return question._replace(checks=checks)


def _failed(question: Question, what: What, error: Exception, at_s: float, began_s: float) -> Decision:
    """What holds now that the store was called and gave no answer."""
    outage.report_decision(error, question.checks)
    decision = without_redis.unanswered(question, what, f"store:{faults.of(error).name}")
    took_s = monotonic() - began_s
    for part in decision.parts:
        part.took_s = took_s if part.cause else 0.0
    return _with_rules(decision, question)


def run(steps: Steps[Result]) -> Result:
    """Take the steps in this thread."""
    try:
        call, _, *arguments = next(steps)
        while True:
            try:
                result = call(*arguments)
            except BaseException as error:
                call, _, *arguments = steps.throw(error)
            else:
                call, _, *arguments = steps.send(result)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def arun(steps: Steps[Result]) -> Result:
    """Take the steps on the running event loop."""
    try:
        _, call, *arguments = next(steps)
        while True:
            try:
                result = await call(*arguments)
            except BaseException as error:
                _, call, *arguments = steps.throw(error)
            else:
                _, call, *arguments = steps.send(result)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
