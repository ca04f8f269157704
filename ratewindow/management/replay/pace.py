"""When each request of a log is due: at its own distance from the first, divided by the speed."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import groupby

from ratewindow.management.replay.access_log import Entry


def due_times(entries: Iterable[Entry], speed: float) -> Iterator[tuple[float, Entry]]:
    """Each request with its due time, in seconds after the start.

    A log has whole seconds: the requests of a second are spread over it, in the order of the log. A line is
    written when its request ends, so it may be older than the line before; then both are due together.
    """
    first = None
    for second, group in groupby(_monotonic(entries), key=lambda pair: pair[0]):
        simultaneous = deque(entry for _, entry in group)
        first = second if first is None else first
        for place, entry in enumerate(simultaneous):
            yield (second - first + place / len(simultaneous)) / speed, entry


def _monotonic(entries: Iterable[Entry]) -> Iterator[tuple[float, Entry]]:
    """Each request with its time, which is never earlier than that of the one before."""
    latest = float("-inf")
    for entry in entries:
        latest = max(latest, entry.at_s)
        yield latest, entry
