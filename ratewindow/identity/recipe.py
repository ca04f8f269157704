"""A key, ``ip+post:username``, parsed once into functions of the request."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache

from django.http import HttpRequest

from ratewindow.conf import site_functions
from ratewindow.identity import address, custom_keys, request_attributes
from ratewindow.identity.body_fields import either, in_json, post
from ratewindow.identity.custom_keys import CustomKey
from ratewindow.identity.jwt_claims import claim
from ratewindow.identity.normalise import Normaliser, as_sent, normalised
from ratewindow.identity.scope import scope
from ratewindow.identity.sent_fields import Extractor, cookie, header, query
from ratewindow.identity.typed_values import ALIASES, MOST_PARTS, check_number
from ratewindow.limiter.keys import joined
from ratewindow.limiter.problem import Problem

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
    "scope": scope,
}
_LOADERS: dict[str, Loader] = {
    "user": request_attributes.load_user,
    "user_or_ip": request_attributes.load_user,
    "session": request_attributes.load_session,
}
_NAMED: dict[str, tuple[Callable[[str, Normaliser], Extractor], str]] = {  # and a name for example
    "header": (header, "x-api-key"),
    "cookie": (cookie, "basket"),
    "query": (query, "token"),
    "post": (post, "username"),
    "json": (in_json, "user.email"),
    "body": (either, "username"),
    "jwt": (claim, "tenant"),
}
_TOKEN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
MOST_NAME = 100  # characters


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
    return _parsed(key, normalise, custom_keys.version())


@lru_cache(maxsize=1024)
def _parsed(key: str, normalise: bool, version: int) -> Recipe:
    normaliser = normalised if normalise else as_sent
    parts, loaders = [], []
    check_number(key.count("+") + 1, MOST_PARTS)
    for part in key.split("+"):
        extractor, loader = _extractor(part.strip(), normaliser)
        parts.append(extractor)
        if loader is not None and loader not in loaders:
            loaders.append(loader)
    return Recipe(key, tuple(parts), tuple(loaders), normaliser)


def _extractor(part: str, normaliser: Normaliser) -> tuple[Extractor, Loader | None]:
    if part in _UNNAMED:
        return _UNNAMED[part], _LOADERS.get(part)
    kind, colon, name = part.partition(":")
    kind = ALIASES.get(kind, kind)
    if colon and kind in _NAMED:
        make, example = _NAMED[kind]
        if not _is_name(kind, name):
            raise Problem("{part!r} has no valid name: write for example {kind}:{example}", part=part, kind=kind, example=example)
        return make(name.lower() if kind == "header" else name, normaliser), None
    key = custom_keys.find(part)
    if key is not None:
        return _extractor_of(key, normaliser)
    known = ", ".join(
        [*_UNNAMED, *(f"{kind}:NAME" for kind in _NAMED), *sorted(name for name in custom_keys.known() if "." not in name)]
    )
    raise Problem(
        "{part!r} is not a key: choose from {known}, the dotted path of a function, or join several with +",
        part=part,
        known=known,
    )


def _extractor_of(key: CustomKey, normaliser: Normaliser) -> tuple[Extractor, Loader | None]:
    if site_functions.is_async(key.function):
        return custom_keys.awaited(key, normaliser)
    return custom_keys.extractor(key, normaliser), request_attributes.load_user if key.needs_user else None


def recipe_of(key: CustomKey, normalise: bool = False) -> Recipe:
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
