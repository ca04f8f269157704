"""`sliding_log`: every unit remembered by its time, so exact in any window, weights included."""

from ratewindow.limiter.algorithms.base import Algorithm, Measure


class SlidingLog:
    """`stored`: the times of the units, oldest first."""

    def __init__(self, window: Measure, stored: tuple[int, ...] | None, now_ms: int) -> None:
        self.period, self.now, self.capacity = window.period_ms, now_ms, window.limit
        self.time = -1
        self.newest = stored[-1] if stored else now_ms
        self.discarded = self.newest - now_ms > self.period
        oldest = max(now_ms, self.newest) - self.period
        if self.discarded:
            self.newest = now_ms
        self._keep(() if self.discarded else tuple(time for time in stored or () if time > oldest))

    def _keep(self, times: tuple[int, ...]) -> None:
        self.used = len(times)
        self.room = self.capacity - self.used
        self.stored = times or None

    @property
    def empty(self) -> bool:
        return not self.used

    def charge(self, cost: int) -> None:
        self.time = self.newest = max(self.now, self.newest)
        self._keep((*(self.stored or ()), *[self.time] * cost))

    def count(self, cost: int) -> None:
        self.charge(cost)
        self._keep((self.stored or ())[-self.capacity :])

    def refund(self, cost: int, time_ms: int | None) -> None:
        times = list(self.stored or ())
        for _ in range(min(cost, len(times) if time_ms is None else times.count(time_ms))):
            times.remove(times[0] if time_ms is None else time_ms)
        self._keep(tuple(times))

    def wait(self, cost: int) -> int:
        return self._left(cost - self.room)

    def _left(self, units: int) -> int:
        assert self.stored is not None
        return self.stored[units - 1] + self.period


ALGORITHM = Algorithm(
    name="sliding_log",
    label="Sliding log (exact)",
    help="Never more than the limit in any window, to the millisecond. Keeps every unit: ten bytes for each, up to the limit.",
    reading=SlidingLog,
    script="sliding_log",
    most_limit=100_000,
)
