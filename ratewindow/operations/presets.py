"""Ready rules for what most sites limit, filled in for the routes that this site has."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from ratewindow.models import RateRule
from ratewindow.operations.known_views import is_about_accounts, is_of_a_package
from ratewindow.operations.login_routes import is_code, is_login, is_reset, is_sign_up, login_key
from ratewindow.rules import code_rates
from ratewindow.rules.count_when import LOGIN_FAILED
from ratewindow.rules.site_routes import Route, routes

MOST_PREFIXES = 3  # of an API that is in several places
_SEARCH = re.compile(r"(^|[-_/:])search([-_/]|$)", re.IGNORECASE)
_EXPORT = re.compile(r"(^|[-_/:])(exports?|csv|xlsx)([-_/]|$)|\.(csv|xlsx)$", re.IGNORECASE)
_API = re.compile(r".*?/api/", re.IGNORECASE)
_API_VIEW = "rest_framework.views.APIView"


@dataclass(frozen=True)
class Preset:
    """A rule to look at, and to save in shadow."""

    kind: str
    name: str
    rate: str
    fields: Mapping[str, Any]  # of its row; without a pattern where that has yet to be filled in
    used_by: str = ""  # the rule that already applies to the same requests

    @property
    def slug(self) -> str:
        """The same for the same requests, whatever names are taken."""
        return f"{self.kind}:{self.fields['applies_to']}:{self.fields['pattern']}"

    @property
    def is_complete(self) -> bool:
        return bool(self.fields["pattern"]) or self.fields["applies_to"] == "all"


@dataclass(frozen=True)
class Kind:
    """What is limited alike, and how its routes are found. `missing` is said where this site has none."""

    name: str
    title: Any  # lazy texts
    why: Any
    rate: str
    find: Callable[[Sequence[Route]], Iterator[tuple[str, str, Mapping[str, Any]]]]
    fields: Mapping[str, Any] = field(default_factory=dict)
    missing: Any = ""
    to_fill_in: str = "path"


@dataclass(frozen=True)
class Group:
    """The presets of one kind: `found` for this site's routes, or one to be filled in."""

    kind: Kind
    found: tuple[Preset, ...]
    to_fill_in: Preset | None = None


