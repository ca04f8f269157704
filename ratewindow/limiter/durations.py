"""Durations as people type them, ``"2h30m"``, and as the limiter counts them, whole milliseconds."""

import re
from datetime import timedelta

from ratewindow.limiter.problem import Problem, translatable

UNITS_MS = {
    "w": 604_800_000,
    "d": 86_400_000,
    "h": 3_600_000,
    "m": 60_000,
    "s": 1000,
    "ms": 1,
}

_NAMES = {
    "ms": ("ms", "millisecond", "milliseconds"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "m": ("m", "min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "d": ("d", "day", "days"),
    "w": ("w", "week", "weeks"),
}
_UNIT_OF_NAME = {name: unit for unit, names in _NAMES.items() for name in names}
_PART = re.compile(r"(\d+)\s*([a-z]+)")
_WHOLE = re.compile(r"\s*(?:\d+\s*[a-z]+\s*)+", re.ASCII)

EXAMPLES = translatable("10s, 1m, 2h30m, 1d2h3m4s or 500ms")


def unit_ms(name: str) -> int:
    """The milliseconds of one unit, singular, plural or abbreviated; ValueError names what is wrong."""
    if not isinstance(name, str):
        raise Problem("{name!r} is not a unit of time: write a text, such as 'seconds'", name=name)
    unit = _UNIT_OF_NAME.get(name.strip().lower())
    if unit is not None:
        return UNITS_MS[unit]
    if name.strip().lower() in ("month", "months", "mo"):
        raise Problem(
            "{name!r} has no fixed length: write 30d; for a month of the calendar, use a fixed window aligned to month", name=name
        )
    raise Problem("{name!r} is not a unit of time: use ms, s, m, h, d or w", name=name)


def parse_duration(text: str | timedelta) -> int:
    """Milliseconds of ``"2h30m"`` or a timedelta.

    Raises ValueError, naming the value and the remedy, for a bare number, an unknown unit, or anything
    that is not a positive whole number of milliseconds.
    """
    if isinstance(text, timedelta):
        microseconds = text // timedelta(microseconds=1)
        if microseconds <= 0 or microseconds % 1000:
            raise Problem("{text} is not a positive whole number of milliseconds: give at least one", text=text)
        return microseconds // 1000
    if not isinstance(text, str):
        raise Problem("{text!r} has no unit: write text such as {examples}", text=text, examples=EXAMPLES)
    lowered = text.strip().lower()
    if lowered.isdigit():
        raise Problem(
            "{text!r} has no unit: write {lowered}s for seconds, or {examples}", text=text, lowered=lowered, examples=EXAMPLES
        )
    if len(lowered) > 64 or not _WHOLE.fullmatch(lowered):
        raise Problem("{text!r} is not a duration: write {examples}", text=text[:64], examples=EXAMPLES)
    try:
        total = sum(int(number) * unit_ms(name) for number, name in _PART.findall(lowered))
    except ValueError as error:
        raise Problem("{text!r}: {error}", text=text, error=error) from None
    if total <= 0:
        raise Problem("{text!r} is zero: write at least 1ms", text=text)
    return total


def format_duration(milliseconds: int) -> str:
    """The shortest text that `parse_duration` reads back: 9_000_000 is ``"2h30m"``."""
    parts = []
    for unit, size in UNITS_MS.items():
        count, milliseconds = divmod(milliseconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)
