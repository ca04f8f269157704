"""The store in this process's memory: the twin of ``lua/decide.lua``, equal to it on every step."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from ratewindow.limiter.algorithms import Reading, algorithm
from ratewindow.limiter.arguments import whole_ms_of
from ratewindow.limiter.forks import renew_lock_after_fork
from ratewindow.limiter.penalties import as_growing
from ratewindow.limiter.reply import NO_VERDICT, Answer, Reply, tells_verdict
from ratewindow.limiter.types import Check, Flag, Refunds, What, Window, WindowAnswer


class MemoryStore:
    """Counts for one process, thread-safe, without a server.

    It keeps at most `most_keys` states, one for each window of each identity. When it is full, those that
    were charged longest ago go first, and those of clients that were refused go last, as long as they are
    not more than half: so a flood of new identities does not free a refused one before the others, and a
    flood of refused ones does not leave new clients uncounted.
    """

    is_async = False

    def __init__(self, most_keys: int = 100_000, clock_ms: Callable[[], float] | None = None) -> None:
        self.most_keys = most_keys
        self._clock_ms = whole_ms_of(clock_ms) if clock_ms is not None else lambda: time.time_ns() // 1_000_000
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self._states = _States()

    def __len__(self) -> int:
        return len(self._states)

    def run(self, checks: list[Check], what: What, now_ms: int | None = None) -> Reply:
        """What ``lua/decide.lua`` answers."""
        with self._lock:
            reply = self._decide(checks, what, self._clock_ms() if now_ms is None else now_ms)
            self._states.shrink(self.most_keys)
            return reply

    def refund(self, refunds: Refunds, now_ms: int | None = None, flag: Flag | None = None) -> None:
        """What ``lua/refund.lua`` does: refund the cost of each check, at the times it was charged. A flag is for other
        processes: here there is none."""
        with self._lock:
            now = self._clock_ms() if now_ms is None else now_ms
            for check, times in refunds:
                for window, key, charged_at_ms in zip(check.windows, check.keys, times, strict=True):
                    reading = algorithm(window.algorithm).reading(window, self._states.get(key), now)
                    if reading.discarded:
                        self._states.put(key, None)
                    elif check.cost and (charged_at_ms is None or charged_at_ms >= 0) and not reading.empty:
                        reading.refund(check.cost, charged_at_ms)
                        self._states.put(key, reading.stored)

    def reset(self, keys: Sequence[str]) -> None:
        """Forget these states."""
        with self._lock:
            for key in keys:
                self._states.put(key, None)

    def clear(self) -> None:
        with self._lock:
            self._states = _States()

    def _decide(self, checks: list[Check], what: What, now: int) -> Reply:
        states = _Unchanged(self._states) if what == "peek" else self._states
        rules = [_Rule(check, states, now) for check in checks]
        for rule in rules:
            if rule.check.enforce:
                rule.read()
        what = "peek" if what == "look" else what
        refused = what == "refused" or any(rule.check.enforce and not rule.open for rule in rules)
        passes = not refused or what in ("force", "charge")
        return [rule.settle(what, passes) for rule in rules]


class _Rule:
    """One rule of a request while it is decided."""

    __slots__ = ("check", "full", "impossible", "lock_ends", "locked", "now", "number", "readings", "states")

    def __init__(self, check: Check, states: "_States | _Unchanged", now: int) -> None:
        self.check, self.states, self.now = check, states, now
        self.readings: list[Reading] = []
        self.full = self.impossible = False
        self.lock_ends: int | None = None
        self.locked = False
        self.number = 1  # of the next lock-out, where the penalty grows

    @property
    def open(self) -> bool:
        return not (self.full or self.locked)

    def read(self) -> None:
        check, states, now = self.check, self.states, self.now
        cost = check.cost
        for window, key in zip(check.windows, check.keys, strict=True):
            reading = algorithm(window.algorithm).reading(window, states.get(key), now)
            if reading.discarded:
                states.put(key, None)
            self.full = self.full or cost > reading.room
            self.impossible = self.impossible or cost > reading.capacity
            self.readings.append(reading)
        if check.penalty_ms:
            self._read_lock()

    def _read_lock(self) -> None:
        start, lasts, number, within = self.states.get(self.check.lock) or (self.now, 0, 1, 0)
        penalty = as_growing(self.check.penalty_ms)
        lasts = min(lasts, penalty.lasts_ms(number))
        if start - self.now > lasts:
            self.states.put(self.check.lock, None)
        elif lasts:
            self.lock_ends = start + lasts
            self.locked = self.now < self.lock_ends
            self.number = number + 1 if self.now - start < min(within, penalty.within_ms) else 1

    def settle(self, what: What, passes: bool) -> Answer:
        """Charge, count or lock as ``lua/decide.lua`` states for `what`, and answer what is left. `passes` says that no rule
        refuses the request, or that it is forced."""
        check, hits, forced = self.check, what != "peek", what in ("force", "charge")
        cost, enforce = check.cost, check.enforce
        judged = enforce or passes
        counts_refused = hits and check.counts_refused
        if not enforce and (judged or counts_refused):
            self.read()
        is_open = self.open
        charged = hits and passes and cost > 0 and not check.only_looks and (is_open or (forced and enforce))
        waits = check.only_looks and passes and is_open  # what is charged after the answer, if at all
        counted = counts_refused and not charged and not waits and cost > 0 and not self.impossible
        if check.penalty_ms and hits and not forced and judged and self._refuses_by_itself():
            penalty = as_growing(check.penalty_ms)
            lasts = penalty.lasts_ms(self.number)
            self.lock_ends = self.now + lasts
            self.states.put(check.lock, (self.now, lasts, self.number, max(lasts, penalty.within_ms)))
        verdict, lock_wait = NO_VERDICT, 0
        if tells_verdict(check, what):
            verdict = 0
            if judged:
                verdict = 2 if self.locked else 1 if self.full else 0
                lock_wait = 0 if self.lock_ends is None else max(0, self.lock_ends - self.now)
        if not self.readings:
            return Answer(verdict, lock_wait, tuple([WindowAnswer(window, 0, 0, 0) for window in check.windows]))
        windows = []
        for window, key, reading in zip(check.windows, check.keys, self.readings, strict=True):
            charged_at_ms = -1
            if charged:
                charged_at_ms = self._charge(window, key, reading, what)
            elif counted:
                reading.count(cost)
                self.states.put(key, reading.stored)
                charged_at_ms = reading.time
            if not judged:
                windows.append(WindowAnswer(window, 0, 0, 0, charged_at_ms))
                continue
            if reading.settled is not None:
                self.states.put(key, reading.settled)
            windows.append(self._answer(window, reading, charged, charged_at_ms))
        if judged and not charged and not is_open:
            for key in (*check.keys, check.lock):
                self.states.mark_refused(key)
        return Answer(verdict, lock_wait, tuple(windows))

    def _refuses_by_itself(self) -> bool:
        return self.full and not self.locked and not self.impossible and self.check.cost > 0

    def _charge(self, window: Window, key: str, reading: Reading, what: What) -> int:
        """Charge one window; returns under which time the charge can be refunded."""
        units = cost = self.check.cost
        if what == "force" and cost > reading.room and algorithm(window.algorithm).takes_what_is_left:
            units = max(0, reading.room)
        if units > 0:
            reading.charge(units)
            self.states.put(key, reading.stored)
        return reading.time if units == cost else -1

    def _answer(self, window: Window, reading: Reading, charged: bool, charged_at_ms: int) -> WindowAnswer:
        wait, cost = 0, self.check.cost
        room, capacity = reading.room, reading.capacity
        if not charged and cost > capacity:
            wait = -1
        elif not charged and cost > room:
            wait = reading.wait(cost) - self.now
        remaining = max(0, room)
        grows = reading.wait(remaining + 1) - self.now if remaining < capacity else 0
        return WindowAnswer(window, remaining, wait, max(wait, grows), charged_at_ms)


class _States:
    """States by key, those of refused clients apart, each part from the longest ago charged to the newest."""

    def __init__(self) -> None:
        self._ordinary: OrderedDict[str, Any] = OrderedDict()
        self._refused: OrderedDict[str, Any] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ordinary) + len(self._refused)

    def get(self, key: str) -> Any:
        state = self._ordinary.get(key)
        return state if state is not None else self._refused.get(key)

    def put(self, key: str, state: Any) -> None:
        """Keep a state as the newest; None forgets it."""
        if self._refused:
            self._refused.pop(key, None)
        if state is None:
            self._ordinary.pop(key, None)
        else:
            self._ordinary[key] = state
            self._ordinary.move_to_end(key)

    def mark_refused(self, key: str) -> None:
        if key in self._ordinary:
            self._refused[key] = self._ordinary.pop(key)

    def shrink(self, most_keys: int) -> None:
        while len(self) > most_keys:
            crowded = len(self._refused) > most_keys // 2
            (self._refused if crowded else self._ordinary).popitem(last=False)


class _Unchanged:
    """States to look at."""

    def __init__(self, states: _States) -> None:
        self.get = states.get

    def put(self, key: str, state: Any) -> None:
        """Keep what there is."""

    def mark_refused(self, key: str) -> None:
        """Keep what there is."""
