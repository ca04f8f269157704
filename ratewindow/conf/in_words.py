"""Durations and lists in words, in the language of whoever reads them."""

from collections.abc import Iterable

from django.utils.translation import gettext, ngettext, pgettext

from ratewindow.limiter.durations import UNITS_MS, format_duration


def duration(milliseconds: int) -> str:
    """``1 minute``; one of several units stays as people type it, ``2h30m``."""
    for unit, size in UNITS_MS.items():
        if milliseconds >= size:
            count, rest = divmod(milliseconds, size)
            return format_duration(milliseconds) if rest else _count(unit, count)
    return _count("ms", 0)


def listed(parts: Iterable[str]) -> str:
    """``a, b, c``."""
    return pgettext("between the parts of a list", ", ").join(parts)


def in_clauses(parts: Iterable[str]) -> str:
    """``until 14:20, by admin``: parts of a sentence, which some languages join by another sign than names."""
    return pgettext("between the clauses of a sentence", ", ").join(parts)


def some_of(parts: Iterable[str], most: int = 5) -> str:
    """``a, b and 3 more``."""
    parts = list(parts)
    rest = len(parts) - most
    if rest <= 0:
        return listed(parts)
    text = ngettext("%(some)s and %(number)d more", "%(some)s and %(number)d more", rest)
    return text % {"some": listed(parts[:most]), "number": rest}


def one_of(parts: Iterable[str]) -> str:
    """``a, b or c``."""
    *first, last = parts
    return gettext("%(others)s or %(last)s") % {"others": listed(first), "last": last} if first else last


def _count(unit: str, count: int) -> str:
    match unit:
        case "w":
            return ngettext("%d week", "%d weeks", count) % count
        case "d":
            return ngettext("%d day", "%d days", count) % count
        case "h":
            return ngettext("%d hour", "%d hours", count) % count
        case "m":
            return ngettext("%d minute", "%d minutes", count) % count
        case "s":
            return ngettext("%d second", "%d seconds", count) % count
        case _:
            return ngettext("%d millisecond", "%d milliseconds", count) % count
