"""How much each algorithm counts at a time, present or future, by engine rules alone: none of our code."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from zoneinfo import ZoneInfo


@dataclass
class Limit:
    """A window as the oracle sees it; the state of its key is kept beside it."""

    algorithm: str
    limit: int
    period: int
    buckets: int = 60
    burst: int = 0
    aligned_to: str = ""
    timezone: str = "UTC"
    day: int = 1

    @property
    def capacity(self) -> int:
        return (self.burst if self.limit else 0) if self.algorithm in ("token_bucket", "leaky_bucket") else self.limit


def first(start: int, stop: int, true_at: Callable[[int], bool]) -> int:
    """The first time in (start, stop] at which something that stays true has become true."""
    while stop - start > 1:
        middle = (start + stop) // 2
        start, stop = (start, middle) if true_at(middle) else (middle, stop)
    return stop


def label(aligned_to: str, timezone: str, day: int, time: int) -> tuple[int, ...]:
    """What a clock on the wall tells of an aligned window."""
    local = datetime.fromtimestamp(time / 1000, ZoneInfo(timezone))
    match aligned_to:
        case "minute":
            return (*local.timetuple()[:5], local.fold)
        case "hour":
            return (*local.timetuple()[:4], local.fold)
        case "day":
            return tuple(local.timetuple()[:3])
        case "month":
            months = 12 * local.year + local.month
            is_last = (local + timedelta(days=1)).month != local.month
            return (months if local.day >= day or is_last else months - 1,)
        case _:
            return tuple(local.isocalendar()[:2])


@lru_cache(100_000)  # each is asked for at every step of its window, and takes a hundred looks at the clock
def aligned_bounds(aligned_to: str, timezone: str, day: int, period: int, time: int) -> tuple[int, int]:
    here, span = label(aligned_to, timezone, day, time), period * 3 // 2
    start = first(time - span, time, lambda t: label(aligned_to, timezone, day, t) == here)
    return start, first(time, time + span, lambda t: label(aligned_to, timezone, day, t) != here)


class Units:
    """Single units by their times, each with the moment when it stops counting."""

    def __init__(self) -> None:
        self.charged: list[int] = []

    def newest(self, limit: Limit) -> int | None:
        return self.charged[-1] if self.charged else None

    def counting(self, limit: Limit, now: int) -> list[int]:
        return [unit for unit in self.charged if unit + limit.period > now]

    def used(self, limit: Limit, now: int) -> Fraction:
        return Fraction(len(self.counting(limit, now)))

    def empty(self, limit: Limit, now: int) -> bool:
        return not self.counting(limit, now)

    def charge(self, limit: Limit, now: int, cost: int) -> int:
        self.charged = self.counting(limit, now) + [now] * cost
        return now

    def count(self, limit: Limit, now: int, cost: int) -> int:
        counted_at = self.charge(limit, now, cost)
        if len(self.charged) > limit.limit:
            self.charged = self.charged[len(self.charged) - limit.limit :]
        return counted_at

    def refund(self, limit: Limit, now: int, cost: int, time: int | None) -> None:
        own = self.counting(limit, now)
        named = [number for number, unit in enumerate(own) if time is None or unit == time]
        gone = set(named[:cost])
        self.charged = [unit for number, unit in enumerate(own) if number not in gone]


class FewOrBuckets(Units):
    """sliding_window: as a log while the limit and what counts are few, else with each unit late, at the end of its bucket.

    Which of the two it is changes when a unit is charged; what came late stays late. A bucket that is not over is kept.
    """

    def __init__(self) -> None:
        super().__init__()
        self.buckets = 0  # 0: a log
        self.began = 0  # the newest bucket, though its units may have been refunded

    def few(self, limit: Limit) -> int:
        size = next(size for size in (2, 3, 4, 5, 6) if limit.period < 256**size or size == 6)
        return max(limit.buckets, 300 // size)

    def width(self, limit: Limit) -> int:
        return math.ceil(limit.period / self.buckets) if self.buckets else 1

    def late(self, limit: Limit, time: int) -> int:
        return time // self.width(limit) * self.width(limit) + self.width(limit) - 1

    def newest(self, limit: Limit) -> int | None:
        return self.began if self.buckets and self.charged else super().newest(limit)

    def charge(self, limit: Limit, now: int, cost: int) -> int:
        return self._charge(limit, now, cost, len(self.counting(limit, now)) + cost)

    def count(self, limit: Limit, now: int, cost: int) -> int:
        counted_at = self._charge(limit, now, cost, 0)
        self.charged = self.charged[max(0, len(self.charged) - limit.limit) :]
        return counted_at

    def _charge(self, limit: Limit, now: int, cost: int, units: int) -> int:
        counting = self.counting(limit, now)
        if not (self.buckets and counting and now < self.began + self.width(limit)):
            self.buckets = 0 if limit.limit <= self.few(limit) >= units else limit.buckets
            counting = [self.late(limit, unit) for unit in counting]
            self.began = now // self.width(limit) * self.width(limit)
        self.charged = counting + [self.late(limit, now)] * cost
        return self.late(limit, now)

    def refund(self, limit: Limit, now: int, cost: int, time: int | None) -> None:
        if time is None:
            super().refund(limit, now, cost, None)
        elif time + limit.period > now:
            if not self.buckets and time not in self.charged:  # it may have been in a bucket since
                time += -(time + 1) % math.ceil(limit.period / limit.buckets)
            super().refund(limit, now, cost, self.late(limit, time))


class Fixed:
    """fixed_window: charges since the window began; all leave at its end."""

    def __init__(self) -> None:
        self.start: int | None = None
        self.total = 0

    def bounds(self, limit: Limit, time: int) -> tuple[int, int]:
        if not limit.aligned_to:
            return time, time + limit.period
        return aligned_bounds(limit.aligned_to, limit.timezone, limit.day, limit.period, time)

    def newest(self, limit: Limit) -> int | None:
        return self.start

    def current(self, limit: Limit, now: int) -> bool:
        return self.start is not None and now < self.bounds(limit, self.start)[1]

    def used(self, limit: Limit, now: int) -> Fraction:
        return Fraction(self.total if self.current(limit, now) else 0)

    def empty(self, limit: Limit, now: int) -> bool:
        return self.used(limit, now) == 0

    def charge(self, limit: Limit, now: int, cost: int) -> int:
        if not self.current(limit, now):
            self.start, self.total = self.bounds(limit, now)[0], 0
        self.total += cost
        return now

    def count(self, limit: Limit, now: int, cost: int) -> int:
        units = min(cost, limit.limit - int(self.used(limit, now)))
        return self.charge(limit, now, units) if units > 0 else -1

    def refund(self, limit: Limit, now: int, cost: int, time: int | None) -> None:
        assert self.start is not None
        if time is None or self.start <= time < self.bounds(limit, self.start)[1]:
            self.total = max(0, self.total - cost)
            if not self.total:
                self.start = None


class Estimate:
    """sliding_estimate: units of each aligned window; those of the one before count in proportion."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    def newest(self, limit: Limit) -> int | None:
        return max(self.counts) if self.counts else None

    def used(self, limit: Limit, now: int) -> Fraction:
        start = now - now % limit.period
        weight = Fraction(start + limit.period - now, limit.period)
        return self.counts.get(start, 0) + self.counts.get(start - limit.period, 0) * weight

    def empty(self, limit: Limit, now: int) -> bool:
        start = now - now % limit.period
        return not self.counts.get(start, 0) + self.counts.get(start - limit.period, 0)

    def charge(self, limit: Limit, now: int, cost: int) -> int:
        start = now - now % limit.period
        self.counts = {at: self.counts.get(at, 0) for at in (start - limit.period, start)}
        self.counts[start] += cost
        return now

    def count(self, limit: Limit, now: int, cost: int) -> int:
        units = min(cost, limit.limit + 1 - self.counts.get(now - now % limit.period, 0))
        return self.charge(limit, now, units) if units > 0 else -1

    def refund(self, limit: Limit, now: int, cost: int, time: int | None) -> None:
        start = now - now % limit.period
        self.counts = {at: self.counts.get(at, 0) for at in (start - limit.period, start)}
        for at in (start - limit.period, start):
            if time is None or time - time % limit.period == at or (at == start and time > start):
                gone = min(cost, self.counts[at])
                self.counts[at] -= gone
                cost = cost - gone if time is None else cost


