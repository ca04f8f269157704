"""The meter of `token_bucket` and `leaky_bucket`: a level that each unit raises and that drains evenly.

The level is counted in units x period_ms and falls by `limit` for each millisecond, so that all numbers
are whole. The generic cell rate algorithm (ITU-T I.371) keeps a time instead; a level also holds when a
limit is edited: it has fallen by the old limit until the first hit under the new one, and falls by that from then on.
"""

from ratewindow.limiter.algorithms.base import MOST_UNIT_MS, Measure

State = tuple[int, int, int]


def burst(window: Measure, now_ms: int = 0) -> int:
    """How many units fit at once."""
    return window.burst or 0


class Meter:
    """`stored`: the time of the newest charge, the level then, and the limit of that time, by which it falls."""

    def __init__(self, window: Measure, stored: State | None, now_ms: int) -> None:
        self.limit, self.period = window.limit, window.period_ms
        self._before, self._changed = stored, False
        self.capacity = burst(window) if window.limit else 0
        self.time, self.level = -1, 0
        self.newest, self.rate = now_ms, window.limit
        self.discarded = stored is not None and stored[0] - now_ms > self.period
        if stored is not None and not self.discarded:
            self.newest, self.rate = max(now_ms, stored[0]), stored[2]
            self.level = max(0, stored[1] - (self.newest - stored[0]) * self.rate) if self.limit else 0

    @property
    def stored(self) -> State | None:
        if not self._changed:
            return self._before
        return (self.newest, self.level, self.rate) if self.level else None

    @property
    def settled(self) -> State | None:
        return (self.newest, self.level, self.limit) if self.level and self.rate != self.limit else None

    @property
    def room(self) -> int:
        return (self.capacity * self.period - self.level) // self.period

    @property
    def empty(self) -> bool:
        return not self.level

    def _move(self, level: int, rate: int) -> None:
        """A level that never drains would never expire: at limit 0 nothing is written."""
        self._changed = self._changed or (self.limit > 0 and level != self.level)
        self.level, self.rate = level, rate

    def charge(self, cost: int) -> None:
        self._move(min(MOST_UNIT_MS, self.level + cost * self.period), self.limit)
        self.time = self.newest

    def count(self, cost: int) -> None:
        most = min(MOST_UNIT_MS, (self.capacity + 1) * self.period)
        if self.level < most:
            self._move(min(most, self.level + cost * self.period), self.limit)
            self.time = self.newest

    def refund(self, cost: int, time_ms: int | None) -> None:
        drained = 0 if time_ms is None else (self.newest - time_ms) * self.rate
        self._move(max(0, self.level - max(0, cost * self.period - drained)), self.rate)

    def wait(self, cost: int) -> int:
        above = self.level + (cost - self.capacity) * self.period
        return self.newest - (-above // self.limit)  # rounded up
