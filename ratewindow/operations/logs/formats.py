"""The formats by name, by their own string, and guessed from the first lines of a log."""

import json
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, Protocol

from ratewindow.operations.logs import json_maps, nginx
from ratewindow.operations.logs.entry import Entry, LogError, Unreadable
from ratewindow.operations.logs.json_lines import JsonLines
from ratewindow.operations.logs.text_format import Field, TextFormat
from ratewindow.operations.logs.w3c import W3C

_COMMON = '$remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent'
_COMBINED = f'{_COMMON} "$http_referer" "$http_user_agent"'
_ALB = (
    "$type $time_iso8601 $elb $remote_addr:$port $target $request_time $target_time $response_time $status $target_status "
    '$received $sent "$request" "$http_user_agent"'
)
_PLAIN = (str, int, float, bool, type(None))  # what a line may be known by
_BACKSLASHED = re.compile(r'\\(["\\])')
_IN_ADDRESSES = frozenset("0123456789abcdefABCDEF:., ")


def _of_addresses(line: str, after: str, at: int) -> int:
    """The end of one or more addresses, since other sites have something else in this place."""
    end = line.find(after, at)
    text = line[at:end]
    return end if text == "-" or (_IN_ADDRESSES.issuperset(text) and text.count(".") + text.count(":") > 1) else -1


_FORWARDED = Field("header:x-forwarded-for", "$http_x_forwarded_for", end=_of_addresses)


class Format(Protocol):
    """Reads one line of a file after the other. A line about something else than a request is None, or Unreadable."""

    name: str

    def read(self, line: str) -> Entry | None: ...


class Either:
    """The lines of a program that writes text or JSON, as it is told."""

    def __init__(self, name: str, text: str, places: json_maps.Map) -> None:
        self.name = name
        self._text, self._json = TextFormat(name, nginx.parts(text)), JsonLines(name, places)

    def read(self, line: str) -> Entry | None:
        """The request of a line. Raises Unreadable."""
        return (self._json if line[:1] == "{" else self._text).read(line)


class Quoted:
    """The lines of another format, each in quotes as a whole, as spreadsheets and log viewers export them."""

    def __init__(self, form: Format) -> None:
        self.name, self._read = form.name, form.read

    def read(self, line: str) -> Entry | None:
        """The request of a line. Raises Unreadable."""
        return self._read(_unquoted(line))


def _unquoted(line: str) -> str:
    """The line without the quotes around it, and those within it as they were: after a backslash, or doubled."""
    if not _is_quoted(line):
        return line
    text = line.strip()[1:-1]
    if '\\"' in text:
        return _BACKSLASHED.sub(r"\1", text)
    return text.replace('""', '"') if text.count('"') == 2 * text.count('""') else text


def _is_quoted(line: str) -> bool:
    text = line.strip()
    return len(text) > 1 and text[0] == text[-1] == '"'


# In this order they are tried, since later ones also read lines of those before, and find less in them.
_FORMATS: dict[str, Callable[[str], Format]] = {
    "vhost_combined": lambda name: TextFormat(name, nginx.parts(f"$host:$server_port {_COMBINED}")),
    "main": lambda name: TextFormat(name, [*nginx.parts(_COMBINED), ' "', _FORWARDED, '"']),
    "combined": lambda name: TextFormat(name, nginx.parts(_COMBINED)),
    "common": lambda name: TextFormat(name, nginx.parts(_COMMON)),
    "alb": lambda name: TextFormat(name, nginx.parts(_ALB)),
    "cloudfront": W3C,
    "caddy": lambda name: JsonLines(name, json_maps.CADDY),
    "cloudflare": lambda name: JsonLines(name, json_maps.CLOUDFLARE),
    "structlog": lambda name: JsonLines(name, json_maps.STRUCTLOG),
    "traefik": lambda name: Either(name, _COMBINED, json_maps.TRAEFIK),
    "nginx": lambda name: Either(name, _COMBINED, json_maps.NGINX),
    "gunicorn": lambda name: Either(name, _COMBINED, json_maps.GUNICORN),
    "json": lambda name: JsonLines(name, json_maps.ANY),
}
NAMES = tuple(sorted(_FORMATS))


def named(text: str) -> Format:
    """The format of a name, of a string as a server has it, or of a map of JSON fields. Raises LogError."""
    text = text.strip()
    if text in _FORMATS:
        return _FORMATS[text](text)
    if nginx.describes(text):
        return TextFormat("log_format", nginx.parts(text))
    if text.startswith("{"):
        return _mapped(text)
    near = get_close_matches(text, NAMES, 1)
    raise LogError(
        "Unknown format {text!r}: write {near}, or the log_format or map of JSON fields itself.",
        text=text[:40],
        near=near[0] if near else ", ".join(NAMES),
    )


def _mapped(text: str) -> Format:
    try:
        places = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LogError(
            'The map of JSON fields is no JSON: {error}. Write it like {{"time": "ts", "client": "ip", "request": "line"}}.',
            error=error,
        ) from None
    for field, path in places.items():
        paths = _listed(path) if field != "headers" else [path]
        if field == "only" and not isinstance(path, dict):
            raise LogError('The map of JSON fields has no object at "only": write it like {{"event": "request_finished"}}.')
        if field == "only" and not all(isinstance(each, _PLAIN) for value in path.values() for each in _listed(value)):
            raise LogError('The map of JSON fields has an object or a list at "only": write the values themselves.')
        if field != "only" and not all(isinstance(each, str) for each in paths):
            raise LogError("The map of JSON fields has no path at {field!r}: write the name of a key.", field=field)
    return JsonLines("json", places)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def fitting(lines: Sequence[str], given: Format | None) -> Format | None:
    """The `given` format, or the one that these first lines of a file have; None if they have none of those known."""
    if lines and all(map(_is_quoted, lines)):
        bare = [*map(_unquoted, lines)]
        form = given or guessed(bare)
        if form and _score(form, bare)[0]:
            return Quoted(form)
    return given or guessed(lines)


def guessed(lines: Sequence[str]) -> Format | None:
    """The format that understands the most of these lines, and of several the one that finds the most in a request."""
    best, found = None, (0, 0.0)
    for name in _FORMATS:
        score = _score(named(name), lines)
        if score > found:
            best, found = name, score
    return named(best) if best else None


def _score(form: Format, lines: Sequence[str]) -> tuple[int, float]:
    understood, entries = 0, []
    for line in lines:
        try:
            entry = form.read(line)
        except Unreadable:
            continue
        understood += 1
        if entry:
            entries.append(entry)
    if not entries:
        return 0, 0.0
    known = sum(len(each.headers) + sum(map(bool, (each.status, each.user, each.agent, each.host))) for each in entries)
    return understood, known / len(entries)
