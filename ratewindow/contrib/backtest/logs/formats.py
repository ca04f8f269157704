"""The formats in which `log.py` reads the lines of a file: nginx's ``log_format``, or JSON with the usual names of fields. Which
one, a person chooses, or it is guessed from the first lines.

A line of text is split at the literals of its format, from left to right, and never gone back on. So its time grows with its
length alone, whatever the format is: no format becomes a regular expression.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ratewindow.contrib.backtest.logs.entry import (
    NO_HEADERS,
    Entry,
    LogError,
    Unreadable,
    address,
    any_time,
    clean,
    clf,
    epoch,
    iso,
    located,
    readable,
    split,
    status,
    unescaped,
    with_query,
)

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_DIRECTIVE = re.compile(r"\s*log_format\s+\S+\s+(?:escape=\w+\s+)?")
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s;'"]+)""")
_TIMES: Mapping[str, Callable[[str], float]] = {"time_local": clf, "time_iso8601": iso, "msec": epoch}
# The variables of each role, of which the first that a format has is read. `TextFormat.read` unpacks the roles in this order.
_ROLES = {
    "client": ("remote_addr",),
    "forwarded": ("http_x_forwarded_for",),
    "user": ("remote_user",),
    "request": ("request",),
    "method": ("request_method",),
    "target": ("request_uri",),
    "path": ("uri", "document_uri"),
    "query": ("args", "query_string"),
    "status": ("status",),
    "agent": ("http_user_agent",),
    "host": ("host", "http_host", "server_name"),
}
_OWN_HEADERS = ("http_user_agent", "http_host")  # those with a role of their own


