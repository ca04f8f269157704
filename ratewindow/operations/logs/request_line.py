"""The first line of a request, from a log back to what went on the wire."""

import re
import string
from urllib.parse import quote

from ratewindow.operations.logs.entry import Unreadable

_REQUEST = re.compile(r"([A-Z][A-Z-]*+) (.+?)(?: HTTP/\d(?:\.\d)?)?")
_SAFE = string.punctuation.replace("#", "")  # also %: what the log has encoded stays encoded
_URL = re.compile(r"(https?)://([^/?#]*)([^?#]*)(\?[^#]*)?")  # urlsplit would normalise the host, which may take long
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_ESCAPED = re.compile(r'\\(?:x([0-9A-Fa-f]{2})|u00([0-9A-Fa-f]{2})|(["\\/bfnrtv]))')
_CONTROLS = dict(zip("bfnrtv", "\b\f\n\r\t\v", strict=True))


def split(request: str) -> tuple[str, str, str]:
    """Method, target and, if the line has it, host of ``GET /path HTTP/1.1``. Raises Unreadable."""
    parts = request.split(" ")
    if len(parts) == 3 and parts[2].startswith("HTTP/") and parts[0].isupper() and parts[0].isalpha():
        method, text = parts[0], parts[1]
    else:
        found = _REQUEST.fullmatch(request)
        if not found:
            raise Unreadable("no request: {text!r}", text=request[:40])
        method, text = found.groups()
    path, host = located(text)
    return method, path, host


def located(text: str) -> tuple[str, str]:
    """Target and host of a path or a whole URL; "" if it has no host. Raises Unreadable."""
    url = _URL.match(text)
    if not url:
        return target(text), ""
    scheme, authority, path, query = url.groups("")
    host = authority.rpartition("@")[2]
    if ("[" in host) != ("]" in host):
        raise Unreadable("no path: {text!r}", text=text[:40])
    return target((path or "/") + ("" if query == "?" else query)), host.removesuffix(_DEFAULT_PORTS[scheme])


def target(text: str) -> str:
    """Path and query, encoded where the log has not. Raises Unreadable."""
    if not text.startswith("/"):
        raise Unreadable("no path: {text!r}", text=text[:40])
    if text.isascii() and text.isprintable() and " " not in text and "#" not in text:
        return text
    try:
        return quote(text, safe=_SAFE, errors="surrogateescape")
    except UnicodeEncodeError:
        raise Unreadable("no path: {text!r}", text=text[:40]) from None


def unescaped(text: str) -> str:
    """The text without the backslashes by which servers write quotes, and bytes that are no text."""
    if "\\" not in text:
        return text
    return _ESCAPED.sub(_meant, text).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _meant(found: re.Match[str]) -> str:
    byte, sign = found[1] or found[2], found[3]
    if byte:
        return bytes([int(byte, 16)]).decode("ascii", "surrogateescape")
    return _CONTROLS.get(sign, sign)


def with_query(path: str, query: str) -> str:
    """Path and query as one."""
    query = query.removeprefix("?")
    return f"{path}?{query}" if query not in ("", "-") else path
