"""The ways in which one value may have been written: people type their names in capitals, and with blanks."""

from collections.abc import Iterator
from contextlib import suppress

from ratewindow.identity import is_hashed, parse_identity
from ratewindow.identity.normalise import normalised
from ratewindow.identity.privacy import is_secret
from ratewindow.identity.typed_values import beginning, kind_and_name
from ratewindow.identity.who_argument import EXACT
from ratewindow.operations import client_rules
from ratewindow.overrides.subjects import parse_subject
from ratewindow.rulebook import current

TYPED_IN = ("post", "json", "body")  # kinds of fields into which people type their names
_CASES = (str, str.lower, str.upper, str.title)
_BLANKS = ("{}", "{} ", " {}")


def spelled(part: str) -> str:
    """One text for a typed value however it is spelled, and for an address within what counts as one client."""
    if part.startswith("ip:") and not is_hashed(part):
        with suppress(ValueError):
            return parse_identity(part) if parse_subject(part).one_client else part
    value = kind_and_name(part)[2]
    return part if is_exact(part) else part.removesuffix(value) + normalised(value)


def is_exact(part: str) -> bool:
    """Whether another spelling is another client: of a key or a token, of a path, and of a hash."""
    kind, name, _ = kind_and_name(part)
    return kind in ("ip", "global", *EXACT) or is_hashed(part) or is_secret(kind, name)


def variants(part: str) -> Iterator[str]:
    """The spellings that are tried where only a hash is stored, of which nobody can tell what was typed."""
    value = kind_and_name(part)[2]
    yield part
    if not is_exact(part):
        yield from (part.removesuffix(value) + each for each in _ways_to_type(value))


def in_fields(names: frozenset[str]) -> Iterator[str]:
    """The typed values of these names in each field of a form by which a rule counts."""
    book = current.rulebook()
    keys = {rule.key for name in client_rules.names(book) for rule in client_rules.named(book, name)}
    for part in sorted({part.strip() for key in keys for part in key.split("+")}):
        kind, _, field = part.partition(":")
        if kind in TYPED_IN:
            yield from (beginning(kind, field) + name for name in names)


def _ways_to_type(text: str) -> Iterator[str]:
    stripped = text.strip()
    yield normalised(text)
    yield from (blanks.format(case(stripped)) for case in _CASES for blanks in _BLANKS)
