"""What stays open to staff where a rule refuses everybody, so that they can log in and correct it: under small limits of its own.

By path, the login of the admin and the static files of its pages, for anybody: their small limit takes the place of each rule
that the report's page matches, too. So a rule about the login itself holds, and a block. By permission, our pages: there no other
rule holds.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeGuard

from django import urls
from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import empty

from ratewindow.identity.request_attributes import match_of, sent_to
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Decision
from ratewindow.request.doors import doors_of, place_of
from ratewindow.rulebook import current
from ratewindow.rules.rule import Rule

IN_PATHS = re.compile(r"/(admin|ratewindow)/|/(login|logout|jsi18n)/\Z")  # of most requests it says that nothing stays open

# No row and no code can have such a name. What passes by these is not counted in the report, and its answer does not show them.
LOGINS = Rule("~logins", parse_rates("20/m"), on_error="local")
FILES = Rule("~files", parse_rates("300/m"), on_error="local")
PAGES = Rule("~pages", parse_rates("120/m"), key="user", on_error="allow")
_MAY_LOOK = ("ratewindow.switch_limits", "ratewindow.view_throttlestat", "ratewindow.change_raterule")
_SERVE_FILES = ("django.views.static.serve", "django.contrib.staticfiles.views.serve")


def rules_instead(request: HttpRequest, rules: list[Rule], decision: Decision) -> list[Rule]:
    """Which rules to ask about a request that these refuse, the small limit last; none if it stays refused. May load the user."""
    small = _small_limit(match_of(request), request.path)
    if small is PAGES and may_look(request, decision):
        return [PAGES]
    if small is PAGES:  # who is not logged in is sent to the login
        small = LOGINS if getattr(getattr(request, "user", None), "is_anonymous", False) else None
    if small is None or decision.reason in ("block", "store"):
        return []
    everywhere, refusing = _names_at_report(request), {part.rule for part in decision.parts if not part.allowed}
    return [*(rule for rule in rules if rule.name not in everywhere), small] if refusing <= everywhere else []


def _small_limit(match: urls.ResolverMatch | None, path: str) -> Rule | None:
    """That of what may stay open."""
    if _is_in_admin(match):
        if match.url_name in ("login", "logout"):
            return LOGINS
        is_ours = (match.captured_kwargs or {}).get("app_label") == "ratewindow"  # type: ignore[attr-defined]  # Django has it
        return PAGES if is_ours or (match.url_name or "").startswith(("ratewindow_", "jsi18n")) else None
    is_file = path.startswith((f"{settings.STATIC_URL}admin/", f"{settings.STATIC_URL}ratewindow/")) and ".." not in path
    return FILES if match is not None and is_file and place_of(match.func) in _SERVE_FILES else None


def _is_in_admin(match: urls.ResolverMatch | None) -> TypeGuard[urls.ResolverMatch]:
    """Whether it is a page of a site of the admin, whatever the site's name; not of what a site has included in it."""
    return match is not None and match.app_names[-1:] == ["admin"]


def _names_at_report(request: HttpRequest) -> set[str]:
    """The rules that the report's page matches, but for those about logins; none on a site without that page."""
    path, book = reverse("admin:ratewindow_report"), current.rulebook()
    visit = sent_to(path.removeprefix(urls.get_script_prefix()[:-1]), request, request.method)
    rules = (rule for door in doors_of(visit) if path and door.awaited is None for rule in door.rules(book, visit))
    return {rule.name for rule in rules if rule.count_when is None or not rule.count_when.login_failed}


def may_look(request: HttpRequest, decision: Decision) -> bool:
    """Whether our pages stay open to this user: to staff who may look at the report or change rules; under a block only to those
    who may switch limits."""
    user: Any = getattr(request, "user", None)
    try:
        return user is not None and user.is_staff and any(map(user.has_perm, _MAY_LOOK[: 1 if decision.reason == "block" else 3]))
    except Exception:  # a user without such rights, or sessions or a database that are away
        return False


def report_url(request: HttpRequest, decision: Decision) -> str:
    """The report's address, for the page of a refusal of staff who may look at it; else empty. A user who is not known yet is
    loaded in the admin alone, and with a session: a flood must not query the database."""
    is_known = getattr(getattr(request, "user", None), "_wrapped", None) is not empty
    may_load = settings.SESSION_COOKIE_NAME in request.COOKIES and _is_in_admin(match_of(request))
    return reverse("admin:ratewindow_report") if (is_known or may_load) and may_look(request, decision) else ""


def reverse(name: str, args: Sequence[Any] = (), request: HttpRequest | None = None) -> str:
    """The address of a page, ``admin:ratewindow_report``: on the site of the admin that a request is for, else on the first that
    has it; empty if none has."""
    shown = request.resolver_match.namespace if request and request.resolver_match else None
    for site in (shown, None, *urls.get_resolver(urls.get_urlconf()).app_dict.get("admin", [])):
        with suppress(urls.NoReverseMatch):
            return urls.reverse(name, args=args, current_app=site)
    return ""
