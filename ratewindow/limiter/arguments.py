"""What a caller may give as an identity and as windows, beside one text and a list: looked at only where these are not."""

from collections.abc import Iterable

from ratewindow.limiter.keys import joined
from ratewindow.limiter.types import Window

Identity = str | tuple[str, ...]
Windows = Window | Iterable[Window]


def identity_of(given: object) -> str:
    """An identity as one text; TypeError names what is none."""
    if isinstance(given, str):
        return given
    if isinstance(given, tuple) and given and all(isinstance(part, str) for part in given):
        return given[0] if len(given) == 1 else joined(given)
    raise TypeError(f"identity {given!r:.60}: give a text, such as 'user:42', or several as a tuple")


def windows_of(given: object) -> tuple[Window, ...]:
    """Windows as a tuple; TypeError names what are none."""
    if isinstance(given, Window):
        return (given,)
    windows = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else (given,)
    for window in windows:
        if not isinstance(window, Window):
            of_text = "ratewindow.limiter.rates.parse_rates makes windows of text"
            remedy = of_text if isinstance(window, str) else "give some such as Window(10, period_ms=1000)"
            raise TypeError(f"{window!r:.60} is no window: {remedy}")
    return windows
