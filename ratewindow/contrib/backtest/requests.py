"""Requests of a log as Django would have got them, and when: as far as the log says what they were."""

import hashlib
import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from io import BytesIO
from itertools import chain, groupby, islice
from types import SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from django.core.handlers.wsgi import WSGIRequest
from django.urls import get_script_prefix

from ratewindow import conf
from ratewindow.contrib.backtest.logs.entry import Entry
from ratewindow.identity import split
from ratewindow.identity.address import SUPPOSED, client_of, parse_address
from ratewindow.overrides import users

MOST_PLACES = 5_000  # methods and paths whose requests are made once


class Place(WSGIRequest):
    """All requests of one method and path: the same object, changed for each of them, since making one takes long."""

    doors: Sequence[tuple[Any, Any]] | None = None  # those that its requests pass, once somebody has looked

    def __init__(self, method: str, path: str) -> None:
        mounted = get_script_prefix().rstrip("/")
        mounted = mounted if mounted and path.startswith(f"{mounted}/") else ""
        self.usual = {
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
        super().__init__(dict(self.usual))


class Places:
    """Makes the requests."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], Place] = {}
        self._anonymous: Any = users.anonymous()
        self._user: Callable[[str], Any] = cache(_signed_in)
        self.addresses = Addresses(conf.current().ipv6_prefix)

    def of(self, entry: Entry) -> Place:
        """The request; it is another one after the next call."""
        path, _, query = entry.target.partition("?")
        place = self._places.get((entry.method, path))
        if place is None:
            if len(self._places) >= MOST_PLACES:
                self._places.clear()
            place = self._places[entry.method, path] = Place(entry.method, path)
        place.META = place.environ = {
            **place.usual,
            **_in_meta({**entry.headers, "user-agent": entry.agent, "host": entry.host}),
            "REMOTE_ADDR": self.addresses.of(entry.client),
            "QUERY_STRING": query,
        }
        for name in ("GET", "COOKIES", "headers"):
            vars(place).pop(name, None)
        place.user = self._user(entry.user) if entry.user else self._anonymous
        return place


def _in_meta(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers as META has them."""
    return {
        f"HTTP_{name.upper().replace('-', '_')}": value.encode(errors="surrogateescape").decode("latin-1")
        for name, value in headers.items()
        if value
    }


def _signed_in(name: str) -> Any:
    """Somebody who was signed in: a client by the name that the log has."""
    return SimpleNamespace(
        pk=name,
        id=name,
        is_authenticated=True,
        is_anonymous=False,
        is_active=True,
        is_staff=False,
        is_superuser=False,
        has_perm=lambda permission, of=None: False,
    )


class Addresses:
    """An address for each client of a log, so that a rule by address counts each for itself.

    Addresses are kept. A host name, in capitals or not, gets a network of its own below fd00::/8, which is for private use: by a
    hash, so that it has the same one in the next run.
    """

    def __init__(self, prefix: int = 64) -> None:
        self._bits = max(0, min(prefix, 64) - 8)  # that tell networks apart
        self._known: dict[str, str] = {}  # by name, in small letters
        self.names: dict[str, str] = {}  # host names by identity, as the log has them first

    def of(self, client: str) -> str:
        name = client.lower()
        known = self._known.get(name) or parse_address(client)
        if known is None:
            known = self._known[name] = self._made_up(name)
            self.names.setdefault(f"ip:{client_of(known, '')}", client)
        return str(known)

    def name_in(self, identity: str) -> str:
        """The host name whose address is in an identity; empty if it has none of these."""
        return next((self.names[part] for part in split(identity) if part in self.names), "") if self.names else ""

    def _made_up(self, name: str) -> str:
        digest = hashlib.blake2b(name.encode(errors="surrogateescape"), digest_size=8).digest()
        number = int.from_bytes(digest) >> (64 - self._bits)
        return str(ipaddress.IPv6Address(0xFD << 120 | number << (120 - self._bits) | 1))


AHEAD = 10_000  # requests by which a log of whole seconds is known


class Moment(NamedTuple):
    """A request with the times at which it is decided, in milliseconds: its own or, in a log of whole seconds, the
    beginning of its second, and its place if the requests of that second are spread evenly over it."""

    entry: Entry
    times_ms: tuple[int, ...]


class Moments:
    """The requests of a log. A line that stands too far from its place comes when it stands there: time does not go back."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        coming = iter(entries)
        ahead = [*islice(coming, AHEAD)]
        self.whole_seconds = all(float(entry.at_s).is_integer() for entry in ahead)
        self._entries = chain(ahead, coming)

    def __iter__(self) -> Iterator[Moment]:
        return self._spread() if self.whole_seconds else self._exact()

    def _exact(self) -> Iterator[Moment]:
        latest_ms = -1
        for entry in self._entries:
            latest_ms = max(latest_ms, round(entry.at_s * 1000))
            yield Moment(entry, (latest_ms,))

    def _spread(self) -> Iterator[Moment]:
        start_ms = latest_ms = -1
        for second, entries in groupby(self._entries, key=lambda entry: int(entry.at_s)):
            together = [*entries]
            start_ms = max(start_ms, second * 1000)
            for place, entry in enumerate(together):
                latest_ms = max(latest_ms, start_ms + place * 1000 // len(together))
                yield Moment(entry, (start_ms, latest_ms))
