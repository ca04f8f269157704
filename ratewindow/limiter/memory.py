"""The store in this process's memory: the twin of ``lua/decide.lua``, equal to it on every step."""

import threading
import time
from collections import OrderedDict
from typing import Any

from ratewindow.limiter.algorithms import algorithm
from ratewindow.limiter.algorithms.base import Reading
from ratewindow.limiter.types import Check


class MemoryStore:
    """Counts for one process, thread-safe, without a server.

    It keeps at most `most_keys` states, one for each window of each identity. When it is full, those that
    were charged longest ago go first, and those of clients that were refused go last: a flood of new
    identities does not free a refused one before the others.
    """

    def __init__(self, most_keys: int = 100_000) -> None:
        self.most_keys = most_keys
        self._lock = threading.Lock()
        self._ordinary: OrderedDict[str, Any] = OrderedDict()
        self._refused: OrderedDict[str, Any] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ordinary) + len(self._refused)

    def run(self, checks: list[Check], charge: bool, now_ms: int | None = None) -> list[int]:
        """The reply of ``lua/decide.lua``: remaining, wait_ms and reset_ms of each window."""
        with self._lock:
            return self._decide(checks, charge, time.time_ns() // 1_000_000 if now_ms is None else now_ms)

    def clear(self) -> None:
        with self._lock:
            self._ordinary.clear()
            self._refused.clear()

    def _decide(self, checks: list[Check], charge: bool, now: int) -> list[int]:
        readings = [self._read(check, now) if check.enforce else [] for check in checks]
        refused = any(_full(check, read) for check, read in zip(checks, readings, strict=True))
        reply: list[int] = []
        for check, read in zip(checks, readings, strict=True):
            if not check.enforce:
                if refused:
                    reply += [0, 0, 0] * len(check.windows)
                    continue
                read = self._read(check, now)
            full = _full(check, read)
            charged = charge and not refused and not full and check.cost > 0
            for key, reading in zip(check.keys, read, strict=True):
                wait = 0
                if charged:
                    reading.charge(check.cost)
                    self._keep(key, reading.stored)
                elif check.cost > reading.capacity:
                    wait = -1
                elif check.cost > reading.room:
                    wait = reading.wait(check.cost) - now
                    self._mark_refused(key)
                reply += [max(0, reading.room), wait, max(wait, reading.reset() - now)]
        return reply

    def _read(self, check: Check, now: int) -> list[Reading]:
        read = []
        for window, key in zip(check.windows, check.keys, strict=True):
            stored = self._ordinary.get(key) or self._refused.get(key)
            reading = algorithm(window.algorithm).reading(window, stored, now)
            if stored and reading.discarded:
                self._ordinary.pop(key, None)
                self._refused.pop(key, None)
            read.append(reading)
        return read

    def _keep(self, key: str, stored: Any) -> None:
        self._refused.pop(key, None)
        self._ordinary[key] = stored
        self._ordinary.move_to_end(key)
        while len(self) > self.most_keys:
            (self._ordinary or self._refused).popitem(last=False)

    def _mark_refused(self, key: str) -> None:
        if key in self._ordinary:
            self._refused[key] = self._ordinary.pop(key)


def _full(check: Check, read: list[Reading]) -> bool:
    return any(check.cost > reading.room for reading in read)
