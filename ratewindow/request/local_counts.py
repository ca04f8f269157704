"""Counting without the store: this process allows its share of each limit, until the store is back.

Counts of this process stay here. They are kept for a period after the store is back, so that a store that fails again
and again does not grant a share each time: in any period at most the limit and one share for each process are allowed.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from ratewindow import conf
from ratewindow.limiter.memory import MemoryStore
from ratewindow.limiter.reply import decision
from ratewindow.limiter.types import Check, Decision, What, Window

MOST_STATES = 20_000  # of one window for one client; those that were charged longest ago are evicted first
TIDY_S = 60.0


class _Counted:
    """The counts, and until when they matter."""

    def __init__(self) -> None:
        self.store = MemoryStore(MOST_STATES)
        self.until_s = 0.0


_counted = _Counted()


def decide(checks: Sequence[Check], what: What) -> list[Decision]:
    """The decisions of these rules, each by this process's share. They cannot be refunded to the store."""
    processes = conf.current().local_processes
    shared = [_shared(check, processes) for check in checks]
    longest_ms = max(max(check.penalty_ms, *(window.period_ms for window in check.windows)) for check in shared)
    _counted.until_s = max(_counted.until_s, time.monotonic() + longest_ms / 1000)
    parts = decision(shared, _counted.store.run(shared, what), what).decisions
    for part, check in zip(parts, checks, strict=True):
        part.check, part.at_s = check, time.time()
        part.windows = tuple([answer._replace(charged_at_ms=-1) for answer in part.windows])
    return list(parts)


def share_of(limit: int, processes: int) -> int:
    """The share of one of so many processes: at least one unit, but nothing of a limit of 0."""
    return max(1, limit // processes) if limit else 0


@lru_cache(maxsize=4096)
def _window(window: Window, processes: int) -> Window:
    burst = None if window.burst is None else share_of(window.burst, processes)
    return replace(window, limit=share_of(window.limit, processes), burst=burst)


def _shared(check: Check, processes: int) -> Check:
    """The check of one process. A cost above its share is charged as the share; one above the limit never passes."""
    windows = tuple([_window(window, processes) for window in check.windows])
    fits = check.cost <= min(map(_capacity, check.windows))
    return check._replace(windows=windows, cost=min(check.cost, *map(_capacity, windows)) if fits else check.cost)


def _capacity(window: Window) -> int:
    if not window.limit:
        return 0
    return window.limit if window.burst is None else window.burst


def tidy() -> None:
    """Remove counts that no window needs any more."""
    if len(_counted.store) and time.monotonic() > _counted.until_s:
        _counted.store.clear()


def reset() -> None:
    """Start without counts, in a fork, which has a share of its own, and after a change of the settings."""
    global _counted
    _counted = _Counted()
