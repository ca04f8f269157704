"""What a decision must be, from engine rules alone: slow, obvious, and none of our code.

Each algorithm is asked only how much it counts at a time, present or future; every wait is found by looking
for the first millisecond at which there is room.
"""

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
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

    @property
    def capacity(self) -> int:
        return (self.burst if self.limit else 0) if self.algorithm in ("token_bucket", "leaky_bucket") else self.limit


def first(start: int, stop: int, true_at: Callable[[int], bool]) -> int:
    """The first time in (start, stop] at which something that stays true has become true."""
    while stop - start > 1:
        middle = (start + stop) // 2
        start, stop = (start, middle) if true_at(middle) else (middle, stop)
    return stop


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
        if time is None or time + limit.period > now:
            super().refund(limit, now, cost, None if time is None else self.late(limit, time))


class Fixed:
    """fixed_window: charges since the window began; all leave at its end."""

    def __init__(self) -> None:
        self.start: int | None = None
        self.total = 0

    def label(self, limit: Limit, time: int) -> tuple[int, ...]:
        local = datetime.fromtimestamp(time / 1000, ZoneInfo(limit.timezone))
        match limit.aligned_to:
            case "minute":
                return (*local.timetuple()[:5], local.fold)
            case "hour":
                return (*local.timetuple()[:4], local.fold)
            case "day":
                return tuple(local.timetuple()[:3])
            case _:
                return tuple(local.isocalendar()[:2])

    def bounds(self, limit: Limit, time: int) -> tuple[int, int]:
        if not limit.aligned_to:
            return time, time + limit.period
        here, span = self.label(limit, time), limit.period * 3 // 2
        start = first(time - span, time, lambda t: self.label(limit, t) == here)
        return start, first(time, time + span, lambda t: self.label(limit, t) != here)

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
    """token_bucket and leaky_bucket: a level of units, a fraction, that drains evenly, by an edited limit after the next hit."""

    def __init__(self) -> None:
        self.time: int | None = None
        self.level = Fraction(0)
        self.rate = 0

    def newest(self, limit: Limit) -> int | None:
        return self.time

    def used(self, limit: Limit, now: int) -> Fraction:
        if self.time is None or not limit.limit:
            return Fraction(0)
        return max(Fraction(0), self.level - Fraction((now - self.time) * self.rate, limit.period))

    def look(self, limit: Limit, now: int) -> None:
        if self.used(limit, now) and limit.limit != self.rate:
            self.level, self.time, self.rate = self.used(limit, now), now, limit.limit

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
        drained = Fraction((now - time) * self.rate, limit.period) if time is not None else Fraction(0)
        level = self.used(limit, now)
        if cost <= drained:
            return
        self.level, self.time = max(Fraction(0), level - cost + drained), now
        if not self.level:
            self.time = None


KINDS: dict[str, Callable[[], "Units | Fixed | Estimate | Level"]] = {
    "sliding_log": Units,
    "sliding_window": FewOrBuckets,
    "fixed_window": Fixed,
    "sliding_estimate": Estimate,
    "token_bucket": Level,
    "leaky_bucket": Level,
}


@dataclass
class Question:
    """One rule of a request: for each of its windows a key and a limit."""

    limits: dict[str, Limit]
    cost: int
    enforce: bool = True
    counts_refused: bool = False
    penalty: int = 0
    lock: str = ""
    only_looks: bool = False


