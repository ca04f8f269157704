"""A store and the oracle, asked the same, and held to the same answer."""

from ratewindow.limiter.limiter import Store
from ratewindow.limiter.reply import NO_VERDICT, Reply
from ratewindow.limiter.types import Check, Refunds
from tests.support.held_stores import Held
from tests.support.histories import Step, as_limit
from tests.support.oracle import Oracle
from tests.support.oracle_algorithms import Limit


def numbers(reply: Reply) -> list[int]:
    """A reply as the script states it, and the oracle."""
    flat: list[int] = []
    for verdict, lock_wait_ms, windows in reply:
        flat += [] if verdict == NO_VERDICT else [verdict, lock_wait_ms]
        for _, *four in windows:
            flat += four
    return flat


class Trial:
    """A store and the oracle, asked the same, and held to the same answer."""

    def __init__(self, store: Store) -> None:
        self.store, self.oracle = store, Oracle()
        self.charged: list[tuple[Check, list[int]]] = []

    def take(self, step: Step) -> None:
        if step.refund is not None:
            self._refund(step, step.refund)
        reply = self._run(step)
        assert numbers(reply) == self.oracle.run(step.questions(), step.what, step.now_ms)
        for check, answer in zip(step.checks, reply, strict=True):
            times = [window.charged_at_ms for window in answer.windows]
            if max(times) >= 0:
                self.charged.append((check, times))

    def _run(self, step: Step) -> Reply:
        return self.store.run(step.checks, step.what, step.now_ms)

    def _give_back(self, refunds: Refunds, step: Step) -> None:
        self.store.refund(refunds, step.now_ms)

    def _refund(self, step: Step, units: int) -> None:
        """Of the newest charge that is left, or the oldest units of every window of today's rules."""
        refunds: list[tuple[Check, list[int | None]]]
        if units > 0 and self.charged:
            check, times = self.charged.pop()
            refunds = [(check._replace(cost=min(units, check.cost)), list(times))]
        else:
            refunds = [(check._replace(cost=abs(units)), [None] * len(check.windows)) for check in step.checks]
        self._give_back(refunds, step)
        for check, times_ms in refunds:
            for window, key, time in zip(check.windows, check.keys, times_ms, strict=True):
                self.oracle.refund(key, as_limit(window), check.cost, time, step.now_ms)


class HeldTrial(Trial):
    """The same by the store's own clock, as an application asks it.

    What is over when the clock steps back may be in the store for a while, or have expired: it is taken away, here and there.
    """

    def __init__(self, held: Held) -> None:
        super().__init__(held.store)
        self._held, self._now_ms = held, 0
        self._limits: dict[str, Limit] = {}

    def take(self, step: Step) -> None:
        if step.now_ms < self._now_ms and (over := self.oracle.forget_what_is_over(self._limits, self._now_ms)):
            self.store.reset(over)
        self._now_ms = step.now_ms
        self._limits |= {key: limit for question in step.questions() for key, limit in question.limits.items()}
        self._held.move(step.now_ms)
        super().take(step)

    def _run(self, step: Step) -> Reply:
        return self.store.run(step.checks, step.what)

    def _give_back(self, refunds: Refunds, step: Step) -> None:
        self.store.refund(refunds)
