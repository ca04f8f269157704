"""A key, ``ip+post:username``, parsed once into functions of the request; and identities as callers write them, ``user:42``."""

import difflib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.http import HttpRequest

from ratewindow.conf import site_functions
from ratewindow.identity import address, custom_keys, request_attributes
from ratewindow.identity.typed_values import (
    ALIASES,
    MOST_PARTS,
    MOST_WITH_SCOPE,
    TEXTS,
    Extractor,
    Normaliser,
    as_sent,
    check_number,
    normalised,
    scope_first,
    typed,
)
from ratewindow.limiter.keys import joined
from ratewindow.limiter.problem import Problem, translatable

Loader = Callable[[HttpRequest], Awaitable[None]]

_UNNAMED: dict[str, Extractor] = {
    "ip": address.ip,
    "user": request_attributes.user,
    "user_or_ip": request_attributes.user_or_ip,
    "session": request_attributes.session,
    "global": request_attributes.everybody,
    "route": request_attributes.route,
    "path": request_attributes.path,
    "method": request_attributes.method,
    "scope": custom_keys.scope,
}
_LOADERS: dict[str, Loader] = {
    "user": request_attributes.load_user,
    "user_or_ip": request_attributes.load_user,
    "session": request_attributes.load_session,
}
_TOKEN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
MOST_NAME = 100  # characters
EXACT = frozenset(("user", "session", "route", "path", "method", "scope"))  # kinds that are never normalised


@dataclass(frozen=True)
class Recipe:
    """A parsed key: `parts` read the request, `loaders` fetch from the database what they need on an event loop."""

    text: str
    parts: tuple[Extractor, ...]
    loaders: tuple[Loader, ...] = ()
    normaliser: Normaliser = as_sent

    def identity(self, request: HttpRequest) -> str | None:
        """The client as a typed text; None if a part is missing."""
        if len(self.parts) == 1:
            return self.parts[0](request)
        found = []
        for part in self.parts:
            value = part(request)
            if value is None:
                return None
            found.append(value)
        return joined(found)

    async def load(self, request: HttpRequest) -> None:
        """Fetch what `identity` needs from the database, without blocking the event loop."""
        for loader in self.loaders:
            await loader(request)


def recipe(key: str, normalise: bool = False) -> Recipe:
    """Parse a key. Raises ValueError with the unknown part and the known ones.

    If `normalise`, values that clients send are compared without regard to case, blanks and Unicode form.
    """
    if not isinstance(key, str):
        raise Problem("{key!r} is not a key: write text such as ip, or user+header:x-api-key", key=key)
    return _parsed(key, normalise, custom_keys.version)


@lru_cache(maxsize=1024)
def _parsed(key: str, normalise: bool, version: int) -> Recipe:
    normaliser = normalised if normalise else as_sent
    check_number(key.count("+") + 1, MOST_PARTS)
    found = [_extractor(part.strip(), normaliser) for part in key.split("+")]
    loaders = dict.fromkeys(loader for _, loader in found if loader is not None)
    return Recipe(key, tuple(extractor for extractor, _ in found), tuple(loaders), normaliser)


def _extractor(part: str, normaliser: Normaliser) -> tuple[Extractor, Loader | None]:
    if part in _UNNAMED:
        return _UNNAMED[part], _LOADERS.get(part)
    kind, colon, name = part.partition(":")
    kind = ALIASES.get(kind, kind)
    if colon and kind in TEXTS:
        if not _is_name(kind, name):
            raise Problem(
                "{part!r} has no valid name: write for example {kind}:{example}", part=part, kind=kind, example=TEXTS[kind]
            )
        from ratewindow.identity.sent_fields import MAKERS  # with the first such key

        return MAKERS[kind](name.lower() if kind == "header" else name, normaliser), None
    key = custom_keys.find(part)
    if key is not None:
        return _extractor_of(key, normaliser)
    known = ", ".join(
        [*_UNNAMED, *(f"{kind}:NAME" for kind in TEXTS), *sorted(name for name in custom_keys.known() if "." not in name)]
    )
    raise Problem(
        "{part!r} is not a key: choose from {known}, the dotted path of a function, or join several with +",
        part=part,
        known=known,
    )


