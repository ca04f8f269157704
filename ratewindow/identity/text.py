"""Identities as text: a part is its kind and its value, several parts are joined so that they cannot be confused."""

import difflib
import re
from collections.abc import Iterable
from functools import lru_cache

from ratewindow.identity.address import masked_address
from ratewindow.identity.normalise import Spelling, as_sent
from ratewindow.limiter.keys import joined

TEXTS = ("header", "cookie", "query", "post", "json", "body", "jwt")  # kinds with a name: post:username:ann
ALIASES = {"get": "query"}
_LENGTH = re.compile(r"(\d{1,7}):")


def typed(prefix: str, sent: str | None, spelling: Spelling) -> str | None:
    """A part such as ``post:username:ann`` of its beginning and what the client sent; None for nothing but blanks."""
    if not sent or sent.isspace():
        return None
    return prefix + (sent if spelling is as_sent else spelling(sent))


def beginning(kind: str, name: str) -> str:
    """``post:username:``. A claim may have a colon in its name, which must not look like the end of it."""
    return f"{kind}:{name.replace('%', '%25').replace(':', '%3A')}:"


def split(identity: str) -> tuple[str, ...]:
    """The typed values of an identity, `joined` undone. A kind never begins with a digit, a joined identity always does."""
    parts, at = [], 0
    while length := _LENGTH.match(identity, at):
        end = length.end() + int(length[1])
        parts.append(identity[length.end() : end])
        if end == len(identity):
            return tuple(parts)
        if identity[end : end + 1] != "+":
            break
        at = end + 1
    return (identity,)


def kind_and_name(part: str) -> tuple[str, str, str]:
    """A typed value as its kind, the name of the field or an empty one, and what the client sent."""
    kind, _, value = part.partition(":")
    if kind not in TEXTS:
        return kind, "", value
    name, _, value = value.partition(":")
    return kind, name.replace("%3A", ":").replace("%25", "%"), value


def named(who: str | tuple[str, ...], spelling: Spelling = as_sent) -> str:
    """An identity that a caller names, as requests have it: ``ip:2001:db8::1`` is its network there, too.

    `spelling` is that of the rule it is named for. ValueError names what is no identity.
    """
    if not who or not isinstance(who, str | tuple | list):
        raise ValueError(f"{who!r} is no identity: write its kind and value, such as {_EXAMPLES}, or give the request")
    values = [_as_requests_have_it(value, spelling) for value in ((who,) if isinstance(who, str) else scope_first(who))]
    return values[0] if len(values) == 1 else joined(values)


def scope_first(values: Iterable[str]) -> list[str]:
    """Typed values in the order in which requests have them: the scope comes first."""
    return sorted(values, key=lambda value: not str(value).startswith("scope:"))


def _as_requests_have_it(value: str, spelling: Spelling) -> str:
    kind, colon, rest = value.partition(":") if isinstance(value, str) else ("", "", "")
    if value == "global":
        return value
    if not (kind and colon and rest):
        raise ValueError(f"{value!r} is no identity: write its kind and value, such as {_EXAMPLES}")
    if kind == "ip":
        return f"ip:{masked_address(rest)}"
    kind = ALIASES.get(kind, kind)
    if kind not in TEXTS:
        if kind not in _EXACT and (meant := _meant(kind)):
            raise ValueError(f"{value!r} is of no kind that is known: did you mean {meant}:{rest}?")
        return value if kind in _EXACT or spelling is as_sent else f"{kind}:{spelling(rest)}"
    name, _, sent = rest.partition(":")
    part = typed(f"{kind}:{name.lower() if kind == 'header' else name}:", sent, spelling)
    if part is None:
        raise ValueError(f"{value!r} is no identity: write kind, name and value, such as {kind}:{name or 'name'}:value")
    return part


@lru_cache(maxsize=1024)
def _meant(kind: str) -> str:
    """The kind that is one letter off; of words of the site's own there is none."""
    from ratewindow.identity import custom

    near = difflib.get_close_matches(kind, ("ip", *_EXACT, *TEXTS), n=1, cutoff=0.8)
    return near[0] if near and custom.find(kind) is None else ""


_EXAMPLES = "user:42 or ip:203.0.113.9"
_EXACT = frozenset(("user", "session", "route", "path", "method", "scope"))  # kinds that are no text a client has typed
