"""`sliding_log`: every unit remembered by its time, so exact in any window, weights included.

The state is `Kept`: how many units were charged at which time, oldest first, and their sum. A unit of time t counts until
t + period. A request reads it as `SlidingLog`, which passes over the oldest times that have stopped counting; what the others
leave of the limit is `room`. If the cost fits, those times are taken away, and the cost is added under the time of the request.
Else it has to `wait` until so many of the oldest units that count have stopped.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from itertools import islice

from ratewindow.limiter.algorithms import Algorithm, Measure
from ratewindow.limiter.problem import translatable

MOST_KEPT = 999_999  # units at once, the newest: ten times the highest limit, so that those beyond decide nothing
MOST_LATER = 1000  # charges after the one that is refunded


class Kept:
    """The units charged at each time, oldest first, as (time, units), and their sum. A charge changes it in place: a log may
    have a hundred thousand times."""

    __slots__ = ("charges", "used")

    def __init__(self, charges: Iterable[tuple[int, int]] = ()) -> None:
        self.charges = deque(charges)
        self.used = sum(units for _, units in self.charges)

    def drop(self, units: int) -> None:
        """Take away the oldest units."""
        charges = self.charges
        while units > 0 and charges:
            time_ms, count = charges.popleft()
            gone = min(units, count)
            units -= gone
            self.used -= gone
            if count > gone:
                charges.appendleft((time_ms, count - gone))


class SlidingLog:
    """A log as it is read at `now_ms`. What has stopped counting is taken away with the next change, not by reading."""

    settled = None

    def __init__(self, window: Measure, stored: Kept | None, now_ms: int) -> None:
        self.period, self.now, self.capacity = window.period_ms, now_ms, window.limit
        self.time, self.newest, self.discarded = -1, now_ms, False
        # The state, how many of its times, from the oldest on, have stopped counting, and how many units count.
        self._kept, self._gone, self.used = stored, 0, 0
        if stored is not None:
            self._read(stored)
        self.room = self.capacity - self.used

    def _read(self, stored: Kept) -> None:
        newest, self.used = stored.charges[-1][0], stored.used
        self.discarded = newest - self.now > self.period
        if self.discarded:
            self._kept, self.used = None, 0
            return
        self.newest, oldest = newest, max(self.now, newest) - self.period
        for time_ms, units in stored.charges:
            if time_ms > oldest:
                break
            self.used -= units
            self._gone += 1

    def _trimmed(self) -> Kept:
        """The state without the times that have stopped counting."""
        if self._kept is None:
            self._kept = Kept()
        for _ in range(self._gone):
            self._kept.charges.popleft()
        self._gone, self._kept.used = 0, self.used
        return self._kept

    def _follow(self, kept: Kept) -> None:
        """Go on with the state after a change."""
        self._kept, self.used = kept, kept.used
        self.room = self.capacity - self.used

    @property
    def stored(self) -> Kept | None:
        return self._trimmed() if self.used else None

    @property
    def empty(self) -> bool:
        return not self.used

    def charge(self, cost: int) -> None:
        kept = self._trimmed()
        self.time = self.newest = max(self.now, self.newest)
        kept.used += cost
        if kept.charges and kept.charges[-1][0] == self.time:
            cost += kept.charges.pop()[1]
        kept.charges.append((self.time, cost))
        if kept.used > MOST_KEPT:
            kept.drop(kept.used - MOST_KEPT)
        self._follow(kept)

    def count(self, cost: int) -> None:
        self.charge(cost)
        if self.room < 0:
            kept = self._trimmed()
            kept.drop(-self.room)
            self._follow(kept)

    def refund(self, cost: int, time_ms: int | None) -> None:
        """Refund the charge of that time. One that many others have followed takes the oldest units instead: those
        that stay leave later. And a log that may have been charged more than it keeps gives nothing back."""
        if self.used >= MOST_KEPT:
            return
        kept = self._trimmed()
        charges = [*kept.charges]
        at = bisect_left(charges, (time_ms or 0, 0))
        if time_ms is None:
            kept.drop(cost)
        elif at < len(charges) and charges[at][0] == time_ms:
            units = min(cost, charges[at][1])
            if len(charges) - at > MOST_LATER + 1:
                kept.drop(units)
            else:
                left = charges[at][1] - units
                kept = Kept([*charges[:at], *([(time_ms, left)] if left else []), *charges[at + 1 :]])
        self._follow(kept)

    def wait(self, cost: int) -> int:
        """When so many of the oldest units will have stopped counting."""
        units = cost - self.room
        for time_ms, count in islice(self._kept.charges, self._gone, None) if self._kept is not None else ():
            units -= count
            if units <= 0:
                return time_ms + self.period
        return self.now


SLIDING_LOG = Algorithm(
    name="sliding_log",
    label=translatable("Sliding log (exact)"),
    help=translatable("Never more than the limit in any window, to the millisecond. Ten bytes for each charge, up to the limit."),
    reading=SlidingLog,
    script="sliding_log",
    most_limit=100_000,
)
