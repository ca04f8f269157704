"""The parts of an identity as text: ``kind:value`` or ``kind:name:value``, made, normalised and taken apart."""

import re
import unicodedata
from collections.abc import Callable, Iterable

from django.http import HttpRequest

from ratewindow.limiter.problem import Problem

Extractor = Callable[[HttpRequest], str | None]
Normaliser = Callable[[str], str]
MOST_NORMALISED = 1024  # characters; NFKC of a longer text takes long, and no name or address is as long
TEXTS = {  # kinds with a name, post:username:ann, each with a name for example
    "header": "x-api-key",
    "cookie": "basket",
    "query": "token",
    "post": "username",
    "json": "user.email",
    "body": "username",
    "jwt": "tenant",
}
ALIASES = {"get": "query"}
MOST_PARTS = 6  # of a key: a row may have each part in clear or hashed, so each doubles the texts to look for
MOST_WITH_SCOPE = MOST_PARTS + 1  # of an identity
_LENGTH = re.compile(r"(\d{1,7}):")


def as_sent(text: str) -> str:
    return text


def normalised(text: str) -> str:
    """The text with blanks stripped and collapsed, case folded, in NFKC: ``" Ann@Example.com"`` is ``"ann@example.com"``.

    A text longer than `MOST_NORMALISED` characters keeps its Unicode form.
    """
    text = " ".join(text.split()).casefold()
    if text.isascii() or len(text) > MOST_NORMALISED:
        return text
    # Twice: NFKC may produce capitals, and folding these may leave the text in another form.
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(text.split())


def typed(prefix: str, sent: str | None, normaliser: Normaliser) -> str | None:
    """A typed value such as ``post:username:ann``; None if the client sent nothing but blanks."""
    if not sent or sent.isspace():
        return None
    return prefix + (sent if normaliser is as_sent else normaliser(sent))


def beginning(kind: str, name: str) -> str:
    """The prefix ``post:username:``. The name of a claim may contain a colon, which is escaped."""
    return f"{kind}:{name.replace('%', '%25').replace(':', '%3A')}:"


def check_number(parts: int, most: int) -> None:
    """Raise ValueError if a key, or an identity, is joined of more parts than `most`."""
    if parts > most:
        raise Problem("{parts} parts are joined with +: write at most {most}", parts=parts, most=most)


def split(identity: str) -> tuple[str, ...]:
    """The typed values of an identity: the inverse of `joined`, whose texts begin with a digit, as no kind does."""
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
    """A typed value as kind, name of the field (empty if the kind has none) and value."""
    kind, _, value = part.partition(":")
    if kind not in TEXTS:
        return kind, "", value
    name, _, value = value.partition(":")
    return kind, name.replace("%3A", ":").replace("%25", "%"), value


def scope_first(values: Iterable[str]) -> list[str]:
    """Typed values with the scope first, as in the identities of requests."""
    return sorted(values, key=lambda value: not str(value).startswith("scope:"))
