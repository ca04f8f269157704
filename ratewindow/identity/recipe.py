"""Key recipes: ``ip+post:username`` parsed once, and then a function of each request."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache

from django.http import HttpRequest

from ratewindow.identity import custom_keys, request_attributes
from ratewindow.identity.body_fields import either, in_json, post
from ratewindow.identity.jwt_claims import claim
from ratewindow.identity.normalise import Normaliser, as_sent, normalised
from ratewindow.identity.scope import scope
from ratewindow.identity.sent_fields import Extractor, cookie, header, query
from ratewindow.identity.typed_values import ALIASES
from ratewindow.limiter.keys import joined

Loader = Callable[[HttpRequest], Awaitable[None]]

_PLAIN: dict[str, Extractor] = {
    "ip": request_attributes.ip,
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
_NAMED: dict[str, tuple[Callable[[str, Normaliser], Extractor], str]] = {  # and an example of a name
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
    """A key, parsed: its parts, and what lies in the database of what they ask for."""

    text: str
    parts: tuple[Extractor, ...]
    loaders: tuple[Loader, ...] = ()
    normaliser: Normaliser = as_sent

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

    async def load(self, request: HttpRequest) -> None:
        """Fetch what `identity` will ask for, without blocking the event loop."""
        for loader in self.loaders:
            await loader(request)


def recipe(key: str, normalise: bool = False) -> Recipe:
    """Parse a key; ValueError names the part that is not known and what may stand there.

    With `normalise`, what clients type counts without regard to case, blanks and the form of letters.
    """
    if not isinstance(key, str):
        raise ValueError(f"{key!r} is no key: write text such as ip, or user+header:x-api-key")
    return _parsed(key, normalise, custom_keys.version())


@lru_cache(maxsize=1024)
def _parsed(key: str, normalise: bool, version: int) -> Recipe:
    normaliser = normalised if normalise else as_sent
    parts, loaders = [], []
    for part in key.split("+"):
        extractor, loader = _extractor(part.strip(), normaliser)
        parts.append(extractor)
        if loader is not None and loader not in loaders:
            loaders.append(loader)
    return Recipe(key, tuple(parts), tuple(loaders), normaliser)


def _extractor(part: str, normaliser: Normaliser) -> tuple[Extractor, Loader | None]:
    if part in _PLAIN:
        return _PLAIN[part], _LOADERS.get(part)
    kind, colon, name = part.partition(":")
    kind = ALIASES.get(kind, kind)
    if colon and kind in _NAMED:
        make, example = _NAMED[kind]
        if not _is_name(kind, name):
            raise ValueError(f"{part!r} names no {kind}: write for example {kind}:{example}")
        return make(name.lower() if kind == "header" else name, normaliser), None
    key = custom_keys.find(part)
    if key is not None:
        return custom_keys.extractor(key, normaliser), request_attributes.load_user if key.needs_user else None
    known = ", ".join(
        [*_PLAIN, *(f"{kind}:NAME" for kind in _NAMED), *sorted(name for name in custom_keys.known() if "." not in name)]
    )
    raise ValueError(f"{part!r} is no key: choose from {known}, the dotted path of a function, or join several with +")


def canonical(key: str) -> str:
    """The same text for all spellings of a key: ``get:q`` is ``query:q``, and names of headers have no case."""
    return "+".join(map(_canonical, key.split("+")))


def _canonical(part: str) -> str:
    kind, colon, name = part.strip().partition(":")
    kind = ALIASES.get(kind, kind) if colon else kind
    return f"{kind}{colon}{name.lower() if kind == 'header' else name}"


def _is_name(kind: str, name: str) -> bool:
    if kind == "header":
        return bool(name) and set(name.lower()) <= _TOKEN
    wrong = ":" if kind != "jwt" else ""  # claims may have addresses as names
    return 0 < len(name) <= MOST_NAME and name.isprintable() and not set(name) & {" ", *wrong}
