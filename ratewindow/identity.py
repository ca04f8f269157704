"""Who is asking: key recipes such as ``user+header:x-api-key`` as functions of a request.

An identity is always typed, ``ip:203.0.113.9``, so that a user named like an address is not that address.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.http import HttpRequest

from ratewindow.address import client_address, masked_address

Extractor = Callable[[HttpRequest], str | None]


@dataclass(frozen=True)
class Recipe:
    """A key, parsed: its parts, and whether it asks who is logged in."""

    text: str
    parts: tuple[Extractor, ...]
    needs_user: bool

    def identity(self, request: HttpRequest) -> str | None:
        """The client as one typed text; None when one part is missing."""
        if len(self.parts) == 1:
            return self.parts[0](request)
        found = []
        for part in self.parts:
            value = part(request)
            if value is None:
                return None
            found.append(value)
        return joined(found)


def joined(values: Iterable[str]) -> str:
    """Several typed values as one identity; their lengths keep ("a+b", "c") and ("a", "b+c") apart."""
    return "+".join(f"{len(value)}:{value}" for value in values)


def named(who: str | tuple[str, ...]) -> str:
    """An identity that a caller names, as requests have it: ``ip:2001:db8::1`` is its network there, too."""
    values = (who,) if isinstance(who, str) else who
    for value in values:
        if not isinstance(value, str) or not (value == "global" or value.partition(":")[2]):
            raise ValueError(f"{value!r} is no identity: write its kind and value, such as user:42 or ip:203.0.113.9")
    values = tuple(f"ip:{masked_address(value[3:])}" if value.startswith("ip:") else value for value in values)
    return values[0] if len(values) == 1 else joined(values)


def ip(request: HttpRequest) -> str:
    return f"ip:{client_address(request)}"


def user(request: HttpRequest) -> str | None:
    who: Any = getattr(request, "user", None)
    return f"user:{who.pk}" if who is not None and who.is_authenticated else None


def user_or_ip(request: HttpRequest) -> str:
    return user(request) or ip(request)


def everybody(request: HttpRequest) -> str:
    return "global"


def header(name: str) -> Extractor:
    meta = "HTTP_" + name.upper().replace("-", "_")
    meta = {"HTTP_CONTENT_TYPE": "CONTENT_TYPE", "HTTP_CONTENT_LENGTH": "CONTENT_LENGTH"}.get(meta, meta)

    def value(request: HttpRequest) -> str | None:
        sent = request.META.get(meta)
        return f"header:{name}:{sent}" if sent else None

    return value


_PLAIN: dict[str, Extractor] = {"ip": ip, "user": user, "user_or_ip": user_or_ip, "global": everybody}
_BY_USER = frozenset(("user", "user_or_ip"))
_NAMED: dict[str, Callable[[str], Extractor]] = {"header": header}
_TOKEN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")


def recipe(key: str) -> Recipe:
    """Parse a key; ValueError names the part that is not known and what may stand there."""
    if not isinstance(key, str):
        raise ValueError(f"{key!r} is no key: write text such as ip, or user+header:x-api-key")
    return _parsed(key)


@lru_cache(maxsize=1024)
def _parsed(key: str) -> Recipe:
    parts = [part.strip() for part in key.split("+")]
    return Recipe(key, tuple(map(_extractor, parts)), needs_user=not _BY_USER.isdisjoint(parts))


def _extractor(part: str) -> Extractor:
    if part in _PLAIN:
        return _PLAIN[part]
    kind, colon, name = part.partition(":")
    if colon and kind in _NAMED:
        if not name or not set(name.lower()) <= _TOKEN:
            raise ValueError(f"{part!r} names no {kind}: write for example {kind}:x-api-key")
        return _NAMED[kind](name.lower())
    known = ", ".join([*_PLAIN, *(f"{kind}:NAME" for kind in _NAMED)])
    raise ValueError(f"{part!r} is no key: choose from {known}, or join several with +")
