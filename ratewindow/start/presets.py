"""Ready rules for what most sites limit, filled in for the routes that this site has."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count
from typing import Any

from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from ratewindow import rooms
from ratewindow.models import RateRule
from ratewindow.rules import code_rates
from ratewindow.rules.rule import ALWAYS, LOGIN_FAILED
from ratewindow.rules.site_routes import Route, routes
from ratewindow.start.login_routes import NameField, is_for, name_field

_API = re.compile(r".*?/api/", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """One rule of a kind that takes several for the same requests. Its key has the field of a login's name as ``{name}``."""

    name: str
    key: str
    rate: str
    why: Any  # a lazy text
    fields: Mapping[str, Any] = field(default_factory=dict)  # that differ from those of the kind


@dataclass(frozen=True)
class Target:
    """Where a kind is on this site, and in which field a login sends the name that it tries, if that is known."""

    applies_to: str
    pattern: str
    name: NameField | None = None


@dataclass(frozen=True)
class Kind:
    """What is limited alike, and how its routes are found."""

    name: str
    title: Any  # lazy texts
    why: Any
    rate: str  # unless it has parts
    find: Callable[[Sequence[Route]], Iterable[Target]]
    fields: Mapping[str, Any] = field(default_factory=dict)
    parts: Sequence[Part] = ()


def _named(
    kind: str, known: Sequence[Route], name_of: Callable[[Route], NameField | None] = lambda route: None
) -> Iterator[Target]:
    """Routes by their view, name or path, each by itself; those of the admin last."""
    for route in sorted(filter(partial(is_for, kind), known), key=lambda route: "admin" in route.way.namespaces):
        if route.name:
            yield Target("route", route.name, name_of(route))
        elif route.is_whole:
            yield Target("path", route.path, name_of(route))


def _apis(known: Sequence[Route]) -> Iterator[Target]:
    """The paths up to ``/api/``, at most three: an API may be in several places."""
    prefixes = Counter(begin[0] for route in known if (begin := _API.match(route.path)) and "<" not in begin[0])
    yield from (Target("prefix", prefix) for prefix, _ in prefixes.most_common(3))


_LOGINS = (
    Part(
        "",
        "ip+{name}",
        "5/15m",
        _("Stops one address from guessing the password of one name."),
    ),
    Part(
        "address",
        "ip",
        "20/h",
        _("Stops one address from trying many names. People who share an address, such as an office, share this limit."),
    ),
    Part(
        "name",
        "{name}",
        "10/15m",
        _(
            "Stops many addresses from guessing the password of one name. Its price: strangers at two or more addresses can lock "
            "a name out, its owner included, for as long as they go on and about 15 minutes more. One address alone cannot."
        ),
    ),
)
KINDS = (
    Kind(
        "login",
        _("Logins"),
        _(
            "Slow down people who guess passwords. Only failed logins count, and while Redis is unavailable each process counts "
            "them. Use all three: each stops what the others let through. Where the field with the name is not known there is "
            "one: add two of your own, per body:FIELD and per ip+body:FIELD."
        ),
        "",
        partial(_named, "login", name_of=name_field),
        {"methods": "POST", "count_when": LOGIN_FAILED, "hold": True, "on_error": "local"},
        parts=_LOGINS,
    ),
    Kind(
        "password-reset",
        _("Password reset"),
        _("Keeps others from filling a person's mailbox with mail of yours."),
        "5/h; 20/d",
        partial(_named, "password-reset"),
        {"methods": "POST", "on_error": "local"},
    ),
    Kind(
        "sign-up",
        _("Sign-up"),
        _("Slows down programs that register accounts."),
        "10/h; 30/d",
        partial(_named, "sign-up"),
        {"methods": "POST", "on_error": "local"},
    ),
    Kind(
        "one-time-code",
        _("One-time codes"),
        _("Keeps others from trying every code, and from having you send codes by mail or SMS."),
        "5/m; 20/h",
        partial(_named, "one-time-code"),
        {"methods": "POST", "on_error": "local"},
    ),
    Kind(
        "api",
        _("API"),
        _("Keeps one client from taking the share of the others."),
        "100/m; 2000/h",
        _apis,
        {"key": "user_or_ip"},
    ),
    Kind(
        "everything",
        _("Everything"),
        _(
            "A safety net beside all other rules: no address gets more than a busy office needs. It also matches requests "
            "to this admin."
        ),
        "600/m",
        lambda known: [Target("all", "")],
    ),
)

Used = Mapping[tuple[str, str, str], str]  # the rules of the site, by what they apply to and their key


