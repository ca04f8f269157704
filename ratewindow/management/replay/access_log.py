"""Reads access logs in the common or combined format, line by line, as requests that can be sent."""

import gzip
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import TextIO
from urllib.parse import quote, urlsplit

_LINE = re.compile(r'(\S+) \S+ [^\[]*\[([^\]]*)\] "((?:[^"\\]|\\.)*)"')
_TIME = re.compile(r"(\d{2})/([A-Z][a-z]{2})/(\d{4}):(\d{2}):(\d{2}):(\d{2}) ([+-])(\d{2})(\d{2})", re.ASCII)
_REQUEST = re.compile(r"([A-Z]+) (.+?)(?: HTTP/\d(?:\.\d)?)?")
# Not strptime, whose names of months depend on the locale.
_MONTHS = {name: number for number, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
_SAFE = string.punctuation.replace("#", "")  # also %: what the log has encoded stays encoded


@dataclass(frozen=True, slots=True)
class Entry:
    """One request of a log."""

    client: str  # an address or a host name
    at_s: float  # seconds since the epoch
    method: str
    target: str  # path and query, as they go on the wire


def parse(line: str) -> Entry:
    """The request of one line. Raises ValueError."""
    found = _LINE.match(line)
    if not found:
        raise ValueError("not in the common or combined format")
    client, time, request = found.groups()
    parts = _REQUEST.fullmatch(request)
    if not parts:
        raise ValueError(f"no request: {request[:40]!r}")
    method, target = parts.groups()
    if client == "-":
        raise ValueError("no client")
    return Entry(client, _seconds(time), method, _target(target))


def _seconds(text: str) -> float:
    found = _TIME.fullmatch(text)
    if not found or found[2] not in _MONTHS:
        raise ValueError(f"no time: {text[:40]!r}")
    day, _, year, hour, minute, second = found.groups()[:6]
    sign = -1 if found[7] == "-" else 1
    zone = timezone(sign * timedelta(hours=int(found[8]), minutes=int(found[9])))
    at = datetime(int(year), _MONTHS[found[2]], int(day), int(hour), int(minute), min(int(second), 59), tzinfo=zone)
    return at.astimezone(UTC).timestamp()


def _target(text: str) -> str:
    if text.startswith(("http://", "https://")):
        parts = urlsplit(text)
        text = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not text.startswith("/"):
        raise ValueError(f"no path: {text[:40]!r}")
    return quote(text, safe=_SAFE, errors="surrogateescape")


def read(path: Path, most: int | None = None) -> Iterator[tuple[int, Entry | ValueError]]:
    """Line numbers with the request of each line, or with its error; at most `most` lines, without empty ones."""
    with _open(path) as lines:
        for number, line in enumerate(lines, 1):
            if most is not None and number > most:
                return
            if not line.strip():
                continue
            try:
                yield number, parse(line)
            except ValueError as error:
                yield number, error


def _open(path: Path) -> TextIO:
    # Logs contain whatever clients sent; bytes that are not UTF-8 are kept.
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", errors="surrogateescape", newline="\n")
    return path.open(encoding="utf-8", errors="surrogateescape", newline="\n")
