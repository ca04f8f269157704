"""The gate: a question becomes one call, its reply a decision.

What does not need the answer is shared; only the call itself is written for sync and for async.
"""

import time
from collections.abc import Iterable

from ratewindow import conf
from ratewindow.limiter.redis import faults
from ratewindow.limiter.redis.loop_deadline import within
from ratewindow.limiter.reply import decision
from ratewindow.limiter.types import Decision, What
from ratewindow.request import without_redis
from ratewindow.request.prepare import Question
from ratewindow.store import leasing, outage, process_clients, stores


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
        self.at_s, self.asked_ms = time.time(), outage.refusals.clock_ms()

    def known(self, vain: str) -> Decision | None:
        """The answer, if the store need not be asked."""
        question = self.question
        if not question.checks or (question.settled and question.refused):
            return without_redis.unasked(question)
        told = outage.refusals.recall(question.checks) if outage.refusals and self.what == "hit" else None
        if told is not None:
            return self._dated(told)
        if outage.breaker.open:
            return without_redis.unanswered(question, self.what, outage.breaker.cause)
        return without_redis.unanswered(question, self.what, vain) if vain else None

    def learn(self, reply: list[int]) -> Decision:
        """The answer in the store's reply; a refusal is remembered."""
        outage.breaker.succeeded()
        told = self._dated(decision(self.question.checks, reply, self.what), time.time() - self.at_s)
        if self.what == "hit" and not told.allowed and not process_clients.in_memory():
            outage.refusals.learn(self.question.checks, reply, self.asked_ms)
        return told

    def failed(self, error: Exception) -> Decision:
        """What holds now that the store was asked and gave no answer."""
        outage.report_decision(error, self.question.checks)
        told = without_redis.unanswered(self.question, self.what, f"store:{faults.of(error).name}")
        took_s = time.time() - self.at_s
        for part in told.decisions:
            part.took_s = took_s if part.cause else 0.0
        return told

    def _dated(self, told: Decision, took_s: float = 0.0) -> Decision:
        told.at_s, told.took_s = self.at_s, took_s
        for part in told.parts:
            part.at_s, part.took_s = self.at_s, took_s
        return Decision.of([*told.decisions, *self.question.settled]) if self.question.settled else told
