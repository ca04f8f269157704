"""The formats by name, by their own string, and guessed from the first lines of a log."""

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from typing import Protocol

from ratewindow.operations.logs import nginx
from ratewindow.operations.logs.entry import Entry, LogError, Unreadable
from ratewindow.operations.logs.text_format import TextFormat

_COMMON = '$remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent'
_COMBINED = f'{_COMMON} "$http_referer" "$http_user_agent"'
TEXT = {
    "vhost_combined": f"$host:$server_port {_COMBINED}",
    "combined": _COMBINED,
    "common": _COMMON,
}


class Format(Protocol):
    """Reads one line after the other. Without a request in it, a line is skipped (None) or Unreadable."""

    name: str

    def read(self, line: str) -> Entry | None: ...


@cache
def named(name: str) -> Format:
    """The format of a name. Raises LogError."""
    if name not in TEXT:
        near = get_close_matches(name, TEXT, 1)
        raise LogError("Unknown format {name!r}: write {near}.", name=name, near=near[0] if near else ", ".join(TEXT))
    return TextFormat(name, nginx.parts(TEXT[name]))


def format_of(text: str) -> Format:
    """The format of a name or a string. Raises LogError."""
    if nginx.describes(text):
        return TextFormat(text, nginx.parts(text))
    return named(text)


def guessed(lines: Sequence[str]) -> Format | None:
    """The format that reads the most of these lines, the first of several."""
    formats: list[Format] = [named(name) for name in TEXT]
    scores = [_readable(each, lines) for each in formats]
    best = max(scores)
    return formats[scores.index(best)] if best else None


def _readable(form: Format, lines: Sequence[str]) -> int:
    return sum(_reads(form, line) for line in lines)


def _reads(form: Format, line: str) -> bool:
    try:
        return form.read(line) is not None
    except Unreadable:
        return False
