"""The times of logs, as seconds since the epoch."""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from ratewindow.operations.logs.entry import Unreadable

_CLF = re.compile(r"(\d{2})/([A-Z][a-z]{2})/(\d{4}):(\d{2}):(\d{2}):(\d{2})([.,]\d{1,9})?(?: ([+-])(\d{2}):?(\d{2}))?", re.ASCII)
# Not strptime, whose names of months depend on the locale.
MONTHS = {name: number for number, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
# A number this large is not seconds, but thousandths of them, and so on: each unit begins in the year 2286 of the one before.
_UNITS = ((1e10, 1.0), (1e13, 1e3), (1e16, 1e6), (1e20, 1e9))
_LAST_YEAR_S = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


@lru_cache(maxsize=4096)  # the lines of a second are neighbours
def clf(text: str) -> float:
    """``20/Nov/2026:09:00:00 +0000``, as common and combined logs have it."""
    found = _CLF.fullmatch(text)
    if not found or found[2] not in MONTHS:
        raise no_time(text)
    day, _, year, hour, minute, second = found.groups()[:6]
    try:
        zone = UTC
        if found[8]:
            zone = timezone((-1 if found[8] == "-" else 1) * timedelta(hours=int(found[9]), minutes=int(found[10])))
        at = datetime(int(year), MONTHS[found[2]], int(day), int(hour), int(minute), min(int(second), 59), tzinfo=zone)
        return seconds(at) + (float("0." + found[7][1:]) if found[7] else 0.0)
    except (ValueError, OverflowError):
        raise no_time(text) from None


def iso(text: str) -> float:
    """``2026-11-20T09:00:00.123Z``; without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(text)
        return seconds(at if at.tzinfo else at.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise no_time(text) from None


def epoch(value: float | str) -> float:
    """Seconds since the epoch, or thousandths, millionths or billionths of them."""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise no_time(str(value)) from None
    for most, unit in _UNITS:
        if 0 < number < most:
            return number / unit
    raise no_time(str(value))


def seconds(at: datetime) -> float:
    """Seconds since the epoch. Raises ValueError for a time before it, or in the last year that Python knows: in other zones
    than its own these may have no name."""
    found = at.timestamp()
    if not 0 <= found < _LAST_YEAR_S:
        raise ValueError(at)
    return found


def any_time(value: object) -> float:
    """A time in any of these notations, as lines of JSON have it."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return epoch(value)
    text = value.strip("[] ") if isinstance(value, str) else ""
    if text[4:5] == "-":
        return iso(text)
    return clf(text) if text[2:3] == "/" else epoch(text)


def no_time(text: str) -> Unreadable:
    return Unreadable("no time: {text!r}", text=text[:40])
