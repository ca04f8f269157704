"""What is wrong with a value, in the language of whoever reads it, and texts that stay in English."""

import re
from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import cache
from string import Formatter
from typing import Any

from django.utils.translation import gettext, override

from ratewindow.limiter.problem import Problem, Translatable


def translated(error: Exception) -> str:
    """The text of a `Problem` in the active language; of any other error, its own."""
    if not isinstance(error, Problem):
        return str(error)
    return gettext(error.message).format(**{name: _value(value) for name, value in error.values.items()})


def _value(value: Any) -> Any:
    if isinstance(value, Problem):
        return translated(value)
    return gettext(value) if isinstance(value, Translatable) else value


def recognised(text: str, messages: Iterable[str]) -> str:
    """A text that another process made of one of these `messages`, in the active language; any other text as it is."""
    for message in messages:
        if found := _pattern(message).fullmatch(text):
            return gettext(message).format(**found.groupdict())
    return text


@cache
def _pattern(message: str) -> re.Pattern[str]:
    """Matches what `str.format` makes of a message."""
    parts = Formatter().parse(message)
    return re.compile("".join(re.escape(words) + (f"(?P<{name}>.+?)" if name else "") for words, name, _, _ in parts))


def in_english() -> AbstractContextManager[None]:
    """Texts stay as the source has them: for logs and records, which nobody reads in a language of their own."""
    return override(None)
