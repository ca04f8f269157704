"""`sliding_log`: every unit remembered by its time, so exact in any window, weights included."""

from bisect import bisect_left
from collections.abc import Sequence

from ratewindow.limiter.algorithms.base import Algorithm, Measure
from ratewindow.limiter.problem import translatable

Charges = tuple[tuple[int, int], ...]

MOST_KEPT = 999_999  # units at once, the newest: ten times the highest limit, so that those beyond decide nothing
MOST_LATER = 1000  # charges after the one that is refunded


class SlidingLog:
    """`stored`: the units charged at each time, oldest first, as (time, units)."""

    settled = None

    def __init__(self, window: Measure, stored: Charges | None, now_ms: int) -> None:
        self.period, self.now, self.capacity = window.period_ms, now_ms, window.limit
        self.time = -1
        self.newest = stored[-1][0] if stored else now_ms
        self.discarded = self.newest - now_ms > self.period
        oldest = max(now_ms, self.newest) - self.period
        if self.discarded:
            self.newest = now_ms
        self._keep(() if self.discarded else [charge for charge in stored or () if charge[0] > oldest])

    def _keep(self, charges: Sequence[tuple[int, int]]) -> None:
        self.used = sum(units for _, units in charges)
        self.room = self.capacity - self.used
        self.stored = tuple(charges) if charges else None

    @property
    def empty(self) -> bool:
        return not self.used

    def charge(self, cost: int) -> None:
        self.time = self.newest = max(self.now, self.newest)
        charges = list(self.stored or ())
        if charges and charges[-1][0] == self.time:
            cost += charges.pop()[1]
        self._keep([*charges, (self.time, cost)])
        if self.used > MOST_KEPT:
            self._drop(self.used - MOST_KEPT)

    def count(self, cost: int) -> None:
        self.charge(cost)
        if self.room < 0:
            self._drop(-self.room)

    def refund(self, cost: int, time_ms: int | None) -> None:
        """Refund the charge of that time. One that many others have followed takes the oldest units instead: those
        that stay leave later. And a log that may have been charged more than it keeps gives nothing back."""
        charges = list(self.stored or ())
        if self.used >= MOST_KEPT:
            return
        if time_ms is None:
            self._drop(cost)
            return
        at = bisect_left(charges, (time_ms, 0))
        if at == len(charges) or charges[at][0] != time_ms:
            return
        units = min(cost, charges[at][1])
        if len(charges) - at > MOST_LATER + 1:
            self._drop(units)
            return
        left = charges[at][1] - units
        self._keep([*charges[:at], *([(time_ms, left)] if left else []), *charges[at + 1 :]])

    def _drop(self, units: int) -> None:
        """Take away the oldest units."""
        kept = []
        for time_ms, count in self.stored or ():
            gone = max(0, min(units, count))
            units -= gone
            if count > gone:
                kept.append((time_ms, count - gone))
        self._keep(kept)

    def wait(self, cost: int) -> int:
        return self._left(cost - self.room)

    def _left(self, units: int) -> int:
        """When so many of the oldest units will have stopped counting."""
        for time_ms, count in self.stored or ():
            units -= count
            if units <= 0:
                return time_ms + self.period
        return self.now


ALGORITHM = Algorithm(
    name="sliding_log",
    label=translatable("Sliding log (exact)"),
    help=translatable("Never more than the limit in any window, to the millisecond. Ten bytes for each charge, up to the limit."),
    reading=SlidingLog,
    script="sliding_log",
    most_limit=100_000,
)
