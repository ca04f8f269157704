"""Ready rules for what most sites limit, filled in for the routes that this site has."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from ratewindow.conf.in_words import one_of
from ratewindow.models import RateRule
from ratewindow.operations.known_views import is_about_accounts, is_of_a_package
from ratewindow.operations.login_routes import NameField, is_code, is_login, is_reset, is_sign_up, name_field, names_looked_for
from ratewindow.rules import code_rates
from ratewindow.rules.count_when import LOGIN_FAILED
from ratewindow.rules.site_routes import Route, classes_of, place_of, routes

MOST_PREFIXES = 3  # of an API that is in several places
_SEARCH = re.compile(r"(^|[-_/:])search([-_/]|$)", re.IGNORECASE)
_EXPORT = re.compile(r"(^|[-_/:])(exports|(export|csv|xlsx)([-_][^/]+)?)(/|$)|\.(csv|xlsx)$", re.IGNORECASE)
_BY_PATH = re.compile(r"[-_/](export|csv|xlsx)(/|$)|\.(csv|xlsx)$", re.IGNORECASE)  # whatever stands around it
_PARAMETER = re.compile(r"<[^>]*>/?")
_API = re.compile(r".*?/api/", re.IGNORECASE)
_API_VIEW = "rest_framework.views.APIView"
_BASIC, _WAYS = "rest_framework.authentication.BasicAuthentication", "authentication_classes"


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
class Part:
    """One rule of a kind that takes several for the same requests. Its key has the field of a login's name as ``{name}``."""

    name: str
    key: str
    rate: str
    why: Any  # a lazy text


@dataclass(frozen=True)
class Place:
    """Where a kind is on this site, and in which field a login sends the name that it tries, if that is known."""

    applies_to: str
    pattern: str
    name: NameField | None = None


@dataclass(frozen=True)
class Kind:
    """What is limited alike, and how its routes are found. `missing` is said where this site has none."""

    name: str
    title: Any  # lazy texts
    why: Any
    rate: str  # unless it has parts
    find: Callable[[Sequence[Route]], Iterator[Place]]
    fields: Mapping[str, Any] = field(default_factory=dict)
    missing: Any = ""
    to_fill_in: str = "path"
    parts: Sequence[Part] = ()


@dataclass(frozen=True)
class Group:
    """The presets of one kind: `found` for this site's routes, or some to be filled in. Notes say what could not be found."""

    kind: Kind
    found: tuple[Preset, ...]
    to_fill_in: tuple[Preset, ...] = ()
    notes: tuple[str, ...] = ()


def _named(is_one: Callable[[Route], bool], name_of: Callable[[Route], NameField | None] | None = None) -> Any:
    """A finder of routes by their view, name or path, each by itself; those of the admin last."""

    def find(known: Sequence[Route]) -> Iterator[Place]:
        found = (route for route in known if is_one(route) and route.is_reached)
        for route in sorted(found, key=lambda each: "admin" in each.way.namespaces):
            name = name_of(route) if name_of else None
            if route.name:
                yield Place("route", route.name, name)
            elif route.is_whole:
                yield Place("path", route.path, name)

    return find


def _is_named_like(pattern: re.Pattern[str]) -> Callable[[Route], bool]:
    """Whether name or path say so, of a view that is the site's own."""

    def is_one(route: Route) -> bool:
        own = "admin" not in route.way.namespaces and not is_of_a_package(route.way.view)
        return own and bool(pattern.search(route.name) or pattern.search(_literal(route)))

    return is_one


def _exports(known: Sequence[Route]) -> Iterator[Place]:
    """Routes that are called an export, but no pages about things that are only called after one, such as export templates."""
    paths = {route.path.rstrip("/") for route in known}
    is_called_so = _is_named_like(_EXPORT)

    def is_one(route: Route) -> bool:
        return is_called_so(route) and (bool(_BY_PATH.search(_literal(route))) or not _is_about_things(route, paths))

    return _named(is_one)(known)  # type: ignore[no-any-return]


def _is_about_things(route: Route, paths: Iterable[str]) -> bool:
    """Whether the part of the path that is called so lists things, and one of these has a page below it."""
    found = _EXPORT.search(route.path)
    base = (route.path[: found.end()] if found else route.path.partition("<")[0]).rstrip("/")
    return base in paths and any(path.startswith(f"{base}/<") for path in paths)


def _literal(route: Route) -> str:
    return _PARAMETER.sub("", route.path)


def _apis(known: Sequence[Route]) -> Iterator[Place]:
    """The beginnings of the paths below which the site answers programs."""
    answers = {
        route: _answers_programs(route) for route in known if not is_login(route) and not is_about_accounts(route.way.view)
    }
    mixed = {route.section for route, answering in answers.items() if not answering}
    prefixes = Counter(filter(None, (_prefix(route, mixed) for route, answering in answers.items() if answering)))
    for prefix, __ in prefixes.most_common():
        if not any(prefix != other and prefix.startswith(other) for other in prefixes):
            yield Place("prefix", prefix)


