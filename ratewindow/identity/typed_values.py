"""Identities as text: a part is its kind and its value, several parts are joined so that they cannot be confused."""

import re
from collections.abc import Iterable

from ratewindow.identity.normalise import Normaliser, as_sent

TEXTS = ("header", "cookie", "query", "post", "json", "body", "jwt")  # kinds with a name: post:username:ann
ALIASES = {"get": "query"}
_LENGTH = re.compile(r"(\d{1,7}):")


def typed(prefix: str, sent: str | None, normaliser: Normaliser) -> str | None:
    """A part such as ``post:username:ann`` of its beginning and what the client sent; None for nothing but blanks."""
    if not sent or sent.isspace():
        return None
    return prefix + (sent if normaliser is as_sent else normaliser(sent))


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


def scope_first(values: Iterable[str]) -> list[str]:
    """Typed values in the order in which requests have them: the scope comes first."""
    return sorted(values, key=lambda value: not str(value).startswith("scope:"))
