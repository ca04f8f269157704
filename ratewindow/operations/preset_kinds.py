"""What most sites limit, each kind with its rules and with a function that finds where a site has it."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from ratewindow.operations.known_views import is_about_accounts, is_of_a_package
from ratewindow.operations.login_routes import NameField, is_code, is_login, is_reset, is_sign_up, name_field
from ratewindow.rules.count_when import LOGIN_FAILED
from ratewindow.rules.site_routes import Route

MOST_PREFIXES = 3  # of an API that is in several places
_SEARCH = re.compile(r"(^|[-_/:])search([-_/]|$)", re.IGNORECASE)
_EXPORT = re.compile(r"(^|[-_/:])(exports|(export|csv|xlsx)([-_][^/]+)?)(/|$)|\.(csv|xlsx)$", re.IGNORECASE)
_BY_PATH = re.compile(r"[-_/](export|csv|xlsx)(/|$)|\.(csv|xlsx)$", re.IGNORECASE)  # whatever stands around it
_PARAMETER = re.compile(r"<[^>]*>/?")
_API = re.compile(r".*?/api/", re.IGNORECASE)
_API_VIEW = "rest_framework.views.APIView"


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
    outer = (
        each for each, _ in prefixes.most_common() if not any(each != other and each.startswith(other) for other in prefixes)
    )
    yield from (Place("prefix", prefix) for prefix in islice(outer, MOST_PREFIXES))


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
