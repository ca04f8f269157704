"""The page of backtests: it computes and shows, and stores nothing of the log."""

from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext

from ratewindow.admin import curve, own_page
from ratewindow.admin.confirm_page import changes_nothing
from ratewindow.admin.rules.backtest import making
from ratewindow.admin.rules.backtest.form import COMMAND, BacktestForm
from ratewindow.admin.rules.backtest.result import context

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
    if form.plan is not None and form.result is not None:
        found |= {
            "found": context(request, form.plan, form.result),
            "is_cut": form.is_cut,
            "command": COMMAND,
            "make": making.offer(model_admin, request, form.plan, form.cleaned_data["log"].name, form.result),
        }
    return TemplateResponse(request, "admin/ratewindow/backtest/page.html", found)