@dataclass(frozen=True)
class Preset:
    """A rule to look at, and to save in shadow."""

    name: str  # until it has a free one, that of its kind
    rate: str
    fields: Mapping[str, Any]  # of its row
    place: str  # the same for all rules of a kind for the same requests
    part: str = ""  # which one of these it is
    used_by: str = ""  # the rule that already applies to the same requests


@dataclass(frozen=True)
class Group:
    """The presets of one kind for this site's routes."""

    kind: Kind
    found: Sequence[Preset]


def kinds() -> Sequence[Kind]:
    """Those of rooms, and those of the core in whose place a room has none."""
    of_rooms = {kind.name: kind for kinds in rooms.plugged("ready_rules") for kind in kinds}
    return [*of_rooms.values(), *(kind for kind in KINDS if kind.name not in of_rooms)]


def groups() -> list[Group]:
    """The ready rules for this site, each under a name that neither a rule nor code has."""
    rows = list(RateRule.objects.all())
    taken = _taken(row.name for row in rows)
    return [group for kind in kinds() if (group := _group(kind, taken, _used(kind, rows))).found]


def free_name(pattern: str) -> str:
    """A name for a rule of this path or route: ``shop-search``, or ``shop-search.2``."""
    place, taken = _place(pattern) or "site", _taken(RateRule.objects.values_list("name", flat=True))
    return next(name for name in chain([place], (f"{place}.{number}" for number in count(2))) if name not in taken)


def _taken(names: Iterable[str]) -> set[str]:
    return {*names} | code_rates.load_names() | set(code_rates.uses())


def _place(pattern: str) -> str:
    return slugify(pattern.replace(":", "-").replace("/", "-"))[:40]  # a name has room for more


def save(ready: Preset) -> RateRule:
    """Save a ready rule in shadow."""
    return RateRule.objects.define(ready.name, ready.rate, **ready.fields)[0]


def login_keys() -> list[str]:
    """The keys for each login name tried, by which this site's logins would be counted."""
    fields = filter(None, (name_field(route) for route in routes() if is_for("login", route)))
    return list(dict.fromkeys(f"ip+{each.key}" for each in fields))


def _used(kind: Kind, rows: Sequence[RateRule]) -> Used:
    """One that counts only failed logins does nothing against codes tried on the same page."""
    counted = [row for row in rows if row.count_when in (ALWAYS, kind.fields.get("count_when", ALWAYS))]
    return {(row.applies_to, row.pattern, row.key): row.name for row in counted}


def _group(kind: Kind, taken: set[str], used: Used) -> Group:
    targets = {(target.applies_to, target.pattern): target for target in reversed([*kind.find(routes())])}
    presets = [preset for target in reversed(targets.values()) for preset in _presets(kind, target)]
    return Group(kind, [_with_free_name(preset, taken, used) for preset in presets])


def _presets(kind: Kind, target: Target) -> Iterator[Preset]:
    fields = {"key": "ip", **kind.fields, "applies_to": target.applies_to, "pattern": target.pattern}
    for part in kind.parts or [Part("", fields["key"], kind.rate, kind.why)]:
        if target.name or "{name}" not in part.key:
            yield Preset(
                name=kind.name,
                rate=part.rate,
                fields={**fields, **_clients(part, target.name), **part.fields, "description": str(part.why)},
                place=f"{kind.name}:{target.applies_to}:{target.pattern}",
                part=part.name,
            )


def _clients(part: Part, name: NameField | None) -> dict[str, Any]:
    """What a part counts together. Where each login sends a name, one that hides it in a body too long to be read is refused."""
    if name is None or "{name}" not in part.key:
        return {"key": part.key}
    on_missing = "refuse" if name.is_always_sent else "ip"
    return {"key": part.key.format(name=name.key), "normalise": True, "on_missing": on_missing}


def _with_free_name(ready: Preset, taken: set[str], used: Used) -> Preset:
    if user := used.get((ready.fields["applies_to"], ready.fields["pattern"], ready.fields["key"])):
        return replace(ready, name=user, used_by=user)
    name = next(name for name in _names(ready) if name not in taken)
    taken.add(name)
    return replace(ready, name=name)


def _names(ready: Preset) -> Iterator[str]:
    """``login``, ``login.shop-login``, ``login.2`` and so on; of a part with its name at the end."""
    end = f".{ready.part}" if ready.part else ""
    others = filter(None, [_place(ready.fields["pattern"])])
    return (name + end for name in chain([ready.name], (f"{ready.name}.{other}" for other in chain(others, count(2)))))
