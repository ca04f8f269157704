"""The page Coverage: the site's routes with the rules that meet them, those first that no rule meets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import own_page
from ratewindow.admin.addresses import reverse
from ratewindow.admin.banner import glance
from ratewindow.conf.in_words import in_clauses, listed
from ratewindow.models import RateRule
from ratewindow.operations.coverage import Line, SiteCoverage, Urgency, site_coverage
from ratewindow.reporting.summary import number

MOST_ROUTES = 200  # unless all are asked for
MOST_RULES = 10  # of one route
UNMET = "unmet"  # the choice that leaves out the routes that rules meet
LACKS = {
    Urgency.LOGIN: _("No rule, looks like a login"),
    Urgency.WRITES: _("No rule, changes data"),
    Urgency.MAY_WRITE: _("No rule"),
    Urgency.READS: _("No rule, only reads"),
    Urgency.OPEN: _("Some of its paths"),
    Urgency.SHADOW: _("Only in shadow"),
    Urgency.MET: _("Met"),
}


@dataclass(frozen=True)
class RuleLink:
    """A rule at a route: `mode` is ``enforce``, ``shadow`` or ``code``; no URL for a rate in code."""

    name: str
    mode: str
    url: str
    is_partial: bool  # it may meet some paths only


@dataclass(frozen=True)
class RouteLine:
    label: str
    path: str
    methods: str
    lacks: str
    is_met: bool
    urgent: bool
    rules: Sequence[RuleLink]
    more: int


def page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    if not model_admin.has_view_or_change_permission(request):
        raise PermissionDenied
    found = site_coverage(ask_redis=glance(request).reachable)
    with_admin = "admin" in request.GET
    left_out = 0 if with_admin else sum(map(_is_left_out, found.lines))
    if left_out:
        found = replace(found, lines=[line for line in found.lines if not _is_left_out(line)])
    urls = {
        name: reverse("admin:ratewindow_raterule_change", args=[pk]) for name, pk in RateRule.objects.values_list("name", "pk")
    }
    query, show = request.GET.get("q", "").strip(), request.GET.get("show", "")
    lines = [line for line in found.lines if _matches(line, query) and not (show == UNMET and line.is_met)]
    shown = lines if "all" in request.GET else lines[:MOST_ROUTES]
    asked = {"q": query, "show": show, **({"admin": "1"} if with_admin else {})}
    context = {
        **own_page.context(model_admin, request, gettext("Coverage")),
        "summary": summary(found),
        "is_quiet": not found.count(Urgency.LOGIN, Urgency.WRITES),
        "lines": [_route_line(line, found, urls) for line in shown],
        "matching": len(lines),
        "all_query": urlencode({**asked, "all": "1"}) if len(shown) < len(lines) else "",
        "with_admin": with_admin,
        "left_out": left_out,
        "admin_query": urlencode({**asked, "admin": "1"}),
        "total": len(found.lines),
        "query": query,
        "show": show,
        "unmet": UNMET,
        "undefined": [(name, listed(map(gettext, places))) for name, places in found.undefined.items()],
        "doubtful": [(name, urls.get(name, ""), f"{doubt.text} {doubt.remedy}") for name, doubt in found.doubtful],
        "idle": [(name, urls.get(name, "")) for name in found.idle],
        "since": found.since,
    }
    return TemplateResponse(request, "admin/ratewindow/raterule/coverage.html", context)


def summary(found: SiteCoverage) -> str:
    """How many routes have a rule, and what the others are."""
    if not found.lines:
        return gettext("The site has no routes: ROOT_URLCONF is missing or empty.")
    values = {"met": number(found.count(Urgency.MET)), "all": number(len(found.lines))}
    parts = [gettext("Rules meet %(met)s of %(all)s routes") % values]
    if shadow := found.count(Urgency.SHADOW):
        parts.append(gettext("%s more in shadow") % number(shadow))
    if some := found.count(Urgency.OPEN):
        parts.append(gettext("%s in part") % number(some))
    sentences = [gettext("%s.") % in_clauses(parts)]
    if logins := found.count(Urgency.LOGIN):
        text = ngettext("%s without a rule looks like a login.", "%s without a rule look like logins.", logins)
        sentences.append(text % number(logins))
    if writes := found.count(Urgency.WRITES):
        text = ngettext("%s without a rule changes data.", "%s without a rule change data.", writes)
        sentences.append(text % number(writes))
    return " ".join(sentences)


def _is_left_out(line: Line) -> bool:
    """The admin's own pages are many, and only its users reach them; anybody reaches those that look like a login."""
    return line.route.way.is_of_admin and not line.route.is_login


def _matches(line: Line, query: str) -> bool:
    texts = [line.route.name, line.route.path, *line.meets, *line.may_meet]
    return all(any(word in text.lower() for text in texts) for word in query.lower().split())


def _route_line(line: Line, found: SiteCoverage, urls: dict[str, str]) -> RouteLine:
    names = [*((name, False) for name in line.meets), *((name, True) for name in line.may_meet)]
    return RouteLine(
        label=line.route.name,
        path=line.route.path,
        methods=line.route.methods_in_words,
        lacks=str(LACKS[line.urgency]),
        is_met=line.urgency == Urgency.MET,
        urgent=line.urgency <= Urgency.WRITES,
        rules=[RuleLink(name, found.modes[name], urls.get(name, ""), is_partial) for name, is_partial in names[:MOST_RULES]],
        more=max(0, len(names) - MOST_RULES),
    )
