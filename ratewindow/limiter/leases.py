"""Leases: units taken from the store many at a time, for a key that is hit more often than one server answers.

A check with a `lease` is charged for several hits at once, and this process admits those hits by itself. How many
it takes follows how fast they are used: twice as many while they go before they end, few after a rest, and
never more than a tenth of what the window has left. With n processes and a lease of u units

* any window admits at most n * (u - 1) more than its algorithm promises: hits of units charged before it began;
* units that end unused are lost: so many may be refused early.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ratewindow.limiter.reply import Answer, Reply
from ratewindow.limiter.types import Check

LONGEST_MS = 1000  # units that are not used within a second, or a tenth of the period, are lost
MOST_KEPT = 1000  # keys; the ones used least recently go first


@dataclass
class _Pocket:
    """What this process holds of one key."""

    units: int = 0
    until_ms: int = 0
    taken: int = 0  # with the last lease
    next_units: int = 1  # to take with the next one
    answer: Answer | None = None  # to the last lease

    def spend(self, cost: int, now_ms: int) -> bool:
        if now_ms >= self.until_ms or self.units < cost:
            return False
        self.units -= cost
        return True

    def to_take(self, cost: int, now_ms: int) -> int:
        """How many units to ask for: no more than were used the last time, if some ended unused."""
        if now_ms >= self.until_ms:
            self.next_units = max(1, min(self.next_units, self.taken - self.units))
        return max(cost, self.next_units)

    def refill(self, check: Check, units: int, answer: Answer, now_ms: int) -> None:
        left = min(window.remaining for window in answer.windows)
        self.next_units = max(1, min(2 * units, check.lease, left // 10))
        held = self.units if now_ms < self.until_ms else 0  # another thread took a lease at the same moment
        self.units = min(held + units - check.cost, check.lease - 1)
        self.taken, self.answer = self.units + check.cost, answer
        self.until_ms = now_ms + min(LONGEST_MS, max(1, min(window.period_ms for window in check.windows) // 10))

    def answered(self) -> Answer:
        """The answer to the last lease, with what is still held of it."""
        assert self.answer is not None
        windows = [window._replace(remaining=window.remaining + self.units) for window in self.answer.windows]
        return self.answer._replace(windows=tuple(windows))


@dataclass(frozen=True)
class Plan:
    """How checks are answered: each from a pocket, or by the store at the cost in `asked`."""

    checks: Sequence[Check]
    pockets: Sequence[_Pocket | None]  # of each check, the one that it is answered from
    asked: list[Check]
    now_ms: int


class Leases:
    """The leases of this process. Thread-safe."""

    def __init__(self, clock_ms: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000) -> None:
        self._clock_ms = clock_ms
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[str, ...], _Pocket] = OrderedDict()

    def plan(self, checks: Sequence[Check]) -> Plan:
        """Spend what is held, and list the checks for the store."""
        now_ms = self._clock_ms()
        asked: list[Check] = []
        pockets: list[_Pocket | None] = []
        with self._lock:
            for check in checks:
                pocket = self._pocket(check) if _is_leased(check) else None
                spent = pocket is not None and pocket.spend(check.cost, now_ms)
                pockets.append(pocket if spent else None)
                if not spent:
                    asked.append(check._replace(cost=pocket.to_take(check.cost, now_ms)) if pocket is not None else check)
        return Plan(checks, pockets, asked, now_ms)

    def settle(self, plan: Plan, reply: Reply) -> Reply | None:
        """The reply to all checks, from that to those in `asked`. None when the store refused a lease: then nothing
        was charged, and the store must be called for the checks as they are."""
        refused = any(check.enforce and answer.refuses for check, answer in zip(plan.asked, reply, strict=True))
        with self._lock:
            if refused:
                self._keep(plan)
                if self._asked_for_more(plan):
                    return None
            whole: Reply = []
            answers = iter(zip(plan.asked, reply, strict=True))
            for check, pocket in zip(plan.checks, plan.pockets, strict=True):
                if pocket is None:
                    asked, answer = next(answers)
                    if _is_leased(check) and not refused:
                        pocket = self._pocket(check)
                        pocket.refill(check, asked.cost, answer, plan.now_ms)
                whole.append(answer if pocket is None else pocket.answered())
        return whole

    def release(self, plan: Plan) -> None:
        """Return what the plan spent: the store did not answer."""
        with self._lock:
            self._keep(plan)

    def _keep(self, plan: Plan) -> None:
        for check, pocket in zip(plan.checks, plan.pockets, strict=True):
            if pocket is not None:
                pocket.units = min(pocket.units + check.cost, pocket.taken)

    def _asked_for_more(self, plan: Plan) -> bool:
        costs = [check.cost for check, pocket in zip(plan.checks, plan.pockets, strict=True) if pocket is None]
        more = [check for check, cost in zip(plan.asked, costs, strict=True) if check.cost > cost]
        for check in more:
            self._pocket(check).next_units = 1
        return bool(more)

    def _pocket(self, check: Check) -> _Pocket:
        pocket = self._held.get(check.keys)
        if pocket is None:
            pocket = self._held[check.keys] = _Pocket()
            if len(self._held) > MOST_KEPT:
                self._held.popitem(last=False)
        else:
            self._held.move_to_end(check.keys)
        return pocket


def _is_leased(check: Check) -> bool:
    """Whether it may be answered from what is held. Who counts refusals, locks out or only looks wants to know each hit."""
    return check.lease > 1 and check.cost > 0 and check.enforce and not check.tells_verdict and not check.only_looks
