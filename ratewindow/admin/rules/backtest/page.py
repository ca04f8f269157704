"""The page of backtests: it computes and shows, and stores nothing of the log."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext

from ratewindow.admin import curve, own_page
from ratewindow.admin.addresses import reverse
from ratewindow.admin.confirm_page import changes_nothing
from ratewindow.admin.rules.backtest import making, recorded
from ratewindow.admin.rules.backtest.form import COMMAND, BacktestForm
from ratewindow.admin.rules.backtest.result import context
from ratewindow.operations.backtest import evidence
from ratewindow.operations.backtest.plan import Plan

_PAGE = "admin:ratewindow_backtest"


def urls(model_admin: Any) -> list[URLPattern]:
    view = model_admin.admin_site.admin_view
    return [
        path("backtest/", changes_nothing(view(partial(page, model_admin))), name="ratewindow_backtest"),
        path("backtest/make/", changes_nothing(view(partial(making.make, model_admin))), name="ratewindow_backtest_make"),
    ]


def url(model_admin: Any, request: HttpRequest, rule: str = "") -> str:
    """The page with this rule chosen; empty for users who may not open it."""
    if not may_open(model_admin, request):
        return ""
    return f"{reverse(_PAGE)}?{urlencode({'rule': rule})}" if rule else reverse(_PAGE)


def may_open(model_admin: Any, request: HttpRequest) -> bool:
    may_view = model_admin.has_view_or_change_permission(request)
    return may_view and bool(request.user.has_perm("ratewindow.view_throttlestat"))


def page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    if not may_open(model_admin, request):
        raise PermissionDenied
    form = BacktestForm(request)
    form.is_valid()
    found: dict[str, Any] = {
        **own_page.context(model_admin, request, gettext("Backtest")),
        "form": form,
        "media": curve.MEDIA,
    }
    if form.recorded is not None:
        found |= recorded.context(model_admin, request, form.recorded)
    elif form.plan is not None:
        found |= {**context(request, form.plan, form.decided), "command": COMMAND}
        found["make"] = _make(model_admin, request, form, form.plan)
    return TemplateResponse(request, "admin/ratewindow/backtest/page.html", found)


def _make(model_admin: Any, request: HttpRequest, form: BacktestForm, plan: Plan) -> Mapping[str, Any] | None:
    """A rule of the first log, in the end."""
    decided = form.decided[0]
    if plan.is_site or decided.result.reason:
        return None
    [rule] = plan.rules
    kept = evidence.of(decided.name, decided.result)
    return making.offer(model_admin, request, rule, form.rule_name, decided.result.periods, kept)
