"""The page Coverage: the site's routes with the rules that meet them, those first that no rule meets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from ratewindow.admin.banner import glance
from ratewindow.models import RateRule
from ratewindow.operations.coverage import Line, SiteCoverage, Urgency, site_coverage
from ratewindow.reporting.summary import number

MOST_ROUTES = 200  # unless all are asked for
MOST_RULES = 10  # of one route
UNMET = "unmet"  # the choice that leaves out the routes that rules meet
LACKS = {
    Urgency.LOGIN: "No rule, looks like a login",
    Urgency.WRITES: "No rule, changes data",
    Urgency.MAY_WRITE: "No rule",
    Urgency.READS: "No rule, only reads",
    Urgency.OPEN: "Some of its paths",
    Urgency.SHADOW: "Only in shadow",
    Urgency.MET: "Met",
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
    urgent: bool
    rules: Sequence[RuleLink]
    more: int


def page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    if not model_admin.has_view_or_change_permission(request):
        raise PermissionDenied
    found = site_coverage(ask_redis=glance(request).reachable)
    urls = {
        name: reverse("admin:ratewindow_raterule_change", args=[pk]) for name, pk in RateRule.objects.values_list("name", "pk")
    }
    query, show = request.GET.get("q", "").strip(), request.GET.get("show", "")
    lines = [line for line in found.lines if _matches(line, query) and not (show == UNMET and line.is_met)]
    shown = lines if "all" in request.GET else lines[:MOST_ROUTES]
    context = {
        **model_admin.admin_site.each_context(request),
        "title": "Coverage",
        "app": model_admin.opts.app_config,
        "model_admin": model_admin,  # Unfold builds its breadcrumbs from it
        "summary": summary(found),
        "is_quiet": not found.count(Urgency.LOGIN, Urgency.WRITES),
        "lines": [_route_line(line, found, urls) for line in shown],
        "matching": len(lines),
        "all_query": urlencode({"q": query, "show": show, "all": "1"}) if len(shown) < len(lines) else "",
        "total": len(found.lines),
        "query": query,
        "show": show,
        "unmet": UNMET,
        "undefined": [(name, ", ".join(places)) for name, places in found.undefined.items()],
        "doubtful": [(name, urls.get(name, ""), f"{doubt.text} {doubt.remedy}") for name, doubt in found.doubtful],
        "idle": [(name, urls.get(name, "")) for name in found.idle],
        "since": found.since,
    }
    return TemplateResponse(request, "admin/ratewindow/raterule/coverage.html", context)


def summary(found: SiteCoverage) -> str:
    """How many routes have a rule, and what the others are."""
    if not found.lines:
        return "The site has no routes: ROOT_URLCONF is missing or empty."
    parts = [f"Rules meet {number(found.count(Urgency.MET))} of {number(len(found.lines))} routes"]
    if shadow := found.count(Urgency.SHADOW):
        parts.append(f"{number(shadow)} more in shadow")
    if some := found.count(Urgency.OPEN):
        parts.append(f"{number(some)} in part")
    said = f"{', '.join(parts)}."
    logins, writes = found.count(Urgency.LOGIN), found.count(Urgency.WRITES)
    if logins:
        said += f" {number(logins)} without a rule {'looks like a login' if logins == 1 else 'look like logins'}."
    if writes:
        said += f" {number(writes)} without a rule {'changes' if writes == 1 else 'change'} data."
    return said


def _matches(line: Line, query: str) -> bool:
    texts = [line.route.name, line.route.path, *line.meets, *line.may_meet]
    return all(any(word in text.lower() for text in texts) for word in query.lower().split())


def _route_line(line: Line, found: SiteCoverage, urls: dict[str, str]) -> RouteLine:
    names = [*((name, False) for name in line.meets), *((name, True) for name in line.may_meet)]
    return RouteLine(
        label=line.route.name,
        path=line.route.path,
        methods=line.route.methods_in_words,
        lacks=LACKS[line.urgency],
        urgent=line.urgency <= Urgency.WRITES,
        rules=[RuleLink(name, found.modes[name], urls.get(name, ""), is_partial) for name, is_partial in names[:MOST_RULES]],
        more=max(0, len(names) - MOST_RULES),
    )
