"""The report: what the rules did in a period. It is the changelist of ThrottleStat."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext

from ratewindow.admin import switch_page
from ratewindow.admin.addresses import reverse
from ratewindow.admin.banner import off_message
from ratewindow.admin.confirm_page import asking
from ratewindow.admin.recorded import RecordedAdmin
from ratewindow.admin.registering import register
from ratewindow.admin.report import acts, export, health_page, page
from ratewindow.admin.report.around import around
from ratewindow.admin.report.form import ReportForm
from ratewindow.admin.report.reading import read
from ratewindow.models import ThrottleStat

_MEDIA = forms.Media(
    css={"all": ["ratewindow/vendor/uplot/uPlot.min.css"]},
    js=[
        forms.Script("ratewindow/vendor/uplot/uPlot.iife.min.js", defer=True),  # type: ignore[list-item]  # the stubs accept only str
        forms.Script("ratewindow/report.js", defer=True),  # type: ignore[list-item]
        forms.Script("ratewindow/report_live.js", defer=True),  # type: ignore[list-item]
    ],
)
LIVE = "live"  # of a request for the part of the page that changes


@register(ThrottleStat)
class ReportAdmin(RecordedAdmin):
    """One read-only page, since single rows mean nothing."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.changelist_view)
        pages: list[tuple[str, Callable[..., HttpResponse]]] = [
            ("state", partial(health_page.page, self)),
            ("switch", partial(switch_page.page, self)),
            ("report_act", asking(self, partial(acts.press, self))),
            ("report_export", partial(export.page, self)),
        ]
        return [
            path("", view, name="ratewindow_throttlestat_changelist"),
            path("", view, name="ratewindow_report"),
            *(
                path(f"{name.removeprefix('report_')}/", self.admin_site.admin_view(page), name=f"ratewindow_{name}")
                for name, page in pages
            ),
        ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: ThrottleStat | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ThrottleStat | None = None) -> bool:
        return False

    def get_model_perms(self, request: HttpRequest) -> dict[str, bool]:
        """Staff who may only switch limits see the model in the index, too."""
        perms = super().get_model_perms(request)
        return {**perms, "view": perms["view"] or switch_page.may_switch(request)}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            if switch_page.may_switch(request):
                return HttpResponseRedirect(reverse("admin:ratewindow_switch"))
            raise PermissionDenied
        form = ReportForm(request)
        reading = read(request, form)
        shown = page.changing(request, reading, form)
        if LIVE in request.GET:
            return TemplateResponse(request, "admin/ratewindow/throttlestat/body.html", shown)
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Report"),
            "app": self.opts.app_config,
            "opts": self.opts,  # Unfold builds its breadcrumbs from it
            "media": _MEDIA,
            "may_switch": switch_page.may_switch(request) and not off_message(),
            **shown,
            **page.choosing(request, reading, form, LIVE),
            **around(request, reading),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/ratewindow/throttlestat/change_list.html", context)
