"""The store in this process's memory: the twin of ``lua/decide.lua``, equal to it on every step."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from ratewindow.limiter.algorithms import algorithm
from ratewindow.limiter.algorithms.base import Reading
from ratewindow.limiter.arguments import whole_ms_of
from ratewindow.limiter.forks import renew_lock_after_fork
from ratewindow.limiter.reply import NO_VERDICT, Answer, Reply, tells_verdict
from ratewindow.limiter.types import Check, Refunds, What, WindowAnswer


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
        self._clock_ms = whole_ms_of(clock_ms) if clock_ms is not None else _system_ms
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

    def refund(self, refunds: Refunds, now_ms: int | None = None) -> None:
        """What ``lua/refund.lua`` does: refund the cost of each check, at the times it was charged."""
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

    def __init__(self, check: Check, states: "_States | _Unchanged", now: int) -> None:
        self.check, self.states, self.now = check, states, now
        self.readings: list[Reading] = []
        self.full = self.impossible = False
        self.lock_ends: int | None = None
        self.locked = False

    @property
    def open(self) -> bool:
        return not (self.full or self.locked)

    def read(self) -> None:
        check = self.check
        for window, key in zip(check.windows, check.keys, strict=True):
            reading = algorithm(window.algorithm).reading(window, self.states.get(key), self.now)
            if reading.discarded:
                self.states.put(key, None)
            self.readings.append(reading)
        self.full = any(check.cost > reading.room for reading in self.readings)
        self.impossible = any(check.cost > reading.capacity for reading in self.readings)
        if check.penalty_ms:
            self._read_lock()

    def _read_lock(self) -> None:
        start, lasts = self.states.get(self.check.lock) or (self.now, 0)
        lasts = min(lasts, self.check.penalty_ms)
        if start - self.now > lasts:
            self.states.put(self.check.lock, None)
        elif lasts:
            self.lock_ends = start + lasts
            self.locked = self.now < self.lock_ends

    def settle(self, what: What, passes: bool) -> Answer:
        """Charge what is to be charged."""
        check, hits, forced = self.check, what != "peek", what in ("force", "charge")
        judged = check.enforce or passes
        counts_refused = hits and check.counts_refused
        if not check.enforce and (judged or counts_refused):
            self.read()
        charges = hits and passes and check.cost > 0 and not check.only_looks
        charged = charges and (self.open or (forced and check.enforce))
        counted = counts_refused and not charged and check.cost > 0 and not self.impossible
        own_refusal = judged and self.full and not self.locked and not self.impossible and check.cost > 0
        if check.penalty_ms and hits and not forced and own_refusal:
            self.lock_ends = self.now + check.penalty_ms
            self.states.put(check.lock, (self.now, check.penalty_ms))
        verdict, lock_wait, windows = NO_VERDICT, 0, []
        if tells_verdict(check, what):
            verdict = 0
            if judged:
                verdict = 2 if self.locked else 1 if self.full else 0
                lock_wait = 0 if self.lock_ends is None else max(0, self.lock_ends - self.now)
        for number, window in enumerate(check.windows):
            reading, charged_at_ms = self.readings[number] if self.readings else None, -1
            if reading is not None and charged:
                left = max(0, reading.room)
                takes_left = what == "force" and algorithm(window.algorithm).takes_what_is_left
                units = left if takes_left and check.cost > left else check.cost
                self._charge(number, units)
                charged_at_ms = reading.time if units == check.cost else -1
            elif reading is not None and counted:
                reading.count(check.cost)
                self.states.put(check.keys[number], reading.stored)
                charged_at_ms = reading.time
            if reading is not None and judged and reading.settled is not None:
                self.states.put(check.keys[number], reading.settled)
            numbers = self._numbers(reading, charged) if reading is not None and judged else (0, 0, 0)
            windows.append(WindowAnswer(window, *numbers, charged_at_ms))
        if judged and not charged and not self.open:
            for key in (*check.keys, check.lock):
                self.states.mark_refused(key)
        return Answer(verdict, lock_wait, tuple(windows))

    def _charge(self, number: int, units: int) -> None:
        reading = self.readings[number]
        if units > 0:
            reading.charge(units)
            self.states.put(self.check.keys[number], reading.stored)

    def _numbers(self, reading: Reading, charged: bool) -> tuple[int, int, int]:
        wait, cost = 0, self.check.cost
        if not charged and cost > reading.capacity:
            wait = -1
        elif not charged and cost > reading.room:
            wait = reading.wait(cost) - self.now
        remaining = max(0, reading.room)
        grows = reading.wait(remaining + 1) - self.now if remaining < reading.capacity else 0
        return remaining, wait, max(wait, grows)


class _States:
    """States by key, those of refused clients apart, each part from the longest ago charged to the newest."""

    def __init__(self) -> None:
        self._ordinary: OrderedDict[str, Any] = OrderedDict()
        self._refused: OrderedDict[str, Any] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ordinary) + len(self._refused)

    def get(self, key: str) -> Any:
        return self._ordinary.get(key, self._refused.get(key))

    def put(self, key: str, state: Any) -> None:
        """Keep a state as the newest; None forgets it."""
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


def _system_ms() -> int:
    return time.time_ns() // 1_000_000