class TextFormat:
    """Reads the lines of one format. What follows the last literal is left alone. Raises LogError for one that cannot be read.

    Of ``$remote_addr [$time_local] "$request" $status`` the variables have the places 0 to 3, the literals `` [``, ``] "``,
    ``" `` and nothing follow them. A field that it lacks, such as the agent, has the place 4, where `_texts` has no text.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._begin, *rest = _VARIABLE.split(_string(text))
        variables = [braced or plain for braced, plain in zip(rest[::3], rest[1::3], strict=True)]
        self._literals = rest[2::3]
        for variable, following, literal in zip(variables, variables[1:], self._literals, strict=False):
            if not literal:
                raise LogError(
                    "Nothing separates {first} from {second} in the format.",
                    first=f"${variable}",
                    second=f"${following}",
                )
        self._place = {variable: place for place, variable in reversed([*enumerate(variables)])}
        self._check()
        nothing = len(variables)  # the text of every field that the format lacks
        self._places = [min((self._place.get(name, nothing) for name in names), default=nothing) for names in _ROLES.values()]
        self._clock, self._time = next((read, self._place[name]) for name, read in _TIMES.items() if name in self._place)
        self._headers = [
            (name.removeprefix("http_").replace("_", "-"), place)
            for name, place in self._place.items()
            if name.startswith("http_") and name not in _OWN_HEADERS
        ]

    def _check(self) -> None:
        has = {role for role, names in _ROLES.items() if not self._place.keys().isdisjoint(names)}
        has_request = "request" in has or ("method" in has and not has.isdisjoint(("target", "path")))
        if self._place.keys().isdisjoint(_TIMES) or has.isdisjoint(("client", "forwarded")) or not has_request:
            raise LogError(
                "The format {name!r} needs a time, an address of the client, and a request line or method and path.",
                name=self.name,
            )

    def read(self, line: str) -> Entry:
        """The request of a line. Raises Unreadable."""
        texts = self._texts(line)
        client, forwarded, user, request, method, target, path, query, code, agent, host = [
            texts[place] for place in self._places
        ]
        if request:
            method, target, own_host = split(unescaped(request))
        else:
            target, own_host = located(unescaped(target or with_query(path, query)))
        headers = {name: value for name, place in self._headers if (value := readable(texts[place]))}
        return Entry(
            self._clock(texts[self._time]),
            address(client, forwarded),
            method,
            target,
            status(code),
            "" if user == '""' else readable(user),
            readable(agent),
            readable(host) or own_host,
            headers or NO_HEADERS,
        )

    def _texts(self, line: str) -> list[str]:
        """The text of each variable, and an empty one."""
        texts, at = [], len(self._begin)
        if not line.startswith(self._begin):
            raise Unreadable("not in the format {format}", format=self.name)
        for literal in self._literals:
            end = _end(line, literal, at) if literal else len(line)
            if end < 0:
                raise Unreadable("not in the format {format}", format=self.name)
            texts.append(line[at:end])
            at = end + len(literal)
        return [*texts, ""]


def _string(text: str) -> str:
    """The string of a directive, whose parts are quoted."""
    directive = _DIRECTIVE.match(text)
    if not directive:
        return text
    parts = [part[1] or part[2] or part[3] or "" for part in _QUOTED.finditer(text, directive.end())]
    return "".join(re.sub(r"\\(['\"\\])", r"\1", part) for part in parts)


def _end(line: str, literal: str, at: int) -> int:
    """Where the literal that follows a text begins; -1: nowhere. A quote may stand within the text, after a backslash."""
    end = line.find(literal, at)
    while literal[0] == '"' and end > at and line[end - 1] == "\\" and _is_escaped(line, at, end):
        end = line.find(literal, end + 1)
    return end


def _is_escaped(line: str, at: int, place: int) -> bool:
    start = place
    while start > at and line[start - 1] == "\\":
        start -= 1
    return (place - start) % 2 == 1


# The variables of nginx by their own names, the atoms of gunicorn by those of its documentation, the fields of Caddy and Traefik,
# and those of ECS and OpenTelemetry. The keys of objects within are joined by dots; the first one that a line has is read.
# `JsonLines.read` unpacks the roles in this order.
_USUAL = {
    "time": "StartUTC time timestamp @timestamp ts date datetime msec time_iso8601 time_local asctime",
    "client": "client_ip remote_addr remote_ip remote_address ip client clientip remoteAddress ClientHost client.ip source.ip "
    "client.address network.client.ip request.client_ip request.remote_ip request.ip http.client_ip req.remoteAddress",
    "request": "request request_line status_line",
    "method": "method request_method http_method verb RequestMethod request.method http.method http.request.method req.method",
    "target": "request_uri target url full_path RequestPath request.uri http.url http.target url.original req.url",
    "path": "path uri request_path url_path http.path url.path",
    "query": "query args query_string url.query",
    "status": "status status_code code http_status response_code DownstreamStatus http.status_code http.response.status_code "
    "res.statusCode",
    "user": "user username remote_user user_name user_id ClientUsername user.name",
    "agent": "user_agent http_user_agent agent useragent user_agent.original http.user_agent",
    "host": "host http_host server_name hostname RequestHost request.host url.domain",
    "forwarded": "http_x_forwarded_for x_forwarded_for forwarded_for",
}
_PLACES = [[tuple(path.split(".")) for path in paths.split()] for paths in _USUAL.values()]
_OBJECTS = (("headers",), ("request", "headers"))  # of headers, by their names
_BEGINS = "request_started"  # a line of django-structlog, which writes another one when the request ends
_PREFIX = "http_"  # of a header, as nginx names it
_HIDDEN = "REDACTED"  # what servers write in the place of a secret


class JsonLines:
    """Reads lines of JSON."""

    name = "json"

    def read(self, line: str) -> Entry | None:
        """The request of a line, or None if it is about something else. Raises Unreadable."""
        fields = _object(line)
        time, client, request, method, target, path, query, code, user, agent, host, forwarded = [
            _first(fields, paths) for paths in _PLACES
        ]
        if fields.get("event") == _BEGINS:
            return None
        if isinstance(request, str):
            verb, located_at, own_host = split(request)
        elif target is not None or path is not None:
            verb, (located_at, own_host) = _text(method).upper(), located(_text(target) or with_query(_text(path), _text(query)))
            if not verb:
                raise Unreadable("no method")
        else:
            return None
        headers = _headers(fields, _text(forwarded))
        return Entry(
            any_time(time),
            address(_text(client), headers.get("x-forwarded-for", "")),
            verb,
            located_at,
            status(_text(code)),
            _text(user),
            _text(agent) or headers.get("user-agent", ""),
            _text(host) or headers.get("host", "") or own_host,
            headers or NO_HEADERS,
        )


def _object(line: str) -> dict[str, Any]:
    try:
        fields = json.loads(line[line.find("{") :])  # docker and syslog write their own first
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise Unreadable("not a JSON object")
    return fields


def _first(fields: dict[str, Any], paths: Iterable[tuple[str, ...]]) -> Any:
    """The value at the first of these paths that has one which is no object."""
    for path in paths:
        value = fields.get(path[0]) if len(path) == 1 else _descend(fields, path)
        if value is not None and value != "" and value != "-" and not isinstance(value, dict):
            return value
    return None


def _descend(value: Any, path: Iterable[str]) -> Any:
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _headers(fields: dict[str, Any], forwarded: str) -> dict[str, str]:
    """The headers, by their names in lower case."""
    sent = {"x-forwarded-for": forwarded}
    sent |= {name[len(_PREFIX) :].replace("_", "-"): value for name, value in fields.items() if name.startswith(_PREFIX)}
    for path in _OBJECTS:
        within = _descend(fields, path)
        sent |= within if isinstance(within, dict) else {}
    return {name.lower(): text for name, value in sent.items() if (text := _text(value)) and text != _HIDDEN}


def _text(value: Any) -> str:
    """The value as text, of a list those of its values. What these contain may be as deep as the line is long."""
    if value is None or value == "-" or isinstance(value, dict):
        return ""
    if isinstance(value, list):
        return ", ".join(_text(each) for each in value if not isinstance(each, list))
    return clean(value if isinstance(value, str) else str(value))


_COMMON = '$remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent'


Format = TextFormat | JsonLines  # reads one line after the other
# In this order they are tried: what `common` reads, `combined` may read, too, and finds more in it.
FORMATS: dict[str, Format] = {
    "combined": TextFormat("combined", f'{_COMMON} "$http_referer" "$http_user_agent"'),
    "common": TextFormat("common", _COMMON),
    "json": JsonLines(),
}


def named(text: str) -> Format:
    """The format of a name, or of a string as nginx has it, also within its directive. Raises LogError."""
    text = text.strip()
    if text in FORMATS:
        return FORMATS[text]
    if _VARIABLE.search(text):
        return TextFormat("log_format", text)
    raise LogError(
        "Unknown format {text!r}: write {near}, or nginx's log_format itself.", text=text[:40], near=", ".join(FORMATS)
    )


def guessed(lines: Sequence[str]) -> Format | None:
    """The format that understands the most of these lines."""
    understood = {name: sum(_understands(form, line) for line in lines) for name, form in FORMATS.items()}
    best = max(understood, key=lambda name: understood[name])
    return FORMATS[best] if understood[best] else None


def _understands(form: Format, line: str) -> bool:
    try:
        return form.read(line) is not None
    except Unreadable:
        return False
