"""One client, as somebody has typed it, in whatever form it is stored."""

import secrets
from contextlib import suppress

from ratewindow.identity import forms, is_hashed, parse_identity, split
from ratewindow.identity.privacy import MOST_KEPT, NEVER_SECRET, is_secret
from ratewindow.identity.recipe import EXACT
from ratewindow.identity.typed_values import Normaliser, as_sent, kind_and_name, normalised
from ratewindow.limiter.keys import joined
from ratewindow.limiter.problem import Problem
from ratewindow.overrides.subjects import as_subject, parse_subject


class TypedClient:
    """``ip:203.0.113.9``, ``user:42``, a login name that stands for the user, or several values that are joined by +.

    ValueError if it is not one client, or only a hash: then what was counted for it cannot be found. This is a `rooms.Client`.
    """

    def __init__(self, typed: str) -> None:
        subject = parse_subject(as_subject(typed))
        if subject.hashed or not (subject.key or subject.counts_as_one):
            raise Problem("{text!r} is not one client: write for example ip:203.0.113.9 or user:42, in full", text=typed)
        # An identity that is joined of more values names the client, too, and one that lacks a value does not.
        self._values = split(subject.text) if subject.key else (parse_identity(subject.text),)
        self._spelled = [*map(_spelled, self._values)]
        self._forms = [{*forms(value), *forms(spelled)} for value, spelled in zip(self._values, self._spelled, strict=True)]
        self._stand_ins: dict[str, str] = {}

    @property
    def texts(self) -> list[str]:
        first = self._values[0]
        return [*forms(first)] if _is_exact(first) else [first.removesuffix(kind_and_name(first)[2])]

    def identities(self, normaliser: Normaliser = as_sent) -> set[str]:
        """Those that requests of the client have: as it was typed here, and normalised."""
        return {parse_identity(self._values, normaliser), parse_identity(tuple(self._spelled), normaliser)}

    def is_in(self, identity: str) -> bool:
        parts = split(identity)
        known = zip(self._forms, self._spelled, strict=True)
        return all(any(part in form or _spelled(part) == spelled for part in parts) for form, spelled in known)

    def stand_in(self, identity: str) -> str:
        """The same for all rows of one erasure; also for what is joined with the client, but for a scope or a route."""
        parts = [*map(self._instead, split(identity))]
        return joined(parts)[:MOST_KEPT] if len(parts) > 1 else parts[0]

    def _instead(self, part: str) -> str:
        kind, _, value = kind_and_name(part)
        if kind in NEVER_SECRET and not any(part in form for form in self._forms):
            return part
        return part.removesuffix(value) + self._stand_ins.setdefault(part, f"#{secrets.token_urlsafe(12)}")


def _spelled(part: str) -> str:
    """One text for a typed value however it is spelled, and for an address within what counts as one client."""
    if part.startswith("ip:") and not is_hashed(part):
        with suppress(ValueError):
            return parse_identity(part) if parse_subject(part).one_client else part
    value = kind_and_name(part)[2]
    return part if _is_exact(part) else part.removesuffix(value) + normalised(value)


def _is_exact(part: str) -> bool:
    """Whether another spelling is another client: of a key or a token, of a path, and of a hash."""
    kind, name, _ = kind_and_name(part)
    return kind in ("ip", "global", *EXACT) or is_hashed(part) or is_secret(kind, name)
