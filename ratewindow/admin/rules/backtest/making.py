"""From a backtest to a rule: the form of a new rule in shadow, with what was tried and the limits that were chosen."""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.utils.translation import gettext

from ratewindow.admin.addresses import reverse
from ratewindow.admin.rules import candidate, opening, signed_results
from ratewindow.conf.in_words import duration
from ratewindow.conf.translation import translated
from ratewindow.limiter.types import Window
from ratewindow.models import Mode, RateRule
from ratewindow.operations.backtest import as_row
from ratewindow.operations.backtest.result import OfPeriod
from ratewindow.rules.rule import Rule


def offer(
    model_admin: Any, request: HttpRequest, rule: Rule, name: str, periods: Iterable[OfPeriod], found: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """What the buttons "Make this a shadow rule" and "Try beside the live rule" send: a limit for each period of the rule, and
    the rule with its evidence, `found`. None for those who may press neither. `name`: of a rule that the site has."""
    row = RateRule.objects.filter(name=name).first() if name else None
    may_add = model_admin.has_add_permission(request)
    may_try = row is not None and candidate.may_try(model_admin, request, row)
    if not may_add and not may_try:
        return None
    sent = {**_sent(rule, name if row is None else ""), "evidence": found}
    by_period = {each.period_ms: each for each in periods}
    limits = [
        (
            gettext("Limit for %(period)s") % {"period": duration(window.period_ms)},
            f"rw-curve-{window.period_ms}" if window.period_ms in by_period else "",
            _chosen(window, by_period.get(window.period_ms)),
        )
        for window in rule.windows
    ]
    return {
        "url": reverse("admin:ratewindow_backtest_make"),
        "limits": limits,
        "token": signed_results.sign(sent),
        "may_add": may_add,
        "beside": row if may_try else None,
    }


def _chosen(window: Window, found: OfPeriod | None) -> str:
    suggested = found.suggestion.limit if found is not None else None
    return replace(window, limit=suggested).text if suggested else window.text


def make(model_admin: Any, request: HttpRequest) -> HttpResponse:
    """The form of a new rule."""
    if not model_admin.has_add_permission(request):
        raise PermissionDenied
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    if (sent := signed_results.sent(request)) is None:
        return _back(request, gettext("This result can no longer be made a rule. Run the backtest again."))
    try:
        tried = [Window(**{name: value for name, value in each.items() if value is not None}) for each in sent["windows"]]
        limits = as_row.limits(tried, "; ".join(text for text in request.POST.getlist("rates") if text.strip()))
    except ValueError as error:
        return _back(request, gettext("No rule is made: %s.") % translated(error))
    fields = {**sent["fields"], "mode": Mode.SHADOW, "why": gettext("From a backtest")}
    address, opened = reverse("admin:ratewindow_raterule_add"), cast(Any, copy(request))
    opened.method = "GET"
    opened._ratewindow_opening = opening.Opening(fields, limits)
    return model_admin.changeform_view(opened, None, address, {"evidence_token": request.POST[signed_results.FIELD]})  # type: ignore[no-any-return]


def _sent(rule: Rule, name: str) -> dict[str, Any]:
    """A rate that only code has keeps its `name`, by which code finds it."""
    fields = {**as_row.fields(rule), "name": name}
    return {"fields": fields, "windows": [as_row.of_window(window) for window in rule.windows]}


def _back(request: HttpRequest, text: str) -> HttpResponse:
    messages.error(request, text)
    return HttpResponseRedirect(reverse("admin:ratewindow_backtest"))
