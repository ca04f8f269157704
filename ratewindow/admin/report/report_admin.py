"""The report: what the rules did in a period. It is the changelist of ThrottleStat."""

from functools import partial
from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext

from ratewindow.admin import switch_page
from ratewindow.admin.banner import glance, off_message
from ratewindow.admin.recorded import RecordedAdmin
from ratewindow.admin.registering import register
from ratewindow.admin.report import health_page
from ratewindow.admin.report import marks as report_marks
from ratewindow.admin.report import parts as report_parts
from ratewindow.admin.report.form import ReportForm
from ratewindow.admin.report.offenders import who_is_refused
from ratewindow.admin.report.reasons import reasons
from ratewindow.conf import time_zone
from ratewindow.models import ThrottleStat
from ratewindow.reporting import chart
from ratewindow.reporting.offenders import offenders
from ratewindow.reporting.report import report
from ratewindow.reporting.summary import summary

_MEDIA = forms.Media(
    css={"all": ["ratewindow/vendor/uplot/uPlot.min.css"]},
    js=[
        forms.Script("ratewindow/vendor/uplot/uPlot.iife.min.js", defer=True),  # type: ignore[list-item]  # the stubs accept only str
        forms.Script("ratewindow/report.js", defer=True),  # type: ignore[list-item]
    ],
)


@register(ThrottleStat)
class ReportAdmin(RecordedAdmin):
    """One read-only page, since single rows mean nothing."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.changelist_view)
        pages = [("state", health_page.page), ("switch", switch_page.page)]
        return [
            path("", view, name="ratewindow_throttlestat_changelist"),
            path("", view, name="ratewindow_report"),
            *(
                path(f"{name}/", self.admin_site.admin_view(partial(page, self)), name=f"ratewindow_{name}")
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
        form = ReportForm(request.GET, report_parts.rule_names(request.GET.get("rule", "")))
        period, reachable = form.to_period(time_zone.now()), glance(request).reachable
        data = report(period, form.rule_name(), ask_redis=reachable)
        marks = report_marks.marks(request, data, form.rule_name())
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Report"),
            "app": self.opts.app_config,
            "opts": self.opts,  # Unfold builds its breadcrumbs from it
            "media": _MEDIA,
            "may_switch": switch_page.may_switch(request) and not off_message(),
            "form": form,
            "choices": report_parts.choices(form.chosen(), form.rule_name()),
            "report": data,
            "summary": summary(data),
            "span": chart.span(data),
            "figures": report_parts.figures(data),
            "reasons": reasons(data.total),
            "who": who_is_refused(request, offenders(period, form.rule_name(), ask_redis=reachable)),
            "rules": report_parts.rule_lines(data, request.user.has_perm("ratewindow.view_raterule")),
            "steps": list(reversed(chart.steps(data))),
            "chart": {**chart.chart_data(data), "labels": _labels(), "marks": report_marks.for_chart(marks)},
            "marks": marks,
            "advice": [] if data.total.met else list(report_parts.advice(request.user.has_perm("ratewindow.add_raterule"))),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/ratewindow/throttlestat/change_list.html", context)


def _labels() -> dict[str, str]:
    """What the parts of a bar are called."""
    return {"passed": gettext("Passed"), "would": gettext("Would refuse"), "refused": gettext("Refused")}