def _named(is_one: Callable[[Route], bool], key: Callable[[Route], str] | None = None) -> Any:
    """A finder of routes by their view, name or path, each by itself; those of the admin last."""

    def find(known: Sequence[Route]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        for route in sorted(filter(is_one, known), key=lambda each: "admin" in each.way.namespaces):
            fields = {"key": key(route)} if key else {}
            if route.name:
                yield "route", route.name, fields
            elif route.is_whole:
                yield "path", route.path, fields

    return find


def _is_named_like(pattern: re.Pattern[str]) -> Callable[[Route], bool]:
    """Whether name or path say so, of a view that is the site's own."""

    def is_one(route: Route) -> bool:
        own = "admin" not in route.way.namespaces and not is_of_a_package(route.way.view)
        return own and bool(pattern.search(route.name) or pattern.search(route.path))

    return is_one


def _apis(known: Sequence[Route]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The beginnings of the paths below which the site answers programs."""
    answers = {
        route: _answers_programs(route) for route in known if not is_login(route) and not is_about_accounts(route.way.view)
    }
    mixed = {route.section for route, answering in answers.items() if not answering}
    prefixes = Counter(filter(None, (_prefix(route, mixed) for route, answering in answers.items() if answering)))
    for prefix, __ in prefixes.most_common():
        if not any(prefix != other and prefix.startswith(other) for other in prefixes):
            yield "prefix", prefix, {}


def _answers_programs(route: Route) -> bool:
    view = getattr(route.way.callback, "func", route.way.callback)
    by_ninja = str(getattr(view, "__module__", "")).startswith("ninja.")
    return by_ninja or _API_VIEW in route.places or bool(_API.match(route.path))


def _prefix(route: Route, mixed: set[str]) -> str:
    """The path up to ``/api/``, else its first part if all below that is of the API; empty if neither is literal."""
    found = _API.match(route.path)
    prefix = found[0] if found else "" if route.section in mixed else route.section
    return "" if prefix == "/" or "<" in prefix or not prefix.endswith("/") else prefix


def _everything(known: Sequence[Route]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    yield "all", "", {}


KINDS = (
    Kind(
        "login",
        _("Logins"),
        _("Slows down people who guess passwords. Only failed logins count."),
        "5/m; 20/h",
        _named(is_login, login_key),
        {"methods": "POST", "count_when": LOGIN_FAILED, "hold": True, "normalise": True},
        _("No page to log in was found among this site's URLs."),
    ),
    Kind(
        "password-reset",
        _("Password reset"),
        _("Keeps others from filling a person's mailbox with mail of yours."),
        "5/h; 20/d",
        _named(is_reset),
        {"methods": "POST"},
        _("No page to reset a password was found among this site's URLs."),
    ),
    Kind(
        "sign-up",
        _("Sign-up"),
        _("Slows down programs that register accounts."),
        "10/h; 30/d",
        _named(is_sign_up),
        {"methods": "POST"},
        _("No page to sign up was found among this site's URLs."),
    ),
    Kind(
        "one-time-code",
        _("One-time codes"),
        _("Keeps others from trying every code, and from having you send codes by mail or SMS."),
        "5/m; 20/h",
        _named(is_code),
        {"methods": "POST"},
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
        _named(_is_named_like(_EXPORT)),
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
    proposed = [each for group in groups() for each in (*group.found, group.to_fill_in) if each is not None]
    return next((each for each in proposed if each.slug == slug), None)


def save(ready: Preset) -> tuple[RateRule, bool]:
    """Save a ready rule in shadow; returns the rule, and whether it is new."""
    if ready.used_by:
        return RateRule.objects.get(name=ready.used_by), False
    return RateRule.objects.define(ready.name, ready.rate, **ready.fields)


def login_keys() -> list[str]:
    """The keys for each login name tried, by which this site's logins would be counted."""
    keys = (login_key(route) for route in routes() if is_login(route))
    return list(dict.fromkeys(key for key in keys if key != "ip"))


def _used(kind: Kind, rows: Sequence[RateRule]) -> dict[tuple[str, str], str]:
    """The rules by what they apply to. One that counts only failed logins does nothing against codes tried on the same page."""
    return {
        (row.applies_to, row.pattern): row.name
        for row in rows
        if row.count_when != LOGIN_FAILED or row.count_when == kind.fields.get("count_when")
    }


def _group(kind: Kind, known: Sequence[Route], taken: set[str], used: Mapping[tuple[str, str], str]) -> Group:
    places: dict[tuple[str, str], Mapping[str, Any]] = {}
    for applies_to, pattern, fields in kind.find(known):
        places.setdefault((applies_to, pattern), fields)
    found = []
    for place, fields in list(places.items())[: MOST_PREFIXES if kind.find is _apis else None]:
        ready = _preset(kind, *place, fields)
        if place in used:
            ready = replace(ready, used_by=used[place])
        else:
            ready = replace(ready, name=_free(ready, taken))
            taken.add(ready.name)
        found.append(ready)
    if found:
        return Group(kind, tuple(found))
    blank = _preset(kind, kind.to_fill_in, "", {})
    return Group(kind, (), replace(blank, name=_free(blank, taken)))


def _preset(kind: Kind, applies_to: str, pattern: str, fields: Mapping[str, Any]) -> Preset:
    described = {"description": str(kind.why), "applies_to": applies_to, "pattern": pattern}
    return Preset(kind.name, kind.name, kind.rate, {"key": "ip", **kind.fields, **fields, **described})


def _free(ready: Preset, taken: set[str]) -> str:
    """A name that is not taken: ``login``, ``login.admin`` for the second one, ``login.admin-login``, ``login.admin-login-2``."""
    pattern = ready.fields["pattern"].lower()
    places = [re.sub(r"[^a-z0-9]+", "-", part).strip("-") for part in (pattern.partition(":")[0], pattern)]
    longer = [f"{ready.kind}.{place}"[:60] if place else ready.kind for place in places]
    names = [ready.kind, *longer, *(f"{longer[-1]}-{number}" for number in range(2, len(taken) + 3))]
    return next(name for name in names if name not in taken)