def _extractor_of(key: custom_keys.CustomKey, normaliser: Normaliser) -> tuple[Extractor, Loader | None]:
    if site_functions.is_async(key.function):
        return custom_keys.awaited(key, normaliser)
    return custom_keys.extractor(key, normaliser), request_attributes.load_user if key.needs_user else None


def recipe_of(key: custom_keys.CustomKey, normalise: bool = False) -> Recipe:
    """The recipe of one function of the site's, whether it is registered or not."""
    normaliser = normalised if normalise else as_sent
    extractor, loader = _extractor_of(key, normaliser)
    return Recipe(key.name, (extractor,), () if loader is None else (loader,), normaliser)


def canonical(key: str) -> str:
    """One text for all ways to write a key: ``get:q`` is ``query:q``, and names of headers are lower case."""
    return "+".join(map(_canonical, key.split("+")))


def _canonical(part: str) -> str:
    kind, colon, name = part.strip().partition(":")
    kind = ALIASES.get(kind, kind) if colon else kind
    return f"{kind}{colon}{name.lower() if kind == 'header' else name}"


def _is_name(kind: str, name: str) -> bool:
    if kind == "header":
        return bool(name) and set(name.lower()) <= _TOKEN
    forbidden = {" "} if kind == "jwt" else {" ", ":"}  # names of claims may be URLs
    return 0 < len(name) <= MOST_NAME and name.isprintable() and not set(name) & forbidden


def parse_identity(who: str | tuple[str, ...], normaliser: Normaliser = as_sent) -> str:
    """The identity that requests of this client have: ``ip:2001:db8::1`` becomes its network.

    `normaliser` is that of the rule's recipe. Raises ValueError.
    """
    parts: Sequence[Any] = scope_first(who) if isinstance(who, tuple | list) and who else [who]
    check_number(len(parts), MOST_WITH_SCOPE)
    values = [_parse_value(part, normaliser) for part in parts]
    return values[0] if len(values) == 1 else joined(values)


def _parse_value(value: str, normaliser: Normaliser) -> str:
    kind, colon, rest = value.partition(":") if isinstance(value, str) else ("", "", "")
    if value == "global":
        return value
    if not (kind and colon and rest):
        raise Problem(
            "{who!r} is not an identity: write its kind and value, such as {examples}, or give the request",
            who=value,
            examples=translatable("user:42 or ip:203.0.113.9"),
        )
    if kind == "ip":
        return f"ip:{address.masked_address(rest)}"
    kind = ALIASES.get(kind, kind)
    if kind not in TEXTS:
        if kind not in EXACT and (near := _nearest_kind(kind)):
            raise Problem("{who!r} is of an unknown kind: did you mean {near}:{rest}?", who=value, near=near, rest=rest)
        return value if kind in EXACT or normaliser is as_sent else f"{kind}:{normaliser(rest)}"
    name, _, sent = rest.partition(":")
    part = typed(f"{kind}:{name.lower() if kind == 'header' else name}:", sent, normaliser)
    if part is None:
        raise Problem(
            "{who!r} is not an identity: write kind, name and value, such as {kind}:{name}:value",
            who=value,
            kind=kind,
            name=name or "name",
        )
    return part


@lru_cache(maxsize=1024)
def _nearest_kind(kind: str) -> str:
    """The built-in kind that is one letter off; empty if there is none, or if the kind is a key of the site."""
    near = difflib.get_close_matches(kind, ("ip", *EXACT, *TEXTS), n=1, cutoff=0.8)
    return near[0] if near and custom_keys.find(kind) is None else ""
