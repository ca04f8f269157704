"""`sliding_window`: buckets, the partly expired oldest one counted whole, so never above the limit.

A period is cut into buckets of ``width = ceil(period / buckets)`` milliseconds. A unit counts until its
whole bucket is older than the period, so it leaves at most one width late: never too many pass, and a
few are refused a little early.
"""

from ratewindow.limiter.algorithms.base import Algorithm, Measure

Buckets = tuple[tuple[int, int], ...]


def width(window: Measure, now_ms: int = 0) -> int:
    """Milliseconds of a bucket."""
    return -(-window.period_ms // (window.buckets or 1))


class SlidingWindow:
    """`stored`: the buckets that count, oldest first, as (index since the epoch, units)."""

    settled = None

    def __init__(self, window: Measure, stored: Buckets | None, now_ms: int) -> None:
        self.width, self.period, self.now = width(window), window.period_ms, now_ms
        self.capacity = window.limit
        self.time = -1
        newest = stored[-1][0] * self.width if stored else now_ms
        self.discarded = newest - now_ms > self.period
        oldest = (max(now_ms, newest) + 1 - self.period) // self.width
        self._keep([] if self.discarded else [bucket for bucket in stored or () if bucket[0] >= oldest])

    def _keep(self, buckets: list[tuple[int, int]]) -> None:
        self.used = sum(units for _, units in buckets)
        self.room = self.capacity - self.used
        self.stored = tuple(buckets) if self.used else None

    @property
    def empty(self) -> bool:
        return not self.used

    def charge(self, cost: int) -> None:
        buckets, index = list(self.stored or ()), self.now // self.width
        if buckets and buckets[-1][0] >= index:
            index = buckets[-1][0]
            buckets[-1] = (index, buckets[-1][1] + cost)
        else:
            buckets.append((index, cost))
        self._keep(buckets)
        self.time = max(self.now, index * self.width)

    def count(self, cost: int) -> None:
        self.charge(cost)
        if self.room < 0:
            self._take_oldest(-self.room)

    def refund(self, cost: int, time_ms: int | None) -> None:
        if time_ms is None:
            self._take_oldest(cost)
        else:
            named = time_ms // self.width
            self._keep([(index, max(0, units - cost) if index == named else units) for index, units in self.stored or ()])

    def _take_oldest(self, units: int) -> None:
        kept = []
        for index, count in self.stored or ():
            gone = min(units, count)
            units -= gone
            kept.append((index, count - gone))
        self._keep(kept)

    def wait(self, cost: int) -> int:
        return self._left(cost - self.room)

    def _left(self, units: int) -> int:
        """When so many of the oldest units will have stopped counting; a bucket leaves as a whole."""
        for index, count in self.stored or ():
            units -= count
            if units <= 0:
                return (index + 1) * self.width - 1 + self.period
        return self.now


def _ends(window: Measure) -> tuple[int, int]:
    return width(window, 0), window.period_ms - 1


ALGORITHM = Algorithm(
    name="sliding_window",
    label="Sliding window (recommended)",
    help=(
        "Never more than the limit in any window of the period, in constant memory. A request may be refused "
        "up to one bucket (a sixtieth of the period, unless you say otherwise) too early."
    ),
    reading=SlidingWindow,
    script="sliding_window",
    parameter=width,
    edges=_ends,
    default_buckets=60,
    most_buckets=1000,
)
