"""Several files as one in the order of time, and each file sorted as far as its requests are held.

A server writes a line when a request ends, and its workers take turns, so neighbours change places. Logs that people export
may have the newest line first, or no order at all.
"""

import heapq
from collections.abc import Iterable, Iterator
from itertools import pairwise
from operator import attrgetter

from ratewindow.operations.logs.entry import Entry

NEAR = 4096  # requests of one file that may change places
FAR = 100_000  # the same of all files together, of a log that is out of order; twice as many are sorted whatever their order is
AT_S = attrgetter("at_s")


def merged(files: Iterable[tuple[float, Iterator[list[Entry]]]], window: int) -> Iterator[Entry]:
    """The requests of batches; each file with the time of its first request, before which it is not read."""
    waiting = sorted(files, key=lambda file: file[0], reverse=True)
    running: list[tuple[float, int, Entry, Iterator[Entry]]] = []
    turn = 0
    while waiting or running:
        while waiting and (not running or waiting[-1][0] <= running[0][0]):
            turn += 1
            _next(running, turn, ordered(waiting.pop()[1], window))
        if not running:
            continue
        _, place, entry, entries = running[0]
        yield entry
        if len(running) > 1:
            following = next(entries, None)
            if following is None:
                heapq.heappop(running)
            else:
                heapq.heapreplace(running, (following.at_s, place, following, entries))
            continue
        # The only one: until the next file begins.
        running.clear()
        until = waiting[-1][0] if waiting else float("inf")
        for entry in entries:
            if entry.at_s >= until:
                running.append((entry.at_s, place, entry, entries))
                break
            yield entry


def _next(running: list[tuple[float, int, Entry, Iterator[Entry]]], place: int, entries: Iterator[Entry]) -> None:
    first = next(entries, None)
    if first is not None:
        heapq.heappush(running, (first.at_s, place, first, entries))


def ordered(batches: Iterable[list[Entry]], window: int) -> Iterator[Entry]:
    """The requests of a file, sorted as far as the window reaches. Those of the same time stay as they are, or change places
    with all others if the file begins with the newest."""
    held: list[Entry] = []
    is_begun = False
    for batch in batches:
        held += batch
        if len(held) >= 2 * window:
            _sort(held, is_begun)
            is_begun = True
            yield from held[:-window]
            del held[:-window]
    _sort(held, is_begun)
    yield from held


def _sort(held: list[Entry], is_begun: bool) -> None:
    if not is_begun and is_newest_first(held):
        held.reverse()
    held.sort(key=AT_S)


def is_newest_first(entries: Iterable[Entry]) -> bool:
    """Whether more of them are older than the one before than are newer."""
    steps = [after.at_s - before.at_s for before, after in pairwise(entries)]
    return sum(step < 0 for step in steps) > sum(step > 0 for step in steps)
