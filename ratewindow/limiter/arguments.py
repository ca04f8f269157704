"""Arguments of the limiter in their rarer forms, an identity in several parts or one window alone; and the caller's own
clock, for tests and replays."""

from collections.abc import Callable, Iterable

from ratewindow.limiter.keys import joined
from ratewindow.limiter.types import Window

Identity = str | tuple[str, ...]
Windows = Window | Iterable[Window]
MOST_MS = 2**47  # in the year 6429: buckets are numbered with six bytes, and calendars end before the year 10000


def identity_of(given: object) -> str:
    """An identity as one text; TypeError names anything else."""
    if isinstance(given, str):
        return given
    if isinstance(given, tuple) and given and all(isinstance(part, str) for part in given):
        return given[0] if len(given) == 1 else joined(given)
    raise TypeError(f"identity {given!r:.60}: give a text, such as 'user:42', or several as a tuple")


def windows_of(given: object) -> tuple[Window, ...]:
    """Windows as a tuple; TypeError names anything else."""
    if isinstance(given, Window):
        return (given,)
    windows = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else (given,)
    for window in windows:
        if not isinstance(window, Window):
            of_text = "ratewindow.limiter.rates.parse_rates makes windows of text"
            remedy = of_text if isinstance(window, str) else "give some such as Window(10, period_ms=1000)"
            raise TypeError(f"{window!r:.60} is not a window: {remedy}")
    return windows


def whole_ms_of(clock_ms: Callable[[], float]) -> Callable[[], int]:
    """The same clock in whole milliseconds, from 0 on; a ValueError names a time out of range."""
    if not callable(clock_ms):
        raise TypeError(f"clock_ms {clock_ms!r}: give a function that returns milliseconds")

    def now_ms() -> int:
        given = clock_ms()
        try:
            whole = int(given)
        except (TypeError, ValueError, OverflowError):  # not a number, or infinite
            whole = -1
        if not 0 <= whole <= MOST_MS:
            raise ValueError(f"clock_ms returned {given!r}: let it return milliseconds from 0 to {MOST_MS}")
        return whole

    return now_ms
