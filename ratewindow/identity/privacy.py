"""What may be stored or shown of an identity: as it is, or only a keyed hash of it with a hint.

``header:x-api-key:#WyJk0dGx4mP3q8aB.7f2c`` stands for one key that ends in 7f2c. Nobody finds the key from it, and
who has both the key and the SECRET_KEY makes the same text of it, so that what is stored can be found again.
"""

import re
from functools import lru_cache

from django.conf import settings as django_settings

from ratewindow import conf
from ratewindow.identity.address import is_one_client
from ratewindow.identity.typed_values import kind_and_name, split
from ratewindow.limiter.keys import digest

ALWAYS_SECRET = frozenset(("session", "cookie", "jwt"))
NOBODY = frozenset(("global", "group", "method", "route", "scope"))  # they name no client
MOST_SHOWN = 200  # characters of a value; what is longer is shown hashed
LEAST_FOR_HINT = 12  # characters of a value; of a shorter one the last four would tell too much
_HASHED = re.compile(r"#[A-Za-z0-9_-]{16}(\.[!-~]{4})?\Z")


def shown(identity: str) -> str:
    """The identity of a request as it may be stored in rows, written to logs and shown on pages: ``ANONYMIZE`` decides.

    It is printable and of bounded length, whatever the client sent. Parts are joined by `` + ``.
    """
    return " + ".join([_shown(part) for part in split(identity)])


def stored(part: str) -> str:
    """A typed value that a person has written, as it may be stored: like `shown`, but what is hashed already stays so,
    and so does a range of addresses, of several clients or a part of one, which no hash could be compared with.
    """
    return part if is_hashed(part) or _is_range(part) else _shown(part)


def forms(part: str) -> tuple[str, str]:
    """How a typed value of a request may have been stored: as it is and hashed, whatever ``ANONYMIZE`` said at that time.

    A client that sends what looks hashed is not taken for the one whose hash that is.
    """
    secret = hashed(part)
    return (secret if is_hashed(part) else part, secret)


def hashed(part: str) -> str:
    """A typed value as ``kind:name:#hash.hint``; of a network there is no hint, since ``:/64`` would tell nothing."""
    kind, _, value = kind_and_name(part)
    hint = "" if kind == "ip" and "/" in value else _hint(value)
    return f"{part[: len(part) - len(value)]}#{digest(part, 12, _secret(django_settings.SECRET_KEY))}{hint}"


def is_hashed(part: str) -> bool:
    """Whether this is written as `hashed` writes it."""
    return _HASHED.match(kind_and_name(part)[2]) is not None


def is_secret(kind: str, name: str) -> bool:
    """Whether who reads such an identity could use it: sessions, cookies, tokens, and fields named like passwords."""
    return kind in ALWAYS_SECRET or _looks_secret(f"HTTP_{name.replace('-', '_')}" if kind == "header" else name or kind)


def _shown(part: str) -> str:
    kind, name, value = kind_and_name(part)
    mode = conf.current().anonymize
    if kind not in NOBODY and (mode == "all" or (mode == "secrets" and is_secret(kind, name))):
        return hashed(part)
    # Marks of direction, line breaks, NUL and lone surrogates would lie to the reader or break the database.
    return part if len(value) <= MOST_SHOWN and part.isprintable() and not is_hashed(part) else hashed(part)


def _is_range(part: str) -> bool:
    kind, _, value = part.partition(":")
    return kind == "ip" and not is_one_client(value)


@lru_cache(maxsize=1024)
def _looks_secret(name: str) -> bool:
    from django.views.debug import SafeExceptionReporterFilter, get_default_exception_reporter_filter

    hidden = getattr(get_default_exception_reporter_filter(), "hidden_settings", SafeExceptionReporterFilter.hidden_settings)
    return hidden.search(name) is not None


def _hint(value: str) -> str:
    """The last four characters, where that tells little; nothing that a page or a log would stumble over."""
    last = value[-4:]
    return f".{last}" if len(value) >= LEAST_FOR_HINT and last.isascii() and last.isprintable() and " " not in last else ""


@lru_cache(maxsize=1)
def _secret(secret_key: str) -> bytes:
    return digest(f"ratewindow shown {secret_key}", 30).encode()
