"""`Entry`: a request as a line of an access log tells it, whatever its format. A log escapes values: here they
are as they were sent.
"""

import re
import string
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote

from ratewindow.limiter.problem import Problem

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Entry(NamedTuple):
    """One request of a log."""

    at_s: float  # seconds since the epoch
    client: str  # an address or a host name, as the log has it
    method: str
    target: str  # path and query, as they go on the wire
    status: int = 0  # of the answer; 0 if the log does not say
    user: str = ""  # login name; "" if nobody was signed in or the log does not say
    agent: str = ""
    host: str = ""
    headers: Mapping[str, str] = NO_HEADERS  # others that the log names, names in lower case


class Unreadable(Problem):
    """Why a line is no request."""


class LogError(Problem):
    """Why a log cannot be read, and what to do."""


_LONGEST_CLIENT = 255
_NOBODY = ("", "-")
_QUOTES = ('"', "'")  # no client begins with one: the line is quoted in a way that its format does not say
_STATUSES = {"": 0, "-": 0, "000": 0} | {str(number): number for number in range(1000)}
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_REQUEST = re.compile(r"([A-Z][A-Z-]*+) (.+?)(?: HTTP/\d(?:\.\d)?)?", re.DOTALL)
_SAFE = string.punctuation.replace("#", "")  # also %: what the log has encoded stays encoded
_URL = re.compile(r"(https?)://([^/?#]*)([^?#]*)(\?[^#]*)?")  # urlsplit would normalise the host, which may take long
_ESCAPED = re.compile(r'\\(?:x([0-9A-Fa-f]{2})|u00([0-9A-Fa-f]{2})|(["\\/bfnrtv]))')
_CONTROLS = dict(zip("bfnrtv", "\b\f\n\r\t\v", strict=True))

_CLF = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d:\d\d):(\d\d)([.,]\d{1,9})? ([+-]\d\d:?\d\d)", re.ASCII)
# Not strptime, whose names of months depend on the locale.
_MONTHS = {name: f"{number:02}" for number, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
# A number this large is not seconds, but thousandths of them, and so on: each unit begins in the year 2286 of the one before.
_UNITS = ((1e10, 1.0), (1e13, 1e3), (1e16, 1e6), (1e20, 1e9))
_LAST_YEAR_S = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


def address(client: str, forwarded: str = "") -> str:
    """The client, without a port, or the last of those that it was forwarded for. Raises Unreadable."""
    client = clean((forwarded if client in _NOBODY else client).rpartition(",")[2].strip())
    if client.count(":") == 1:
        client = client.partition(":")[0]
    elif client[:1] == "[":
        client = client[1:].partition("]")[0]
    if client in _NOBODY or len(client) > _LONGEST_CLIENT or client[0] in _QUOTES:
        raise Unreadable("no client")
    return client


def status(text: str) -> int:
    """The status of the answer. Raises Unreadable."""
    number = _STATUSES.get(text)
    if number is None:
        raise Unreadable("no status: {text!r}", text=text[:40])
    return number


def split(request: str) -> tuple[str, str, str]:
    """Method, target and, if the line has it, host of ``GET /path HTTP/1.1``. Raises Unreadable."""
    line = _REQUEST.fullmatch(request)
    if not line:
        raise Unreadable("no request: {text!r}", text=request[:40])
    return line[1], *located(line[2])


def located(text: str) -> tuple[str, str]:
    """Target and host of a path or a whole URL; "" if it has no host. Raises Unreadable."""
    url = _URL.match(text)
    if not url:
        return _target(text), ""
    _, authority, path, query = url.groups("")
    return _target((path or "/") + ("" if query == "?" else query)), authority.rpartition("@")[2]


def _target(text: str) -> str:
    """Path and query, encoded where the log has not. Raises Unreadable."""
    if not text.startswith("/"):
        raise Unreadable("no path: {text!r}", text=text[:40])
    try:
        return quote(text, safe=_SAFE, errors="surrogateescape")
    except UnicodeEncodeError:
        raise Unreadable("no path: {text!r}", text=text[:40]) from None


def with_query(path: str, query: str) -> str:
    """Path and query as one."""
    query = query.removeprefix("?")
    return f"{path}?{query}" if query not in _NOBODY else path


def unescaped(text: str) -> str:
    """The text without the backslashes by which servers write quotes, and bytes that are no text."""
    if "\\" not in text:
        return text
    return _ESCAPED.sub(_meant, text).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _meant(found: re.Match[str]) -> str:
    byte, sign = found[1] or found[2], found[3]
    return bytes([int(byte, 16)]).decode("ascii", "surrogateescape") if byte else _CONTROLS.get(sign, sign)


def readable(text: str) -> str:
    """A text in which the server has written quotes and odd bytes with backslashes; empty for ``-``."""
    return "" if text == "-" else clean(unescaped(text))


def clean(text: str) -> str:
    """The text as people and databases can take it: what is no text, and the character 0, as the replacement character."""
    return text if text.isascii() and "\0" not in text else _NO_TEXT.sub("\ufffd", text)


@lru_cache(maxsize=4096)  # the lines of a second are neighbours
def clf(text: str) -> float:
    """``20/Nov/2026:09:00:00 +0000``, as common and combined logs have it."""
    parts = _CLF.fullmatch(text)
    if not parts or parts[2] not in _MONTHS:
        raise _no_time(text)
    day, month, year, minute, second, fraction, zone = parts.groups("")
    second = min(second, "59")  # a leap second
    return iso(f"{year}-{_MONTHS[month]}-{day}T{minute}:{second}{zone}") + float(f"0.{fraction[1:]}0")


def iso(text: str) -> float:
    """``2026-11-20T09:00:00.123Z``; without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(text)
        at_s = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise _no_time(text) from None
    if 0 <= at_s < _LAST_YEAR_S:  # in other zones than its own, a time of the last year may have no name
        return at_s
    raise _no_time(text)


def epoch(value: float | str) -> float:
    """Seconds since the epoch, or thousandths, millionths or billionths of them."""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise _no_time(str(value)) from None
    for most, unit in _UNITS:
        if 0 < number < most:
            return number / unit
    raise _no_time(str(value))


def any_time(value: object) -> float:
    """A time in any of these notations, as lines of JSON have it."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return epoch(value)
    text = value.strip("[] ") if isinstance(value, str) else ""
    if text[4:5] == "-":
        return iso(text)
    return clf(text) if text[2:3] == "/" else epoch(text)


def _no_time(text: str) -> Unreadable:
    return Unreadable("no time: {text!r}", text=text[:40])