class Level:
    """token_bucket and leaky_bucket: a level of units, a fraction, that drains evenly.

    By the limit under which it was charged last or, if that is higher, by today's; after the next hit by today's alone.
    """

    def __init__(self) -> None:
        self.time: int | None = None
        self.level = Fraction(0)
        self.rate = 0

    def newest(self, limit: Limit) -> int | None:
        return self.time

    def used(self, limit: Limit, now: int) -> Fraction:
        if self.time is None or not limit.limit:
            return Fraction(0)
        return max(Fraction(0), self.level - self.drained(limit, self.time, now))

    def look(self, limit: Limit, now: int) -> None:
        if self.used(limit, now) and limit.limit < self.rate:
            self.level, self.time, self.rate = self.used(limit, now), now, limit.limit

    def drained(self, limit: Limit, since: int, now: int) -> Fraction:
        return Fraction((now - since) * max(self.rate, limit.limit), limit.period)

    def empty(self, limit: Limit, now: int) -> bool:
        return self.used(limit, now) == 0

    def charge(self, limit: Limit, now: int, cost: int) -> int:
        if limit.limit:
            self.level, self.time, self.rate = self.used(limit, now) + cost, now, limit.limit
        return now

    def count(self, limit: Limit, now: int, cost: int) -> int:
        level = self.used(limit, now)
        if level >= limit.capacity + 1:
            return -1
        self.level, self.time, self.rate = min(Fraction(limit.capacity + 1), level + cost), now, limit.limit
        return now

    def refund(self, limit: Limit, now: int, cost: int, time: int | None) -> None:
        assert self.time is not None
        gone = self.drained(limit, time, now) if time is not None else Fraction(0)
        self.level -= max(Fraction(0), cost - gone)
        if self.level * limit.period <= (now - self.time) * self.rate:
            self.time = None


KINDS: dict[str, Callable[[], "Units | Fixed | Estimate | Level"]] = {
    "sliding_log": Units,
    "sliding_window": FewOrBuckets,
    "fixed_window": Fixed,
    "sliding_estimate": Estimate,
    "token_bucket": Level,
    "leaky_bucket": Level,
}
