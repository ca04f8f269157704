"""Hits that come too rarely for any limit to refuse them: kept as their times alone, since most clients have no others.

By some algorithms a unit counts for a known time at most (`lasts`), whatever came before it. If fewer units than the limit have
come within that time, there is room for one more. Once there may be none, the engine decides: it is given the times first, so
its state is the one that it would have had.
"""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from ratewindow.limiter.algorithms import algorithm
from ratewindow.limiter.memory import MemoryStore
from ratewindow.limiter.types import Check, Window

MOST_TIMES = 1000  # that may count: a client with more of them is the engine's


class _Bound(NamedTuple):
    """A hit has room if less than so many have come within the time that they can count."""

    hits: int
    lasts_ms: int


class Sparse:
    """Clients with times here have no state in the store, which decides about all others. Time must not go back."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._times: dict[str, array[int]] = {}  # by the first key of a check, oldest first
        self._bounds: dict[tuple[Window, ...], tuple[Sequence[_Bound], int]] = {}  # with the most hits of any

    def __len__(self) -> int:
        return len(self._times)

    def admits(self, check: Check, now_ms: int) -> bool:
        """Whether a hit has room for certain. It is kept then; otherwise the store must decide it."""
        if check.cost != 1 or check.only_looks or check.tells_verdict:
            self.settle(check)
            return False
        known = self._bounds.get(check.windows)
        if known is None:
            known = self._bounds[check.windows] = _bounds(check.windows)
        bounds, most = known
        times = self._times.get(check.keys[0]) if bounds else None
        if times is None:
            if not bounds or self._store.has_any(check.keys):
                return False
            times = self._times[check.keys[0]] = array("q")
        count = len(times)
        for hits, lasts_ms in bounds:
            if count >= hits and times[-hits] > now_ms - lasts_ms:
                self.settle(check)
                return False
        times.append(now_ms)
        if count >= 2 * most:
            del times[:-most]
        return True

    def settle(self, check: Check) -> None:
        """Let the store decide about this client from now on, with all that it may still count."""
        for now_ms in self._times.pop(check.keys[0], ()) if check.keys else ():
            self._store.refuses(check._replace(cost=1), now_ms)

    def forget(self, now_ms: int) -> None:
        """Forget the clients of whom nothing counts any more."""
        lasts_ms = max((bound.lasts_ms for bounds, _ in self._bounds.values() for bound in bounds), default=0)
        self._times = {key: times for key, times in self._times.items() if times[-1] > now_ms - lasts_ms}


def _bounds(windows: Sequence[Window]) -> tuple[Sequence[_Bound], int]:
    """None of them if what counts depends on more than the times, or if a window admits nothing; and how many times they need."""
    bounds = []
    for window in windows:
        lasts = algorithm(window.algorithm).lasts
        if lasts is None or not window.limit:
            return (), 0
        bounds.append(_Bound(min(window.limit, MOST_TIMES), lasts(window)))
    return bounds, max((bound.hits for bound in bounds), default=0)
