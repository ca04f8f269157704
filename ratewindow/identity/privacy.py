"""How identities are stored and shown: as they are, or as a keyed hash with a hint.

``header:x-api-key:#WyJk0dGx4mP3q8aB.7f2c`` is the hash of an API key that ends in 7f2c. The key cannot be recovered from
it; with the key and the pepper, by default the SECRET_KEY, the same hash is computed again, so stored rows can be found.

`shown` is for logs and pages, `kept` for the row of what a request sent, `stored` for what a person has typed. Whoever looks for
a client in rows asks for all its `forms`.
"""

import re
from functools import lru_cache

from ratewindow import conf
from ratewindow.identity.address import masked_address
from ratewindow.identity.typed_values import kind_and_name, split
from ratewindow.limiter.keys import digest, joined

ALWAYS_SECRET = frozenset(("session", "cookie", "jwt"))
NEVER_SECRET = frozenset(("global", "group", "method", "route", "scope"))  # they identify no client
MOST_KEPT = 255  # characters of an identity in a row
MOST_SHOWN = 200  # characters of a value; a longer one is shown hashed
LEAST_FOR_HINT = 12  # characters of a value; the last four of a shorter one would reveal too much
_HASHED = re.compile(r"#[A-Za-z0-9_-]{16}(\.[!-~]{4})?\Z")


def shown(identity: str) -> str:
    """An identity as it may be stored in rows, logged and shown on pages, according to the setting ``ANONYMIZE``.

    The result is printable and of bounded length, whatever the client sent. Parts are joined by `` + ``.
    """
    return " + ".join(split(kept(identity)))


class Kept(str):
    """An identity in the form of rows already."""

    __slots__ = ()


def kept(identity: str) -> Kept:
    """An identity of a request as rows keep it: as `shown`, but joined as identities are, so that a block can name it."""
    if isinstance(identity, Kept):
        return identity
    parts = [_shown(part) for part in split(identity)]
    text = joined(parts) if len(parts) > 1 else parts[0]
    if len(text) > MOST_KEPT:
        text = joined([hashed(part) for part in split(identity)])[:MOST_KEPT]
    return Kept(text)


def stored(part: str) -> str:
    """A typed value that a person has written, as it may be stored: like `shown`, but a hash stays as it is, and so does a
    range of addresses, since the hash of a range matches no client's hash.
    """
    kind, _, value = part.partition(":")
    is_range = kind == "ip" and "/" in value and masked_address(value) != value
    return part if is_hashed(part) or is_range else _shown(part)


def forms(part: str) -> tuple[str, ...]:
    """All forms in which a typed value of a request may be stored, whatever ``ANONYMIZE`` was then: as it is, and hashed by each
    pepper.

    A client that sends a text in the form of a hash is not matched with the client of that hash.
    """
    secrets = [hashed(part, pepper) for pepper in conf.peppers()]
    return (*secrets,) if is_hashed(part) else (part, *secrets)


def hashed(part: str, pepper: str = "") -> str:
    """A typed value as ``kind:name:#hash.hint``, by the newest pepper unless another is given. An address has no hint, whose
    network and last number would name it."""
    kind, _, value = kind_and_name(part)
    hint = "" if kind == "ip" else _hint(value)
    return f"{part[: len(part) - len(value)]}#{digest(part, 12, _secret(pepper or conf.peppers()[0]))}{hint}"


def anonymous(part: str) -> str:
    """The hash of a typed value, for people who may not see the value itself."""
    return part if is_hashed(part) else hashed(part)


def kind_and_hint(part: str) -> str:
    """A typed value as ``kind:name:…``, with the hint of its hash: nothing that could be compared with the hash of a guess."""
    value = kind_and_name(hidden := anonymous(part))[2]
    return f"{hidden.removesuffix(value)}…{value.partition('.')[2]}"


def is_hashed(part: str) -> bool:
    """Whether a typed value has the form that `hashed` returns."""
    return _HASHED.match(kind_and_name(part)[2]) is not None


def is_secret(kind: str, name: str) -> bool:
    """Whether a reader could misuse such an identity: sessions, cookies, tokens, and fields named like passwords."""
    return kind in ALWAYS_SECRET or _looks_secret(f"HTTP_{name.replace('-', '_')}" if kind == "header" else name or kind)


def _shown(part: str) -> str:
    kind, name, value = kind_and_name(part)
    mode = conf.current().anonymize
    if kind not in NEVER_SECRET and (mode == "all" or (mode == "secrets" and is_secret(kind, name))):
        return hashed(part)
    # Direction marks and line breaks would mislead a reader; NUL and lone surrogates break the database.
    return part if len(value) <= MOST_SHOWN and part.isprintable() and not is_hashed(part) else hashed(part)


@lru_cache(maxsize=1024)
def _looks_secret(name: str) -> bool:
    from django.views.debug import SafeExceptionReporterFilter, get_default_exception_reporter_filter

    hidden = getattr(get_default_exception_reporter_filter(), "hidden_settings", SafeExceptionReporterFilter.hidden_settings)
    return hidden.search(name) is not None


def _hint(value: str) -> str:
    """The last four characters of a long value, if they are printable ASCII without blanks."""
    last = value[-4:]
    return f".{last}" if len(value) >= LEAST_FOR_HINT and last.isascii() and last.isprintable() and " " not in last else ""


@lru_cache(maxsize=32)
def _secret(pepper: str) -> bytes:
    return digest(f"ratewindow shown {pepper}", 30).encode()