def _answers_programs(route: Route) -> bool:
    view = getattr(route.way.callback, "func", route.way.callback)
    by_ninja = str(getattr(view, "__module__", "")).startswith("ninja.")
    return by_ninja or _API_VIEW in route.places or bool(_API.match(route.path))


def _prefix(route: Route, mixed: set[str]) -> str:
    """The path up to ``/api/``, else its first part if all below that is of the API; empty if neither is literal."""
    found = _API.match(route.path)
    prefix = found[0] if found else "" if route.section in mixed else route.section
    return "" if prefix == "/" or "<" in prefix or not prefix.endswith("/") else prefix


def _everything(known: Sequence[Route]) -> Iterator[Place]:
    yield Place("all", "")


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
_ASSUMED_NAME = NameField("body:username", is_always_sent=False)  # where there is no view to ask

KINDS = (
    Kind(
        "login",
        _("Logins"),
        _(
            "Slow down people who guess passwords. Only failed logins count, and while Redis is away each process counts them. "
            "Use all three: each stops what the others let through."
        ),
        "",
        _named(is_login, name_field),
        {"methods": "POST", "count_when": LOGIN_FAILED, "hold": True, "on_error": "local"},
        _("No page to log in was found among this site's URLs."),
        parts=_LOGINS,
    ),
    Kind(
        "password-reset",
        _("Password reset"),
        _("Keeps others from filling a person's mailbox with mail of yours."),
        "5/h; 20/d",
        _named(is_reset),
        {"methods": "POST", "on_error": "local"},
        _("No page to reset a password was found among this site's URLs."),
    ),
    Kind(
        "sign-up",
        _("Sign-up"),
        _("Slows down programs that register accounts."),
        "10/h; 30/d",
        _named(is_sign_up),
        {"methods": "POST", "on_error": "local"},
        _("No page to sign up was found among this site's URLs."),
    ),
    Kind(
        "one-time-code",
        _("One-time codes"),
        _("Keeps others from trying every code, and from having you send codes by mail or SMS."),
        "5/m; 20/h",
        _named(is_code),
        {"methods": "POST", "on_error": "local"},
        _("No page that takes or sends a code was found among this site's URLs."),
    ),
    Kind(
        "api",
        _("API"),
        _("Keeps one client from taking the share of the others."),
        "100/m; 2000/h",
        _apis,
        {"key": "user_or_ip"},
        _("No API was found among this site's URLs."),
        "prefix",
    ),
    Kind(
        "search",
        pgettext_lazy("pages", "Search"),
        _("A search costs more than most pages, and is what programs that copy sites ask for."),
        "30/m",
        _named(_is_named_like(_SEARCH)),
        {},
        _("No search was found among this site's URLs."),
    ),
    Kind(
        "export",
        _("Exports"),
        _("An export reads and sends more than any page. A few of them are what one person needs."),
        "10/h",
        _exports,
        {"key": "user_or_ip"},
        _("No export was found among this site's URLs."),
    ),
    Kind(
        "everything",
        _("Everything"),
        _("A safety net beside all other rules: no address gets more than a busy office needs. It also meets this admin."),
        "600/m",
        _everything,
    ),
)


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
    chosen = list(places.values())[: MOST_PREFIXES if kind.find is _apis else None]
    found = []
    for ready in (each for place in chosen for each in _presets(kind, place)):
        user = used.get((ready.fields["applies_to"], ready.fields["pattern"], ready.fields["key"] if kind.parts else ""), "")
        found.append(replace(ready, used_by=user) if user else _with_free_name(ready, taken))
    notes = (*(_note(place) for place in chosen if place.name is None), *_notes_on_headers(known)) if kind.parts else ()
    if found:
        return Group(kind, tuple(found), notes=notes)
    blanks = _presets(kind, Place(kind.to_fill_in, "", _ASSUMED_NAME))
    return Group(kind, (), tuple(_with_free_name(each, taken) for each in blanks), notes)


def _notes_on_headers(known: Sequence[Route]) -> list[str]:
    """Said where REST framework takes a name and a password with each request to a view, as it does by default."""
    shown = [pair for route in known for pair in classes_of(route.way.callback)]
    taken = {way for __, view, given in shown for way in given.get(_WAYS, getattr(view, _WAYS, ()))}
    if not any(place_of(base) == _BASIC for way in taken for base in way.__mro__):
        return []
    return [
        gettext(
            "REST framework takes a user name and a password with any request to some views (BasicAuthentication), and rules for "
            "pages to log in do not see that. Take it out of authentication_classes, or limit failed logins of each address by a "
            "rule for all requests."
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
