"""Requests of a log as Django would have got them, as far as the log says what they were."""

from collections.abc import Iterable
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes

from django.core.handlers.wsgi import WSGIRequest
from django.urls import get_script_prefix

from ratewindow import conf
from ratewindow.identity.proxy_warning import SUPPOSED
from ratewindow.operations.backtest.addresses import Addresses
from ratewindow.operations.backtest.users import Users
from ratewindow.operations.logs.entry import Entry
from ratewindow.overrides.users import anonymous

MOST_PLACES = 5_000  # methods and paths whose requests are made once


class Place(WSGIRequest):
    """All requests of one method and path: the same object, changed for each of them, since making one takes long."""

    doors: Any = None  # those that its requests pass, once somebody has looked

    def __init__(self, method: str, path: str) -> None:
        mounted = get_script_prefix().rstrip("/")
        mounted = mounted if mounted and path.startswith(f"{mounted}/") else ""
        super().__init__(
            {
                "PATH_INFO": unquote_to_bytes(path.removeprefix(mounted)).decode("latin-1"),
                "SCRIPT_NAME": mounted,
                "QUERY_STRING": "",
                "REQUEST_METHOD": method,
                "SERVER_NAME": "log",
                "SERVER_PORT": "80",
                "SERVER_PROTOCOL": "HTTP/1.1",
                "wsgi.url_scheme": "http",
                "wsgi.input": BytesIO(),
                SUPPOSED: True,
            }
        )


class Places:
    """Makes the requests. `headers` are those that somebody will ask for, in lower case; None: all that the log has."""

    def __init__(self, headers: Iterable[str] | None, users: Users | None) -> None:
        self._headers = _names(headers or ()) | _names({"x-forwarded-for"} if conf.current().trusted_proxies else ())
        self._has_all_headers = headers is None
        self._users = users
        self._places: dict[tuple[str, str], Place] = {}
        self.addresses = Addresses(conf.current().ipv6_prefix)
        self.nobody = anonymous()

    def of(self, entry: Entry) -> Place:
        """The request; it is another one after the next call."""
        path, _, query = entry.target.partition("?")
        place = self._places.get((entry.method, path))
        if place is None:
            place = self._made(entry.method, path)
        meta = place.META
        meta["REMOTE_ADDR"] = self.addresses.of(entry.client)
        if query != meta["QUERY_STRING"]:
            meta["QUERY_STRING"] = query
            vars(place).pop("GET", None)
        if self._has_all_headers and entry.headers:
            self._headers |= _names(entry.headers)
        if self._headers:
            self._set_headers(place, entry)
        user: Any = self._users.of(entry.user) if self._users is not None and entry.user else self.nobody
        place.user = user
        return place

    def _made(self, method: str, path: str) -> Place:
        if len(self._places) >= MOST_PLACES:
            self._places.clear()
        place = self._places[method, path] = Place(method, path)
        return place

    def _set_headers(self, place: Place, entry: Entry) -> None:
        for name, meta in self._headers.items():
            value = header_of(entry, name)
            if value:
                place.META[meta] = value.encode(errors="surrogateescape").decode("latin-1")
            else:
                place.META.pop(meta, None)
        if "cookie" in self._headers:
            vars(place).pop("COOKIES", None)


def header_of(entry: Entry, name: str) -> str:
    """A header of the request, by its name in lower case; empty if the log does not have it."""
    match name:
        case "user-agent":
            return entry.agent
        case "host":
            return entry.host
        case _:
            return entry.headers.get(name, "")


def _names(headers: Iterable[str]) -> dict[str, str]:
    """Names of headers, with those that they have in META."""
    return {name: f"HTTP_{name.upper().replace('-', '_')}" for name in headers}
