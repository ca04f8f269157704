"""When each request of a log is due: at its own distance from the first, divided by the speed."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import groupby

from ratewindow.operations.logs.entry import Entry


def due_times(entries: Iterable[Entry], speed: float, whole_seconds: bool) -> Iterator[tuple[float, Entry]]:
    """Each request with its due time, in seconds after the start.

    If the log has whole seconds, the requests of a second are spread over it, in the order of the log. A line is
    written when its request ends, so it may be older than the line before; then both are due together.
    """
    spread_s = 1.0 if whole_seconds else 0.0
    first = None
    for second, group in groupby(_monotonic(entries), key=lambda pair: pair[0]):
        simultaneous = deque(entry for _, entry in group)
        first = second if first is None else first
        for place, entry in enumerate(simultaneous):
            yield (second - first + spread_s * place / len(simultaneous)) / speed, entry


def _monotonic(entries: Iterable[Entry]) -> Iterator[tuple[float, Entry]]:
    """Each request with its time, which is never earlier than that of the one before."""
    latest = float("-inf")
    for entry in entries:
        latest = max(latest, entry.at_s)
        yield latest, entry
