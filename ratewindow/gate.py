"""The gate: rules and a request become checks, the checks one call, its reply a decision.

What does not need the answer is shared; only the call itself is written for sync and for async.
"""

import logging
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from django.core.signals import setting_changed
from django.http import HttpRequest
from redis.exceptions import RedisError, ResponseError

from ratewindow import conf, connection, statekeys, stores
from ratewindow.breaker import Breaker
from ratewindow.deadline import within
from ratewindow.identity import ip
from ratewindow.limiter.limiter import MOST_COST, check_cost
from ratewindow.limiter.refusals import Refusals, key_of
from ratewindow.limiter.types import Check, Decision
from ratewindow.limiter.wire import What, decision, merged, refusal_code
from ratewindow.rule import Rule

logger = logging.getLogger("ratewindow")

Cost = int | Callable[[HttpRequest], int]


class Question(NamedTuple):
    """What the store is asked about a request, and what is known without it."""

    checks: list[Check]
    missing: list[Decision]  # rules that refuse because their key is missing from the request


def ask_about(identity: str, rule: Rule, cost: int) -> Question:
    """The check of one rule for a client that is named."""
    return Question([_check(rule, conf.current().key_prefix, identity, _units(rule, check_cost(cost)))], [])


def ask(request: HttpRequest, rules: Iterable[Rule], cost: Cost = 1) -> Question:
    """The checks of every rule that counts this request, each for the client that the rule sees in it."""
    prefix, factor = conf.current().key_prefix, -1
    checks, missing = [], []
    for rule in rules:
        identity = rule.recipe.identity(request)
        if identity is None:
            if rule.on_missing == "refuse":
                missing.append(_missing(rule))
                continue
            if rule.on_missing == "allow":
                continue
            identity = ip(request)
        if factor < 0:
            factor = check_cost(cost(request) if callable(cost) else cost)
        checks.append(_check(rule, prefix, identity, _units(rule, factor)))
    return Question(merged(checks) if len(checks) > 1 else checks, missing)


def _units(rule: Rule, factor: int) -> int:
    """What a request costs: an edited rule must not raise in a view, so a product beyond the bound is the bound."""
    return min(rule.cost * factor, MOST_COST)


def _check(rule: Rule, prefix: str, identity: str, cost: int) -> Check:
    client = statekeys.client_tag(identity)
    keys = tuple([prefix + name + client for name in rule.state_names])
    if not rule.penalty_ms and not rule.count_refused:
        return Check(rule.name, rule.windows, keys, cost, rule.mode == "enforce")
    lock = prefix + rule.lock_name + client if rule.penalty_ms else ""
    return Check(rule.name, rule.windows, keys, cost, rule.mode == "enforce", rule.count_refused, rule.penalty_ms, lock)


def decide(question: Question, what: What = "hit") -> Decision:
    """The decision on a question; one call to the store, and none while it is known to be away."""
    asked = _Asked(question, what)
    told = asked.known()
    if told is not None:
        return told
    try:
        return asked.learn(stores.store().run(question.checks, what))
    except (RedisError, OSError) as error:
        return _unanswered(question, error)


async def adecide(question: Question, what: What = "hit") -> Decision:
    """`decide` on the running event loop."""
    asked = _Asked(question, what)
    told = asked.known()
    if told is not None:
        return told
    try:
        answer = (await stores.astore()).run(question.checks, what)
        return asked.learn(answer if isinstance(answer, list) else await within(conf.current().timeout_s, answer))
    except (RedisError, OSError) as error:  # TimeoutError is an OSError
        return _unanswered(question, error)


class _Asked:
    """A question, and when it was asked by this process's clocks."""

    __slots__ = ("asked_ms", "at_s", "question", "what")

    def __init__(self, question: Question, what: What) -> None:
        self.question, self.what = question, what
        self.at_s, self.asked_ms = time.time(), refusals.clock_ms()

    def known(self) -> Decision | None:
        """The answer, if the store need not be asked."""
        question = self.question
        # A request that is refused without asking costs nothing anywhere, so nobody is asked.
        if not question.checks or any(not each.allowed for each in question.missing):
            return _unanswered(question)
        told = refusals.recall(key_of(question.checks)) if refusals and self.what == "hit" else None
        if told is not None:
            return self._dated(told)
        return _unanswered(question) if breaker.open else None

    def learn(self, reply: list[int]) -> Decision:
        """The answer in the store's reply; a refusal is remembered."""
        breaker.succeeded()
        told = self._dated(decision(self.question.checks, reply, self.what))
        if self.what == "hit" and not told.allowed and not connection.in_memory():
            refusals.learn(key_of(self.question.checks), self.question.checks, reply, self.asked_ms)
        return told

    def _dated(self, told: Decision) -> Decision:
        told.at_s = self.at_s
        for part in told.parts:
            part.at_s = self.at_s
        return Decision.of([*told.decisions, *self.question.missing]) if self.question.missing else told


def _unanswered(question: Question, error: Exception | None = None) -> Decision:
    """What holds without the store: rules that refuse without asking do so, the others let pass."""
    if type(error) is ResponseError:
        _report_script_error(error)
    elif error is not None:
        breaker.failed(error)
    refused = any(not each.allowed for each in question.missing)
    reason, outcome = ("", "other") if refused else ("store", "passed")
    unasked = [
        Decision(rule=check.rule, reason=reason, outcome=outcome, mode="enforce" if check.enforce else "shadow")
        for check in question.checks
    ]
    return Decision.of([*question.missing, *unasked])


def _missing(rule: Rule) -> Decision:
    enforce = rule.mode == "enforce"
    return Decision(
        allowed=not enforce,
        rule=rule.name,
        mode=rule.mode,
        reason="missing",
        id=refusal_code() if enforce else "",
        outcome="refused" if enforce else "would_refuse",
    )


_reported: set[str] = set()


def _report_script_error(error: ResponseError) -> None:
    """Redis answers, but refuses this call: a wrong type under our key, or a mistake in the script."""
    kind = str(error)[:60]
    if kind not in _reported and len(_reported) < 100:
        _reported.add(kind)
        logger.error("ratewindow: Redis refuses a decision, the request passes uncounted (told once): %s", error)


breaker = Breaker(stores.probe)
refusals = Refusals()


def _forget(*, setting: str, **_: Any) -> None:
    if setting in (conf.SETTING, "CACHES"):
        breaker.reset()
        refusals.forget()


setting_changed.connect(_forget, dispatch_uid="ratewindow.gate")
