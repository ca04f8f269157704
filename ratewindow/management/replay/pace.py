"""When each request of a log is due: at its own distance from the first, divided by the speed."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import groupby

from ratewindow.management.replay.access_log import Entry


def due_times(entries: Iterable[Entry], speed: float) -> Iterator[tuple[float, Entry]]:
    """Each request with the seconds after the start when it is due.

    A log knows whole seconds: requests of one second are spread over it, in the order of the log. A log is
    written as requests end, so that a line may be older than the one before; it is due together with that one.
    """
    first = latest = None
    for second, group in groupby(_never_back(entries), key=lambda pair: pair[0]):
        together = deque(entry for _, entry in group)
        first = second if first is None else first
        latest = second - first
        for place, entry in enumerate(together):
            yield (latest + place / len(together)) / speed, entry


def _never_back(entries: Iterable[Entry]) -> Iterator[tuple[float, Entry]]:
    latest = float("-inf")
    for entry in entries:
        latest = max(latest, entry.at_s)
        yield latest, entry
