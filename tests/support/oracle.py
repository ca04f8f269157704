"""What a decision must be, from engine rules alone: slow, obvious, and none of our code.

Each algorithm is asked only how much it counts at a time, present or future; every wait is found by looking
for the first millisecond at which there is room.
"""

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field

from tests.support.oracle_algorithms import KINDS, Estimate, Fixed, Level, Limit, Units, first


@dataclass
class Question:
    """One rule of a request: for each of its windows a key and a limit."""

    limits: dict[str, Limit]
    cost: int
    enforce: bool = True
    counts_refused: bool = False
    penalties: tuple[int, ...] = (0,)  # how long each lock lasts, the last one repeated
    within: int = 0  # after its begin, how long a lock has a next one
    lock: str = ""
    only_looks: bool = False


@dataclass
class Lock:
    began: int
    lasts: int  # as its penalty was then
    number: int  # of those that follow each other
    kept: int  # since it began, as long as a next one may follow, or it lasts


@dataclass
class Oracle:
    states: dict[str, "Units | Fixed | Estimate | Level"] = field(default_factory=dict)
    locks: dict[str, "Lock"] = field(default_factory=dict)

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
        ended = [key for key, lock in self.locks.items() if lock.began + lock.kept <= now]
        for key in over:
            del self.states[key]
        for key in ended:
            del self.locks[key]
        return [*over, *ended]

    def _plan(self, question: Question, what: str, passes: bool, now: int) -> Callable[[], list[int]]:
        forced, hits = what in ("force", "charge"), what != "peek"
        judged = question.enforce or passes
        full, locked = self._full(question, now), self._locked(question, now)
        impossible = any(question.cost > limit.capacity for limit in question.limits.values())
        charges = hits and passes and question.cost > 0 and not question.only_looks
        charged = charges and (not (full or locked) or (forced and question.enforce))
        waits = question.only_looks and passes and not (full or locked)
        counted = hits and question.counts_refused and not charged and not waits and question.cost > 0 and not impossible
        owns = judged and full and not locked and not impossible and question.cost > 0
        locks = bool(question.lock and hits and not forced and owns)

        def act() -> list[int]:
            if locks:
                number = self._next_number(question, now)
                lasts = self._penalty(question, number)
                self.locks[question.lock] = Lock(now, lasts, number, question.within or lasts)
            reply: list[int] = []
            if question.counts_refused or question.lock or forced:
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
        if ends is not None and ends - now > 2 * (ends - self.locks[question.lock].began):
            del self.locks[question.lock]

    def _locked(self, question: Question, now: int) -> bool:
        ends = self._lock_ends(question)
        return ends is not None and now < ends

    def _lock_ends(self, question: Question) -> int | None:
        """A shorter penalty of today ends a lock sooner, a longer one does not prolong it."""
        if question.lock not in self.locks:
            return None
        lock = self.locks[question.lock]
        return lock.began + min(lock.lasts, self._penalty(question, lock.number))

    def _penalty(self, question: Question, number: int) -> int:
        return [*question.penalties, *question.penalties[-1:] * number][number - 1]

    def _next_number(self, question: Question, now: int) -> int:
        """One more than the lock before, while that is kept and by today's list, too, is not too long ago."""
        before = self.locks.get(question.lock)
        if before is None or not question.within or now - before.began >= min(before.kept, question.within):
            return 1
        return before.number + 1

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
