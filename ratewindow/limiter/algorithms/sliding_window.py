"""`sliding_window`: buckets, the partly expired oldest one counted whole, so never above the limit.

A period is cut into buckets of ``width = ceil(period / buckets)`` milliseconds. A unit counts until its
whole bucket is older than the period, so it leaves at most one width late: never too many pass, and a
few are refused a little early.
"""

from ratewindow.limiter.algorithms.base import Algorithm, Measure


class SlidingWindow:
    """`stored`: the buckets that count, oldest first, as (index since the epoch, units)."""

    def __init__(self, window: Measure, stored: tuple[tuple[int, int], ...] | None, now_ms: int) -> None:
        self.width, self.period, self.now = window.parameter, window.period_ms, now_ms
        self.capacity = window.limit
        self.discarded = bool(stored) and stored[-1][0] * self.width - now_ms > self.period
        self.stored = self._live(stored) if stored and not self.discarded else None
        self.used = sum(units for _, units in self.stored or ())
        self.room = self.capacity - self.used

    def _live(self, stored: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...] | None:
        newest = stored[-1][0] * self.width
        oldest = (max(self.now, newest) + 1 - self.period) // self.width
        return tuple(bucket for bucket in stored if bucket[0] >= oldest) or None

    def charge(self, cost: int) -> None:
        buckets, index = list(self.stored or ()), self.now // self.width
        if buckets and buckets[-1][0] >= index:
            buckets[-1] = (buckets[-1][0], buckets[-1][1] + cost)
        else:
            buckets.append((index, cost))
        self.stored = tuple(buckets)
        self.used += cost
        self.room -= cost

    def wait(self, cost: int) -> int:
        return self._left(cost - self.room)

    def reset(self) -> int:
        return self._left(max(1, 1 - self.room)) if self.used and self.capacity else self.now

    def _left(self, units: int) -> int:
        """When so many of the oldest units will have stopped counting; a bucket leaves as a whole."""
        for index, count in self.stored or ():
            units -= count
            if units <= 0:
                return (index + 1) * self.width - 1 + self.period
        return self.now


ALGORITHM = Algorithm(
    name="sliding_window",
    label="Sliding window (recommended)",
    help=(
        "Never more than the limit in any window of the period, in constant memory. A request may be refused "
        "up to one bucket (a sixtieth of the period, unless you say otherwise) too early."
    ),
    reading=SlidingWindow,
    default_buckets=60,
    most_buckets=1000,
)
