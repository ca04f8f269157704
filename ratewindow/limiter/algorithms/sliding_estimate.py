"""`sliding_estimate`: two counters, of this aligned window and the one before, which weighs less and less.

Source: "How we built rate limiting capable of scaling to millions of domains", Cloudflare, 2017.
"""

from ratewindow.limiter.algorithms import MOST_UNIT_MS, Algorithm, Measure
from ratewindow.limiter.problem import translatable


class SlidingEstimate:
    """`stored`: when the newest counter's window began, its units, and the units of the window before."""

    settled = None

    def __init__(self, window: Measure, stored: tuple[int, int, int] | None, now_ms: int) -> None:
        self.period, self.capacity = window.period_ms, window.limit
        self.time = -1
        self.start, self.current, self.previous = now_ms - now_ms % self.period, 0, 0
        self.discarded = stored is not None and stored[0] - now_ms > self.period
        if stored is not None and not self.discarded:
            start, current, previous = stored
            if start >= self.start:
                self.start, self.current, self.previous = start, current, previous
            elif start == self.start - self.period:
                self.previous = current
        self.now = max(now_ms, self.start)

    @property
    def stored(self) -> tuple[int, int, int]:
        return self.start, self.current, self.previous

    @property
    def room(self) -> int:
        weighted = self.previous * (self.start + self.period - self.now)
        return ((self.capacity - self.current) * self.period - weighted) // self.period

    @property
    def empty(self) -> bool:
        return not self.current + self.previous

    def charge(self, cost: int) -> None:
        self.current = min(self.current + cost, MOST_UNIT_MS // self.period)
        self.time = self.now

    def count(self, cost: int) -> None:
        units = min(cost, self.capacity + 1 - self.current)
        if units > 0:
            self.charge(units)

    def refund(self, cost: int, time_ms: int | None) -> None:
        if time_ms is None:
            older = min(cost, self.previous)
            self.previous, self.current = self.previous - older, max(0, self.current - (cost - older))
        elif time_ms >= self.start:
            self.current = max(0, self.current - cost)
        elif time_ms >= self.start - self.period:
            self.previous = max(0, self.previous - cost)

    def wait(self, cost: int) -> int:
        free = self.capacity - cost
        if self.current <= free:
            return self.start + self.period - (free - self.current) * self.period // self.previous
        return self.start + 2 * self.period - min(self.period, free * self.period // self.current)


SLIDING_ESTIMATE = Algorithm(
    name="sliding_estimate",
    label=translatable("Sliding estimate (two counters)"),
    help=translatable(
        "Two counters, as if the previous period's requests had come evenly. Usually within a few percent; "
        "at worst, against an adversary, twice the limit less one in some window."
    ),
    reading=SlidingEstimate,
    script="sliding_estimate",
)
