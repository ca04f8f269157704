"""Whether a text names a client: an identity in any form in which it may be stored, or a sentence that mentions it."""

import secrets
from collections.abc import Iterable
from itertools import product
from math import prod

from ratewindow.identity import forms, is_hashed, parse_identity, split
from ratewindow.identity.normalise import Normaliser, as_sent, normalised
from ratewindow.identity.privacy import MOST_KEPT, NEVER_SECRET
from ratewindow.identity.typed_values import kind_and_name
from ratewindow.limiter.keys import joined
from ratewindow.operations.subject.mentions import Mentions
from ratewindow.operations.subject.spellings import TYPED_IN, in_fields, is_exact, spelled, variants
from ratewindow.overrides import users
from ratewindow.overrides.as_typed import as_subject
from ratewindow.overrides.subjects import parse_subject
from ratewindow.reporting.who import AGENT, CLIENT

PREFIXES = {CLIENT: "", AGENT: "header:user-agent:"}  # of what the report names, by kind: with it, an identity

MOST_TRIED = 3000  # spellings of values that are joined: of three values all


class Named:
    """A client as somebody has typed it: ``ip:203.0.113.9``, ``user:42``, a login name, or several parts that are joined by +.

    A login name or an e-mail address stands for the user, and for what was typed into fields of forms. ValueError if it is not
    one client, or only a hash: then what was counted for it cannot be found.
    """

    def __init__(self, typed: str) -> None:
        found = as_subject(typed)
        subject = parse_subject(found)
        if subject.hashed or not (subject.key or subject.counts_as_one):
            raise ValueError(f"{typed!r} is not one client: write for example ip:203.0.113.9 or user:42, in full")
        values = split(subject.text) if subject.key else (parse_identity(subject.text),)
        by_name = subject.key == "user" and found != typed.strip()
        self._names = frozenset(map(normalised, users.names(subject.text.removeprefix("user:")))) if by_name else frozenset[str]()
        # By value: an identity that is joined of more names the client, too, and one that lacks a value does not.
        self._values, self._first = values, values[0]
        self._spelled = [spelled(value) for value in values]
        self._variants = [{*variants(value)} for value in values]
        if by_name:
            self._variants[0] |= {each for value in in_fields(self._names) for each in variants(value)}
        self._joined = set[str]()
        self._said = self._spoken(typed, values)
        self._prepare()

    def learn(self, stored: Iterable[str]) -> None:
        """Remember how the client is spelled where it is stored in clear: of that the hashes, and the counts, are known, too."""
        for identity in stored:
            parts = split(identity)
            for number, known in enumerate(self._variants):
                known |= {part for part in parts if not is_hashed(part) and self._is(number, part)}
            if len(parts) > 1 and not any(map(is_hashed, parts)):
                self._joined.add(identity)
        self._prepare()

    def _prepare(self) -> None:
        self._forms = [frozenset(form for each in every for form in (each, *forms(each))) for every in self._variants]
        is_address = len(self._spelled) == 1 and self._first.startswith("ip:")  # then each of its addresses is looked for
        texts = filter(is_hashed, self._forms[0]) if is_address else (*self._forms[0], *self._said)
        self._mentions = Mentions(texts, self._spelled[0] if is_address else "")

    def _spoken(self, typed: str, values: tuple[str, ...]) -> list[str]:
        """How people write it in a sentence: an e-mail address, too. A number or a name alone may be anything."""
        texts = [*values, typed, *self._names] if len(values) == 1 else []
        in_fields = [value for *_, value in map(kind_and_name, values) if "@" in value]
        return [*in_fields, *(text for text in texts if ":" in text or "@" in text)]

    @property
    def texts(self) -> list[str]:
        """Texts of which each identity that names the client has one, to narrow a search."""
        if not is_exact(self._first):
            return [self._first.removesuffix(kind_and_name(self._first)[2])]
        return [self._first, *forms(self._first), *(f"{kind}:" for kind in TYPED_IN if self._names)]

    def identities(self, normaliser: Normaliser = as_sent) -> set[str]:
        """Those that requests of the client may have: its values alone, and what has been learnt of them joined with more."""
        tried = product(*self._variants) if prod(map(len, self._variants)) <= MOST_TRIED else [self._values]
        return {parse_identity(values, normaliser) for values in tried} | self._joined

    def is_in(self, identity: str) -> bool:
        """Whether an identity, joined or not, names the client."""
        parts = split(identity)
        return all(any(self._is(number, part) for part in parts) for number in range(len(self._forms)))

    def has(self, part: str) -> bool:
        """Whether a typed value is one of the client's."""
        return any(self._is(number, part) for number in range(len(self._forms)))

    def _is(self, number: int, part: str) -> bool:
        if part in self._forms[number] or spelled(part) == self._spelled[number]:
            return True
        kind, _, value = kind_and_name(part)
        return kind in TYPED_IN and bool(self._names) and normalised(value) in self._names

    def is_mentioned(self, text: str) -> bool:
        return self._mentions.are_in(text)

    def without(self, text: str) -> str:
        """A sentence in which the client is not mentioned any more."""
        return self._mentions.erased_from(text)

    def stand_in(self) -> "StandIn":
        return StandIn(self)


class StandIn:
    """A hash of nothing in the place of each spelling of the client, and of whatever is joined with it, so that sums stay what
    they are: the same for all rows of one erasure."""

    def __init__(self, named: Named) -> None:
        self._named, self._hashes = named, dict[str, str]()

    def of(self, identity: str) -> str:
        """The identity with its values replaced if it names the client, or as it is."""
        if not self._named.is_in(identity):
            return identity
        parts = [*map(self._instead, split(identity))]
        return joined(parts)[:MOST_KEPT] if len(parts) > 1 else parts[0]

    def _instead(self, part: str) -> str:
        kind, _, value = kind_and_name(part)
        if kind in NEVER_SECRET and not self._named.has(part):  # such as a scope, which many clients share
            return part
        return part.removesuffix(value) + self._hashes.setdefault(part, f"#{secrets.token_urlsafe(12)}")
