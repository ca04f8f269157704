"""A clock that a caller gives, for tests and replays: what it tells, as whole milliseconds within bounds."""

from collections.abc import Callable

MOST_MS = 2**47  # in the year 6429: buckets are numbered with six bytes, and calendars end before the year 10000


def told_by(clock_ms: Callable[[], float]) -> Callable[[], int]:
    """The same clock in whole milliseconds, from 0 on; it raises a ValueError that names what is no such time."""
    if not callable(clock_ms):
        raise TypeError(f"clock_ms {clock_ms!r}: give a function that returns milliseconds")

    def now_ms() -> int:
        told = clock_ms()
        try:
            whole = int(told)
        except (TypeError, ValueError, OverflowError):  # no number, or none that is a time
            whole = -1
        if not 0 <= whole <= MOST_MS:
            raise ValueError(f"clock_ms told {told!r}: let it return milliseconds from 0 to {MOST_MS}")
        return whole

    return now_ms
