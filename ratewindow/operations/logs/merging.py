"""Several files, each nearly in the order of time, as one; and one file whose lines are nearly in order.

A server writes a line when a request ends, and its workers take turns, so neighbours change places.
"""

import heapq
from collections.abc import Iterable, Iterator
from operator import attrgetter

from ratewindow.operations.logs.entry import Entry

WINDOW = 4096  # requests of one file that may change places
AT_S = attrgetter("at_s")


def merged(files: Iterable[tuple[float, Iterator[list[Entry]]]]) -> Iterator[Entry]:
    """The requests of batches; each file with the time of its first request, before which it is not read."""
    waiting = sorted(files, key=lambda file: file[0], reverse=True)
    running: list[tuple[float, int, Entry, Iterator[Entry]]] = []
    turn = 0
    while waiting or running:
        while waiting and (not running or waiting[-1][0] <= running[0][0]):
            turn += 1
            _next(running, turn, ordered(waiting.pop()[1]))
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


def ordered(batches: Iterable[list[Entry]]) -> Iterator[Entry]:
    """The requests of a file, sorted as far as `WINDOW` reaches; those of the same time stay as they are."""
    held: list[Entry] = []
    for batch in batches:
        held += batch
        if len(held) >= 2 * WINDOW:
            held.sort(key=AT_S)
            yield from held[:-WINDOW]
            del held[:-WINDOW]
    held.sort(key=AT_S)
    yield from held
