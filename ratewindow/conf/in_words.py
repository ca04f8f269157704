"""What people read: numbers, durations and lists in words, errors in their language, and text by others, in escapes."""

import json
import logging
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from importlib import metadata
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext, ngettext_lazy, override, pgettext

from ratewindow.limiter.durations import UNITS_MS, format_duration
from ratewindow.limiter.problem import Problem, Translatable

_HARMLESS = frozenset("\n\t\u00a0\u202f\u200c\u200d")  # blanks, and what joins letters


def number(value: int) -> str:
    return number_format(value, use_l10n=True, force_grouping=True)


def filled(text: str, **values: int | str) -> str:
    """The text with these values, the numbers as people write them."""
    return text % {name: number(value) if isinstance(value, int) else value for name, value in values.items()}


def percent(part: int, whole: int) -> str:
    """``"38 %"``, ``"0.4 %"``; never zero if `part` is not."""
    return gettext("%s %%") % _percentage(part, whole)


def _percentage(part: int, whole: int) -> str:
    if not part or not whole:
        return "0"
    share = 100 * part / whole
    if share < 0.1:
        return f"< {number_format(0.1, 1)}"
    if share < 10 or 99 <= share < 100:
        return number_format(1000 * part // whole / 10, 1)  # rounded down, so that only all is 100 %
    return f"{share:.0f}"


def duration(milliseconds: int) -> str:
    """``1 minute``; one of several units stays as people type it, ``2h30m``."""
    unit, size = next((each for each in UNITS_MS.items() if milliseconds >= each[1]), ("ms", 1))
    count, rest = divmod(milliseconds, size)
    return format_duration(milliseconds) if rest else str(_COUNTS[unit] % count)


def wait(seconds: int) -> str:
    """``42 seconds``, or rounded up ``5 minutes``, ``3 hours``."""
    unit, size_s = ("h", 3600) if seconds > 7200 else ("m", 60) if seconds > 120 else ("s", 1)
    return str(_COUNTS[unit] % -(-seconds // size_s))


def listed(parts: Iterable[str]) -> str:
    """``a, b, c``."""
    return pgettext("between the parts of a list", ", ").join(parts)


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


_COUNTS = {
    "w": ngettext_lazy("%d week", "%d weeks"),
    "d": ngettext_lazy("%d day", "%d days"),
    "h": ngettext_lazy("%d hour", "%d hours"),
    "m": ngettext_lazy("%d minute", "%d minutes"),
    "s": ngettext_lazy("%d second", "%d seconds"),
    "ms": ngettext_lazy("%d millisecond", "%d milliseconds"),
}


def translated(error: Exception) -> str:
    """The text of a `Problem` in the active language; of any other error, its own."""
    if not isinstance(error, Problem):
        return str(error)
    return gettext(error.message).format(**{name: _value(value) for name, value in error.values.items()})


def as_sentence(error: Exception) -> str:
    """The text of an error with a full stop, which some have already; also of one that quotes bytes that are no text."""
    text = translated(error).encode("utf-8", "backslashreplace").decode()
    return text if text.endswith((".", "。")) else gettext("%s.") % text


def _value(value: Any) -> Any:
    if isinstance(value, Problem):
        return translated(value)
    return gettext(value) if isinstance(value, Translatable) else value


def in_english() -> AbstractContextManager[None]:
    """Texts stay as the source has them: for logs and records, which nobody reads in a language of their own."""
    return override(None)


def in_escapes(text: str) -> str:
    """The text with ``\\u001b`` for what would move the cursor, recolour it, or turn round what follows. In the strings of
    JSON this means the same, and in YAML in double quotes, but for what is beyond ``\\uffff``: `yaml_text` escapes that."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in _HARMLESS else json.dumps(each)[1:-1] for each in text)


def escape_values(record: logging.LogRecord) -> bool:
    """A filter of a logger: the names, reasons and answers of servers that others wrote stay in the line of their message."""
    if isinstance(record.args, tuple):
        record.args = tuple(map(_in_one_line, record.args))
    return True


def _in_one_line(value: object) -> object:
    text = str(value) if isinstance(value, str | BaseException) else ""
    return value if text.isprintable() else in_escapes(text).replace("\n", "\\n")


def page(name: str) -> str:
    """The address of a page of the documentation, where the metadata of the installed package have that; else its file in a
    checkout."""
    with suppress(metadata.PackageNotFoundError, KeyError):
        addresses = dict(line.split(", ", 1) for line in metadata.metadata("ratewindow").get_all("Project-URL", ()))
        return f"{addresses['Documentation'].rstrip('/')}/{name.replace('.md', '.html')}"
    return f"docs/{name}"