@dataclass
class Oracle:
    states: dict[str, "Units | Fixed | Estimate | Level"] = field(default_factory=dict)
    locks: dict[str, tuple[int, int]] = field(default_factory=dict)  # when each began, and how long it was to last

    def run(self, questions: list[Question], what: str, now: int) -> list[int]:
        """The reply that ``lua/decide.lua`` states."""
        if what == "peek":  # which leaves no trace
            return deepcopy(self)._run(questions, what, now)
        return self._run(questions, what, now)

    def _run(self, questions: list[Question], what: str, now: int) -> list[int]:
        forced, hits = what in ("force", "charge"), what != "peek"
        for question in questions:
            if question.enforce:
                self._forget_impossible(question, now)
        refused = what == "refused" or any(each.enforce and not self._open(each, now) for each in questions)
        passes = forced or not refused
        for question in questions:
            if not question.enforce and (passes or (hits and question.counts_refused)):
                self._forget_impossible(question, now)
        # All rules are judged on what was there before anything was charged.
        plans = [self._plan(question, what, passes, now) for question in questions]
        return [number for plan in plans for number in plan()]

    def refund(self, key: str, limit: Limit, cost: int, time: int | None, now: int) -> None:
        self._forget_impossible(Question({key: limit}, cost), now)
        state = self.states.get(key)
        effective = self._effective(key, limit, now)
        if cost and (time is None or time >= 0) and state is not None and not state.empty(limit, effective):
            state.refund(limit, effective, cost, time)

    def forget_what_is_over(self, limits: dict[str, Limit], now: int) -> list[str]:
        """The keys of states in which nothing counts any more, and of locks that have ended."""
        over = [key for key, state in self.states.items() if state.empty(limits[key], self._effective(key, limits[key], now))]
        ended = [lock for lock, (began, penalty) in self.locks.items() if began + penalty <= now]
        for key in over:
            del self.states[key]
        for lock in ended:
            del self.locks[lock]
        return [*over, *ended]

    def _plan(self, question: Question, what: str, passes: bool, now: int) -> Callable[[], list[int]]:
        forced, hits = what in ("force", "charge"), what != "peek"
        judged = question.enforce or passes
        full, locked = self._full(question, now), self._locked(question, now)
        impossible = any(question.cost > limit.capacity for limit in question.limits.values())
        charges = hits and passes and question.cost > 0 and not question.only_looks
        charged = charges and (not (full or locked) or (forced and question.enforce))
        counted = hits and question.counts_refused and not charged and question.cost > 0 and not impossible
        owns = judged and full and not locked and not impossible and question.cost > 0
        locks = bool(question.penalty and hits and not forced and owns)

        def act() -> list[int]:
            if locks:
                self.locks[question.lock] = now, question.penalty
            reply: list[int] = []
            if question.counts_refused or question.penalty or forced:
                ends = self._lock_ends(question)
                wait = max(0, ends - now) if ends is not None else 0
                reply += [2 if locked else 1 if full else 0, wait] if judged else [0, 0]
            for key, limit in question.limits.items():
                state = self.states.setdefault(key, KINDS[limit.algorithm]())
                effective, time = self._effective(key, limit, now), -1
                room = math.floor(limit.capacity - state.used(limit, effective))
                if charged:
                    partial = what == "force" and limit.algorithm in ("token_bucket", "leaky_bucket")
                    units = min(question.cost, max(0, room)) if partial else question.cost
                    time = state.charge(limit, effective, units) if units else -1
                    time = time if units == question.cost else -1
                elif counted:
                    time = state.count(limit, effective, question.cost)
                if judged and isinstance(state, Level):
                    state.look(limit, effective)
                reply += [*(self._numbers(key, limit, question.cost, now, charged) if judged else [0, 0, 0]), time]
            return reply

        return act

    def _effective(self, key: str, limit: Limit, now: int) -> int:
        """A clock that went back stands still at the newest charge."""
        state = self.states.get(key)
        newest = state.newest(limit) if state is not None else None
        return now if newest is None else max(now, newest)

    def _forget_impossible(self, question: Question, now: int) -> None:
        for key, limit in question.limits.items():
            if self._effective(key, limit, now) - now > limit.period:
                del self.states[key]
        ends = self._lock_ends(question)
        if ends is not None and ends - now > 2 * min(question.penalty, self.locks[question.lock][1]):
            del self.locks[question.lock]

    def _locked(self, question: Question, now: int) -> bool:
        ends = self._lock_ends(question)
        return ends is not None and now < ends

    def _lock_ends(self, question: Question) -> int | None:
        """A shorter penalty of today ends a lock sooner, a longer one does not prolong it."""
        if not question.penalty or question.lock not in self.locks:
            return None
        began, penalty = self.locks[question.lock]
        return began + min(penalty, question.penalty)

    def _full(self, question: Question, now: int) -> bool:
        return any(
            not self._fits(key, limit, question.cost, self._effective(key, limit, now)) for key, limit in question.limits.items()
        )

    def _fits(self, key: str, limit: Limit, cost: int, time: int) -> bool:
        used = self.states[key].used(limit, time) if key in self.states else 0
        return used + cost <= limit.capacity

    def _open(self, question: Question, now: int) -> bool:
        return not self._full(question, now) and not self._locked(question, now)

    def _numbers(self, key: str, limit: Limit, cost: int, now: int, charged: bool) -> list[int]:
        state, effective = self.states[key], self._effective(key, limit, now)
        room = math.floor(limit.capacity - state.used(limit, effective))
        longest = math.ceil(state.used(limit, effective) * limit.period / max(1, limit.limit))
        last = effective + max(4 * limit.period, longest + limit.period)
        wait = reset = 0
        if not charged and cost > limit.capacity:
            wait = -1
        elif not charged and cost > room:
            wait = first(effective, last, lambda t: self._fits(key, limit, cost, t)) - now
        remaining = max(0, room)
        if remaining < limit.capacity:  # when that grows, which one unit more says
            reset = first(effective, last, lambda t: self._fits(key, limit, remaining + 1, t)) - now
        return [remaining, wait, max(wait, reset)]
