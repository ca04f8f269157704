"""The search of the list of blocks and exemptions: an identity, an address or a rule by an index, else words anywhere."""

import re
from contextlib import suppress

from django.db import connections
from django.db.models import CharField, Q, Value
from django.utils.text import smart_split, unescape_string_literal

from ratewindow.models.override_manager import OverrideQuerySet
from ratewindow.overrides.networks import parse_network
from ratewindow.overrides.subjects import parse_subject, stored_forms

_LAST = "\U0010ffff"
_ADDRESS = re.compile(r"(ip:)?((?=.*[.:])[0-9a-f.:]+(/\d*)?)", re.IGNORECASE)
_TYPED = re.compile(r"[a-z_]+:.+")


def search(overrides: OverrideQuerySet, term: str, identities: bool) -> OverrideQuerySet:
    """Those that `term` finds, in identities, too, if those may be seen.

    One word that is an address finds the addresses that begin so, and the networks that contain it; an identity finds
    those that begin so, or its hash; the name of a rule finds those for it. Whatever finds nothing that way is looked for in
    rule, reason and identity, row by row.
    """
    words = [_unquoted(word) for word in smart_split(term)]
    if len(words) == 1 and (found := overrides.filter(_by_index(overrides.db, words[0], identities))).exists():
        return found
    for word in words:
        anywhere = Q(rule__icontains=word) | Q(reason__icontains=word)
        overrides = overrides.filter(anywhere | Q(identity__icontains=word) if identities else anywhere)
    return overrides


def _unquoted(word: str) -> str:
    return unescape_string_literal(word) if word[0] in "\"'" and word[0] == word[-1] and len(word) > 1 else word


def _by_index(database: str, word: str, identities: bool) -> Q:
    found = Q(rule=word)
    if not identities:
        return found
    address = _ADDRESS.fullmatch(word)
    text = f"ip:{address[2].lower()}" if address else word
    if _TYPED.fullmatch(text):
        found |= _begins_with(database, text)
        with suppress(ValueError):
            found |= Q(identity__in=[Value(each, CharField()) for each in sorted(_names(text))])
    return found


def _begins_with(database: str, text: str) -> Q:
    """By the index of identities, which PostgreSQL has for patterns, and other databases for ranges."""
    if connections[database].vendor == "postgresql":
        return Q(identity__startswith=text)
    return Q(identity__gte=Value(text, CharField())) & Q(identity__lt=Value(text + _LAST, CharField()))


def _names(text: str) -> set[str]:
    """Every text that a row may have for exactly this identity, or for a network that contains it."""
    names = stored_forms(parse_subject(text))
    if text.startswith("ip:"):
        network = parse_network(text.removeprefix("ip:"))
        names |= {parse_subject(f"ip:{network.shortened(length)}").text for length in range(network.length + 1)}
    return names
