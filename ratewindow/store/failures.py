"""Decisions of the last minute that got no answer from Redis though it is not down; the breaker reports outages."""

import threading
import time
from collections import Counter
from collections.abc import Callable

from ratewindow.limiter.forks import renew_lock_after_fork

MINUTE_S = 60.0
SLOT_S = 5.0
MOST_KINDS = 200  # of causes and rules, in one slot
FEW = 3  # so many of one kind in a minute are worth a log line


class RecentFailures:
    """Counts by cause and rules, in slots of five seconds."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self._slots: dict[int, Counter[tuple[str, str]]] = {}

    def add(self, cause: str, rules: str, count: int = 1) -> int:
        """Count decisions by these rules; returns how many there were in the last minute."""
        kind = cause, rules
        with self._lock:
            slots = self._of_a_minute()
            slot = slots.setdefault(int(self._clock_s() // SLOT_S), Counter())
            if kind in slot or len(slot) < MOST_KINDS:
                slot[kind] += count
            return sum(each[kind] for each in slots.values())

    def by_cause(self) -> dict[str, int]:
        causes: Counter[str] = Counter()
        with self._lock:
            for slot in self._of_a_minute().values():
                for (cause, _), count in slot.items():
                    causes[cause] += count
        return dict(causes)

    def clear(self) -> None:
        with self._lock:
            self._slots.clear()

    def _of_a_minute(self) -> dict[int, Counter[tuple[str, str]]]:
        oldest = (self._clock_s() - MINUTE_S) // SLOT_S
        for number in [each for each in self._slots if each < oldest]:
            del self._slots[number]
        return self._slots
