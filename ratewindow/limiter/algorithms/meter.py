"""The meter of `token_bucket` and `leaky_bucket`: a level that each unit raises and that drains evenly.

The level is counted in units x period_ms and falls by `limit` for each millisecond, so that all numbers
are whole. The generic cell rate algorithm (ITU-T I.371) keeps a time instead; a level also holds when a
limit is edited.
"""

from ratewindow.limiter.algorithms.base import Measure


def burst(window: Measure, now_ms: int = 0) -> int:
    """How many units fit at once."""
    return window.burst or 0


class Meter:
    """`stored`: the time of the newest charge, and the level then."""

    def __init__(self, window: Measure, stored: tuple[int, int] | None, now_ms: int) -> None:
        self.limit, self.period = window.limit, window.period_ms
        self._before, self._changed = stored, False
        self.capacity = burst(window) if window.limit else 0
        self.time, self.level = -1, 0
        self.newest = now_ms
        self.discarded = stored is not None and stored[0] - now_ms > self.period
        if stored is not None and not self.discarded:
            self.newest = max(now_ms, stored[0])
            self.level = max(0, stored[1] - (self.newest - stored[0]) * self.limit) if self.limit else 0

    @property
    def stored(self) -> tuple[int, int] | None:
        if not self._changed:
            return self._before
        return (self.newest, self.level) if self.level else None

    @property
    def room(self) -> int:
        return (self.capacity * self.period - self.level) // self.period

    @property
    def empty(self) -> bool:
        return not (self.level and self.limit)

    def _move(self, level: int) -> None:
        """A level that never drains would never expire: at limit 0 nothing is written."""
        self._changed = self._changed or (self.limit > 0 and level != self.level)
        self.level = level

    def charge(self, cost: int) -> None:
        self._move(self.level + cost * self.period)
        self.time = self.newest

    def count(self, cost: int) -> None:
        most = (self.capacity + 1) * self.period
        if self.level < most:
            self._move(min(most, self.level + cost * self.period))
            self.time = self.newest

    def refund(self, cost: int, time_ms: int | None) -> None:
        drained = 0 if time_ms is None else (self.newest - time_ms) * self.limit
        self._move(max(0, self.level - max(0, cost * self.period - drained)))

    def wait(self, cost: int) -> int:
        return self.newest + self._drains(self.level + (cost - self.capacity) * self.period)

    def _drains(self, level: int) -> int:
        """Milliseconds until so much has drained, rounded up."""
        return -(-level // self.limit)
