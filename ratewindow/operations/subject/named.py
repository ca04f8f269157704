"""Whether a text names a client: an identity in any form in which it may be stored, or a sentence that mentions it."""

import re
import secrets

from ratewindow.identity import forms, parse_identity, split
from ratewindow.identity.typed_values import kind_and_name
from ratewindow.limiter.keys import joined
from ratewindow.overrides.as_typed import as_subject
from ratewindow.overrides.subjects import parse_subject

ERASED = "[erased]"


class Named:
    """A client as somebody has typed it: ``ip:203.0.113.9``, ``user:42``, a login name, or several parts that are joined by +.

    ValueError if it is not one client, or only a hash: then what was counted for it cannot be found.
    """

    def __init__(self, typed: str) -> None:
        subject = parse_subject(as_subject(typed))
        if subject.hashed or not (subject.key or subject.counts_as_one):
            raise ValueError(f"{typed!r} is not one client: write for example ip:203.0.113.9 or user:42, in full")
        self.values = split(subject.text) if subject.key else (parse_identity(subject.text),)
        # By value: an identity that is joined of more names the client, too, and one that lacks a value does not.
        self._forms = [frozenset({value, *forms(value)}) for value in self.values]
        if not subject.key:
            self._forms[0] |= {subject.text}
        self._mentions = re.compile("|".join(_mention(text) for text in sorted({*self._forms[0], *self._spoken(typed)})))

    def _spoken(self, typed: str) -> list[str]:
        """How people write it in a sentence: an address without its kind. A number alone may be anything."""
        texts = [*self.values, typed.strip()] if len(self.values) == 1 else []
        return [text.partition("ip:")[2] or text for text in texts if text.startswith("ip:") or ":" in text]

    @property
    def texts(self) -> list[str]:
        """Texts of which each identity that names the client has one, to narrow a search."""
        return sorted(self._forms[0])

    @property
    def all_forms(self) -> frozenset[str]:
        """Every text that stands for one of its values."""
        return frozenset().union(*self._forms)

    def is_in(self, identity: str) -> bool:
        """Whether an identity, joined or not, names the client."""
        parts = split(identity)
        return all(not known.isdisjoint(parts) for known in self._forms)

    def is_mentioned(self, text: str) -> bool:
        return self._mentions.search(text) is not None

    def without(self, text: str) -> str:
        """A sentence in which the client is not mentioned any more."""
        return self._mentions.sub(ERASED, text)

    def stand_in(self) -> "StandIn":
        return StandIn(self)


class StandIn:
    """A hash of nothing in the place of the client, so that sums stay what they are: the same for all rows of one erasure."""

    def __init__(self, named: Named) -> None:
        self._named, self._hash = named, f"#{secrets.token_urlsafe(12)}"

    def of(self, identity: str) -> str:
        """The identity with the client's values replaced, or as it is."""
        if not self._named.is_in(identity):
            return identity
        known = self._named.all_forms
        parts = [self._instead(part) if part in known else part for part in split(identity)]
        return joined(parts) if len(parts) > 1 else parts[0]

    def _instead(self, part: str) -> str:
        value = kind_and_name(part)[2]
        return part[: len(part) - len(value)] + self._hash


def _mention(text: str) -> str:
    """A pattern of the text where it stands alone, and is no part of a longer address or name."""
    return rf"(?<![\w:.#-]){re.escape(text)}(?![\w:-]|\.\w)"
