"""Whether a rule would lock the people who edit rules out of the admin, so that they can be asked first."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.urls import get_script_prefix

from ratewindow import conf
from ratewindow.conf import time_zone
from ratewindow.models.fields import to_text
from ratewindow.overrides import ALLOW
from ratewindow.reporting.periods import last
from ratewindow.reporting.report import Report, report
from ratewindow.reporting.summary import number
from ratewindow.reporting.sums import NOTHING
from ratewindow.request import admin_pages
from ratewindow.request.admin_pages import Page
from ratewindow.rulebook import current
from ratewindow.rules.matching import Index
from ratewindow.rules.rule import Rule

# A page of the admin is one request, or a dozen where Django serves its static files; a person opens a few a minute.
FEW_UNITS, FEW_UNITS_LATER = 60, 600  # within minutes, and within hours or days
LATER_MS = 600_000
LONG_MS = 30_000
USUAL_STATUSES = {200, 302}  # of the admin's answers


@dataclass(frozen=True)
class Lockout:
    """A rule that would refuse people who edit rules: on which pages of the admin, and when."""

    rule: Rule
    pages: tuple[str, ...]
    when: str  # ``after 3 requests in 1m``, ``always``, or ``without header:x-key, which browsers do not send``

    def __str__(self) -> str:
        first, others = self.pages[0], len(self.pages) - 1
        more = f" and {others} more {'page' if others == 1 else 'pages'} of the admin" if others else ", a page of the admin"
        limits = " and ".join(f"{each.limit} in {to_text(timedelta(milliseconds=each.period_ms))}" for each in self.rule.windows)
        you = "You" if self.rule.mode == "enforce" else "Once it is enforced, you"
        files = " Static files that Django serves count, too." if self.rule.applies_to == "all" else ""
        return (
            f"Rule {self.rule.name} meets {first}{more}: {limits} for each {self.rule.key}. "
            f"{you} would be refused there {self.when}.{files}"
        )


REMEDY = (
    "Choose a narrower path or a higher limit, or exempt the people who work in the admin, such as group:staff, under Blocks and "
    "exemptions."
)


def way_out(rule: str) -> str:
    """What to do when locked out."""
    return f"If you are locked out, {command(rule)} lets you in."


def command(rule: str) -> str:
    """What to type to switch that rule off."""
    return f"manage.py ratewindow mode {rule} off"


def lockout(rule: Rule, request: HttpRequest | None = None) -> Lockout | None:
    """The lockout that this rule would cause once it is enforced; None if there is none.

    `request` is one of the person who edits the rule; without it, an invented one of a signed-in user is tested.
    """
    if rule.count_when is not None and USUAL_STATUSES.isdisjoint(rule.count_when.statuses):
        return None
    if request is not None and _is_exempt(rule, request):
        return None
    index, met, when = Index([rule]), [], ""
    for page in admin_pages.pages():
        for visit in _visits(page, request):
            if index.match(visit) and (why := _why(rule, visit)):
                met.append(get_script_prefix() + page.path.removeprefix("/"))
                when = when or why
                break
    return Lockout(rule, tuple(met), when) if met else None


def last_hour(name: str, found: Report | None = None) -> str:
    """A sentence about what enforcing a rule would have refused in the last hour; `found` is a report of it, if at hand."""
    found = found or report(last("1h", time_zone.now(), conf.current().retention))
    sums = found.rules.get(name, NOTHING)
    if not sums.met:
        return (
            "In the last hour no request met it." if found.live else "Without Redis it is not known what it met in the last hour."
        )
    refused = f"refused {number(sums.refused)}" if sums.refused else f"would have refused {number(sums.would_refuse)}"
    return f"In the last hour it met {number(sums.met)} requests, and {refused}."


def _is_exempt(rule: Rule, request: HttpRequest) -> bool:
    held = current.rulebook().overrides
    return held is not None and any(each.action == ALLOW and each.rule in ("", rule.name) for each in held.of_request(request))


def _why(rule: Rule, visit: HttpRequest) -> str:
    """When this visit would be refused; empty if hardly ever."""
    if rule.on_missing != "ip" and not _counts(rule, visit):
        return f"without {rule.key}, which browsers do not send" if rule.on_missing == "refuse" else ""
    for window in sorted(rule.windows, key=lambda each: each.period_ms):
        requests = window.limit // max(1, rule.cost)
        if not requests:
            return "always"
        few = FEW_UNITS if window.period_ms < LATER_MS else FEW_UNITS_LATER
        if requests < few and max(window.period_ms, rule.penalty_ms) >= LONG_MS:
            return f"after {requests} {'request' if requests == 1 else 'requests'} in {_in_text(window.period_ms)}"
    return ""


def _in_text(period_ms: int) -> str:
    return to_text(timedelta(milliseconds=period_ms))


def visits(request: HttpRequest) -> Iterator[HttpRequest]:
    """Requests for every page of the admin, as the sender of this request would send them."""
    for page in admin_pages.pages():
        yield from _visits(page, request)


def _visits(page: Page, request: HttpRequest | None) -> Iterator[HttpRequest]:
    """Requests for a page: anonymous ones at the login page, elsewhere those of the person who edits rules."""
    for method in ("GET", "POST"):
        visit = HttpRequest() if request is None else copy(request)
        visit.method, visit.path, visit.path_info, visit.resolver_match = method, page.path, page.path, None
        vars(visit).pop("_ratewindow_match", None)
        if request is None:
            visit.META = {"REMOTE_ADDR": "192.0.2.1", "SERVER_NAME": "testserver", "SERVER_PORT": "80"}
            visit.user = get_user_model()(pk=1)
        if page.name == "login":
            visit.user = AnonymousUser()
        yield visit


def _counts(rule: Rule, visit: HttpRequest) -> bool:
    """Whether the rule finds an identity in this visit."""
    if "session" in rule.key.split("+") and not hasattr(visit, "session"):
        return True
    try:
        return rule.recipe.identity(visit) is not None
    except Exception:  # a function of the site's own, which may need a real request
        return True
