"""Lines of JSON, by a map of where each field is."""

import json
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from ratewindow.operations.logs.entry import NO_HEADERS, Entry, LogError, Unreadable
from ratewindow.operations.logs.json_maps import Map
from ratewindow.operations.logs.request_line import located, split, with_query
from ratewindow.operations.logs.times import any_time
from ratewindow.operations.logs.values import address, clean, status

_FIELDS = ("time", "client", "request", "method", "target", "path", "query", "status", "user", "agent", "host")
_OTHERS = ("headers", "only")
_HEADER = "header."
_HIDDEN = "REDACTED"  # what servers write in the place of a secret
_LONE = re.compile(r'\\(?!["\\/bfnrtu])')
Getter = Callable[[dict[str, Any]], Any]


class JsonLines:
    """Reads the lines of one map."""

    def __init__(self, name: str, places: Map) -> None:
        _check(places)
        self.name = name
        getters = [_getter(places.get(field, [])) for field in _FIELDS]
        self._time, self._client, self._request, self._method, self._target, self._path = getters[:6]
        self._query, self._status, self._user, self._agent, self._host = getters[6:]
        self._named = [(field[len(_HEADER) :], _getter(paths)) for field, paths in places.items() if field.startswith(_HEADER)]
        headers = places.get("headers", "")
        self._prefix = headers[:-1] if headers.endswith("*") else ""
        self._headers = _getter([] if self._prefix else headers, dict)
        only = places.get("only", {})
        self._only = [(_getter(path), value if isinstance(value, list) else [value]) for path, value in only.items()]

    def read(self, line: str) -> Entry | None:
        """The request of a line, or None if it is about something else. Raises Unreadable."""
        found = _object(line)
        if any(get(found) not in values for get, values in self._only):
            return None
        request, path = self._request(found), self._target(found) or self._path(found)
        if isinstance(request, str):
            method, target, own_host = split(request)
        elif path is not None:
            method, (target, own_host) = _text(self._method(found)).upper(), located(self._with_query(found, _text(path)))
            if not method:
                raise Unreadable("no method")
        else:
            return None
        headers = self._all_headers(found)
        agent, host = headers.pop("user-agent", ""), headers.pop("host", "")
        return Entry(
            any_time(self._time(found)),
            address(_text(self._client(found)), headers.get("x-forwarded-for", "")),
            method,
            target,
            status(_text(self._status(found))),
            _text(self._user(found)),
            _text(self._agent(found)) or agent,
            _text(self._host(found)) or host or own_host,
            headers or NO_HEADERS,
        )

    def _with_query(self, found: dict[str, Any], path: str) -> str:
        return path if "?" in path else with_query(path, _text(self._query(found)))

    def _all_headers(self, found: dict[str, Any]) -> dict[str, str]:
        sent = list((self._headers(found) or {}).items())
        if self._prefix:
            cut = len(self._prefix)
            sent += [(name[cut:].replace("_", "-"), value) for name, value in found.items() if name.startswith(self._prefix)]
        sent += [(name, get(found)) for name, get in self._named]
        return {name.lower(): text for name, value in sent if (text := _text(value)) and text != _HIDDEN}


def _check(places: Map) -> None:
    for field in places:
        if field not in (*_FIELDS, *_OTHERS) and not field.startswith(_HEADER):
            near = get_close_matches(field, (*_FIELDS, *_OTHERS), 1)
            raise LogError(
                "The map of JSON fields has no {field!r}: write {near}.",
                field=field,
                near=repr(near[0]) if near else ", ".join((*_FIELDS, *_OTHERS, "header.NAME")),
            )
    if "time" not in places or not ("request" in places or ("method" in places and ("target" in places or "path" in places))):
        raise LogError("The map of JSON fields needs time, client, and either request, or method and target.")


def _object(line: str) -> dict[str, Any]:
    text = line if line[:1] == "{" else line[line.find("{") :]  # docker and syslog write their own first
    try:
        found = json.loads(text)
    except RecursionError:
        raise Unreadable("not a JSON object") from None
    except ValueError:
        found = _with_odd_escapes(text)
    if not isinstance(found, dict):
        raise Unreadable("not a JSON object")
    return found


def _with_odd_escapes(text: str) -> Any:
    """nginx without ``escape=json`` writes odd bytes as \\xHH, and gunicorn leaves backslashes as they are."""
    if "\\" not in text:
        return None
    try:
        return json.loads(_LONE.sub(r"\\\\", text.replace("\\x", "\\u00")))
    except (ValueError, RecursionError):
        return None


def _getter(paths: str | list[str], kind: type = object) -> Getter:
    """The value at the first of these paths that has one: one of this kind, or any that is no object."""
    ways = [(path, tuple(path.split(".")) if "." in path else ()) for path in ([paths] if isinstance(paths, str) else paths)]

    def get(found: dict[str, Any]) -> Any:
        for path, keys in ways:
            value = found.get(path)
            if value is None and keys:
                value = _descend(found, keys)
            if value is not None and value != "" and value != "-" and isinstance(value, dict) is (kind is dict):
                return value
        return None

    return get


def _descend(found: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        if not isinstance(found, Mapping):
            return None
        found = found.get(key)
    return found


def _text(value: Any) -> str:
    """The value as text, of a list those of its values. What these contain may be as deep as the line is long."""
    if value is None or value == "-" or isinstance(value, dict):
        return ""
    if isinstance(value, list):
        return ", ".join(_text(each) for each in value if not isinstance(each, list))
    return clean(value if isinstance(value, str) else str(value))
