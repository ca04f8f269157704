"""Ready rules for what most sites limit, filled in for the routes that this site has."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext

from ratewindow.conf.in_words import one_of
from ratewindow.models import RateRule
from ratewindow.operations.login_routes import NameField, is_login, name_field, names_looked_for
from ratewindow.operations.preset_kinds import KINDS, Kind, Part, Place
from ratewindow.rules import code_rates
from ratewindow.rules.count_when import LOGIN_FAILED
from ratewindow.rules.site_routes import Route, classes_of, listed_by, place_of, routes

_ASSUMED_NAME = NameField("body:username", is_always_sent=False)  # where there is no view to ask
_BASIC = "rest_framework.authentication.BasicAuthentication"


@dataclass(frozen=True)
class Preset:
    """A rule to look at, and to save in shadow."""

    kind: str
    name: str
    rate: str
    fields: Mapping[str, Any]  # of its row; without a pattern where that has yet to be filled in
    part: str = ""  # which one it is of several rules for the same requests
    used_by: str = ""  # the rule that already applies to the same requests

    @property
    def place(self) -> str:
        """The same for all rules of a kind for the same requests, whatever names are taken."""
        return f"{self.kind}:{self.fields['applies_to']}:{self.fields['pattern']}"

    @property
    def slug(self) -> str:
        return f"{self.place}#{self.part}" if self.part else self.place

    @property
    def why(self) -> str:
        return str(self.fields["description"])

    @property
    def is_complete(self) -> bool:
        return bool(self.fields["pattern"]) or self.fields["applies_to"] == "all"


@dataclass(frozen=True)
class Group:
    """The presets of one kind: `found` for this site's routes, or some to be filled in. Notes say what could not be found."""

    kind: Kind
    found: tuple[Preset, ...]
    to_fill_in: tuple[Preset, ...] = ()
    notes: tuple[str, ...] = ()


def groups() -> list[Group]:
    """The ready rules for this site, each under a name that neither a rule nor code has."""
    rows = list(RateRule.objects.all())
    taken = {row.name for row in rows} | code_rates.names() | set(code_rates.uses())
    return [_group(kind, routes(), taken, _used(kind, rows)) for kind in KINDS]


def preset(slug: str) -> Preset | None:
    """The ready rule of that slug; None if there is none."""
    return next((each for each in _offered() if each.slug == slug), None)


def at(place: str) -> list[Preset]:
    """All ready rules for the same requests."""
    return [each for each in _offered() if each.place == place]


def _offered() -> Iterator[Preset]:
    return (each for group in groups() for each in (*group.found, *group.to_fill_in))


def save(ready: Preset) -> tuple[RateRule, bool]:
    """Save a ready rule in shadow; returns the rule, and whether it is new."""
    if ready.used_by:
        return RateRule.objects.get(name=ready.used_by), False
    return RateRule.objects.define(ready.name, ready.rate, **ready.fields)


def login_keys() -> list[str]:
    """The keys for each login name tried, by which this site's logins would be counted."""
    fields = filter(None, (name_field(route) for route in routes() if is_login(route)))
    return list(dict.fromkeys(f"ip+{each.key}" for each in fields))


def _used(kind: Kind, rows: Sequence[RateRule]) -> dict[tuple[str, str, str], str]:
    """The rules by what they apply to, and of a kind with parts by their key. One that counts only failed logins does nothing
    against codes tried on the same page."""
    return {
        (row.applies_to, row.pattern, row.key if kind.parts else ""): row.name
        for row in rows
        if row.count_when != LOGIN_FAILED or row.count_when == kind.fields.get("count_when")
    }


def _group(kind: Kind, known: Sequence[Route], taken: set[str], used: Mapping[tuple[str, str, str], str]) -> Group:
    places: dict[tuple[str, str], Place] = {}
    for place in kind.find(known):
        places.setdefault((place.applies_to, place.pattern), place)
    found = []
    for ready in (each for place in places.values() for each in _presets(kind, place)):
        user = used.get((ready.fields["applies_to"], ready.fields["pattern"], ready.fields["key"] if kind.parts else ""), "")
        found.append(replace(ready, used_by=user) if user else _with_free_name(ready, taken))
    notes = (*(_note(place) for place in places.values() if place.name is None), *_notes_on_headers(known)) if kind.parts else ()
    if found:
        return Group(kind, tuple(found), notes=notes)
    blanks = _presets(kind, Place(kind.to_fill_in, "", _ASSUMED_NAME))
    return Group(kind, (), tuple(_with_free_name(each, taken) for each in blanks), notes)


def _notes_on_headers(known: Sequence[Route]) -> list[str]:
    """Said where REST framework takes a name and a password with each request to a view, as it does by default."""
    views = (view for route in known for view in classes_of(route.way.callback))
    taken = {way for _, shown, given in views for way in listed_by(shown, given, "authentication_classes")}
    if not any(place_of(base) == _BASIC for way in taken for base in way.__mro__):
        return []
    return [
        gettext(
            "REST framework takes a user name and a password with any request to some views (BasicAuthentication), and rules for "
            "pages to log in do not see that. Take it out of authentication_classes, or limit failed logins of each address by a "
            "rule for all requests that does not charge first."
        )
    ]


def _note(place: Place) -> str:
    text = gettext(
        "{place}: no field with the login name was found. Its view has no form and no serializer with a field named {names}. "
        "So only addresses are counted. If you know the field, add two more rules: per body:FIELD, and per ip+body:FIELD."
    )
    return text.format(place=place.pattern, names=one_of(names_looked_for()))


def _presets(kind: Kind, place: Place) -> list[Preset]:
    fields = {"key": "ip", **kind.fields, "applies_to": place.applies_to, "pattern": place.pattern}
    if not kind.parts:
        return [Preset(kind.name, kind.name, kind.rate, {**fields, "description": str(kind.why)})]
    return [
        Preset(kind.name, kind.name, part.rate, {**fields, **_clients(part, place.name), "description": str(part.why)}, part.name)
        for part in kind.parts
        if place.name or part.key == "ip"
    ]


def _clients(part: Part, name: NameField | None) -> dict[str, Any]:
    """What a part counts together. Where each login sends a name, one that hides it in a body too long to be read is refused."""
    if name is None or part.key == "ip":
        return {"key": part.key}
    on_missing = "refuse" if name.is_always_sent else "ip"
    return {"key": part.key.format(name=name.key), "normalise": True, "on_missing": on_missing}


def _with_free_name(ready: Preset, taken: set[str]) -> Preset:
    named = replace(ready, name=_free(ready, taken))
    taken.add(named.name)
    return named


def _free(ready: Preset, taken: set[str]) -> str:
    """A name that is not taken: ``login``, ``login.admin`` for the second one, ``login.admin-login``, ``login.admin-login-2``;
    of a part with its name at the end."""
    pattern = ready.fields["pattern"].lower()
    places = [re.sub(r"[^a-z0-9]+", "-", part).strip("-") for part in (pattern.partition(":")[0], pattern)]
    longer = [f"{ready.kind}.{place}"[:52] if place else ready.kind for place in places]
    names = [ready.kind, *longer, *(f"{longer[-1]}-{number}" for number in range(2, len(taken) + 3))]
    end = f".{ready.part}" if ready.part else ""
    return next(name + end for name in names if name + end not in taken)
