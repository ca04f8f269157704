"""The gate: a question becomes one call, its reply a decision.

What does not need the answer is shared; only the call itself is written for sync and for async.
"""

import logging
import time
from collections.abc import Iterable
from typing import Any

from django.core.signals import setting_changed

from ratewindow import background, conf
from ratewindow.limiter.redis import faults
from ratewindow.limiter.redis.connections import UNUSED_S
from ratewindow.limiter.redis.loop_deadline import within
from ratewindow.limiter.refusals import Refusals
from ratewindow.limiter.reply import decision
from ratewindow.limiter.types import Decision, What
from ratewindow.request import without_redis
from ratewindow.request.prepare import Question
from ratewindow.store import leasing, process_clients, stores
from ratewindow.store.breaker import PROBE_S, Breaker, listen
from ratewindow.store.failures import FEW, Misses

logger = logging.getLogger("ratewindow")


def decide(question: Question, what: What = "hit", vain: str = "") -> Decision:
    """The decision on a question; one call to the store, and none while it is known to be away, or where the request has
    waited in vain already."""
    asked = _Asked(question, what)
    told = asked.known(vain)
    if told is not None:
        return told
    try:
        store = stores.store()
        leased = question.leased and what == "hit"
        return asked.learn(leasing.run(store, question.checks) if leased else store.run(question.checks, what))
    except Exception as error:  # whatever it is, no request fails for it
        return asked.failed(error)


async def adecide(question: Question, what: What = "hit", vain: str = "") -> Decision:
    """`decide` on the running event loop."""
    asked = _Asked(question, what)
    told = asked.known(vain)
    if told is not None:
        return told
    try:
        store = await stores.astore()
        if question.leased and what == "hit":
            return asked.learn(await leasing.arun(store, question.checks, conf.current().timeout_s))
        answer = store.run(question.checks, what)
        return asked.learn(answer if isinstance(answer, list) else await within(conf.current().timeout_s, answer))
    except Exception as error:
        return asked.failed(error)


def waited(parts: Iterable[Decision]) -> str:
    """Why a request has waited in vain, which it shall not do twice: its later questions are answered without asking. An
    error that came at once cost nothing, and may be about another server or rule; one about this client is about it alone."""
    return next((each.cause for part in parts for each in (part, *part.later) if each.cause and _was_long(each)), "")


def _was_long(part: Decision) -> bool:
    concerns = faults.named(part.cause.removeprefix("store:")).concerns
    return part.took_s >= LONG * conf.current().timeout_s and concerns is faults.Concerns.SERVER


LONG = 0.1  # of `TIMEOUT`


class _Asked:
    """A question, and when it was asked by this process's clocks."""

    __slots__ = ("asked_ms", "at_s", "question", "what")

    def __init__(self, question: Question, what: What) -> None:
        self.question, self.what = question, what
        self.at_s, self.asked_ms = time.time(), refusals.clock_ms()

    def known(self, vain: str) -> Decision | None:
        """The answer, if the store need not be asked."""
        question = self.question
        if not question.checks or (question.settled and question.refused):
            return without_redis.unasked(question)
        told = refusals.recall(question.checks) if refusals and self.what == "hit" else None
        if told is not None:
            return self._dated(told)
        if breaker.open:
            return without_redis.unanswered(question, self.what, breaker.cause)
        return without_redis.unanswered(question, self.what, vain) if vain else None

    def learn(self, reply: list[int]) -> Decision:
        """The answer in the store's reply; a refusal is remembered."""
        breaker.succeeded()
        told = self._dated(decision(self.question.checks, reply, self.what), time.time() - self.at_s)
        if self.what == "hit" and not told.allowed and not process_clients.in_memory():
            refusals.learn(self.question.checks, reply, self.asked_ms)
        return told

    def failed(self, error: Exception) -> Decision:
        """What holds now that the store was asked and gave no answer."""
        fault = faults.of(error)
        if not tell_breaker(error):
            self._miss(fault, error)
        told = without_redis.unanswered(self.question, self.what, f"store:{fault.name}")
        took_s = time.time() - self.at_s
        for part in told.decisions:
            part.took_s = took_s if part.cause else 0.0
        return told

    def _miss(self, fault: faults.Fault, error: Exception) -> None:
        """Nobody else tells of this one."""
        rules = ", ".join(sorted({check.rule for check in self.question.checks}))[:100]
        count = misses.note(f"store:{fault.name}", rules, len(self.question.checks))
        if fault.concerns is not faults.Concerns.SERVER:
            _report(fault, error, str(error)[:60])
        elif count >= FEW:
            _report(fault, error, rules)

    def _dated(self, told: Decision, took_s: float = 0.0) -> Decision:
        told.at_s, told.took_s = self.at_s, took_s
        for part in told.parts:
            part.at_s, part.took_s = self.at_s, took_s
        return Decision.of([*told.decisions, *self.question.settled]) if self.question.settled else told


def tell_breaker(error: Exception) -> bool:
    """The store was asked in vain; whether that is an outage by now, of which a breaker tells."""
    if isinstance(error, faults.ServerAway):  # one of a cluster, whose own breaker has been told
        return stores.shards.away(error.server) is not None
    if faults.of(error).concerns is faults.Concerns.SERVER:
        breaker.failed(error)
    return breaker.open


_TOLD_AGAIN_S = 60.0  # a fault that stays away for so long is news when it comes back
_reported: dict[str, float] = {}


def _report(fault: faults.Fault, error: Exception, about: str) -> None:
    """Redis decides, but not this: a wrong type under our key, a right that a rule needs, a mistake in the script or in what
    calls it."""
    kind, now_s = f"{fault.name} {about}", time.monotonic()
    known_s = _reported.pop(kind, None)
    if known_s is None and len(_reported) >= 100:
        del _reported[next(iter(_reported))]
    _reported[kind] = now_s
    if known_s is not None and now_s - known_s <= _TOLD_AGAIN_S:
        return
    ours, holds = fault.name == "internal", without_redis.in_words()
    if fault.concerns is faults.Concerns.SERVER:
        told = f"{type(error).__name__}: {error}"
        logger.error("ratewindow: some decisions about %s fail (%s), %s (told once): %s", about, fault.name, holds, told)
    else:
        who = {"internal": "an error of ours spoils", "toomany": "too many limits spoil"}.get(fault.name, "Redis refuses")
        logger.error("ratewindow: %s a decision, %s (told once): %s", who, holds, error, exc_info=ours)


misses = Misses()
breaker = Breaker(stores.probe, without_redis.in_words)
background.every(lambda: PROBE_S, breaker.look, apart="probes")
background.every(lambda: PROBE_S, stores.shards.look, apart="probes")
background.every(lambda: UNUSED_S / 2, stores.close_unused)
listen(lambda _: misses.forget())  # what has become an outage, or came of it
refusals = Refusals()


def _forget(*, setting: str, **_: Any) -> None:
    if setting in (conf.SETTING, "CACHES"):
        breaker.reset()
        misses.forget()
        refusals.forget()


setting_changed.connect(_forget, dispatch_uid="ratewindow.request.decide")
