"""The report: what the rules did in a period, as one page and as files of CSV. It is the changelist of ThrottleStat."""

import csv
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext, gettext_lazy as _

from ratewindow.admin.base import ReadOnlyAdmin, edits_no_rule, register, render_page, reverse
from ratewindow.admin.report import page
from ratewindow.admin.state import state_page, switch_page
from ratewindow.conf import time_zone
from ratewindow.counting.sums import NUMBERS
from ratewindow.models import ThrottleStat
from ratewindow.operations.rights import display, may, require
from ratewindow.report.reading import Reading
from ratewindow.rooms import Link


def _over_time(reading: Reading) -> Iterator[Iterable[Any]]:
    yield "from", "rule", *NUMBERS
    for (start, rule), sums in sorted(reading.report.steps_of_rules.items()):
        yield time_zone.local(start).isoformat(), rule, *sums.numbers


def _who(request: HttpRequest, reading: Reading) -> Iterator[Iterable[Any]]:
    """Any number may be larger by `may_lack`."""
    yield "kind", "name", "refused", "would_refuse", "may_lack"
    found = reading.offenders
    for kind, names in (("network", found.networks), ("client", found.clients)):
        for name in names:
            yield kind, display(request.user, name.value), name.refused, name.would_refuse, found.bound.rank


FILES: dict[str, tuple[Any, Callable[[HttpRequest, Reading], Iterator[Iterable[Any]]]]] = {
    "time": (_("Over time (CSV)"), lambda request, reading: _over_time(reading)),
    "who": (_("Who is refused (CSV)"), _who),
}


def safe(value: Any) -> Any:
    """A text that no spreadsheet takes for a formula: with an apostrophe before what begins as one."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def may_export(request: HttpRequest) -> bool:
    return request.user.has_perm("ratewindow.view_throttlestat") and request.user.has_perm("ratewindow.export_throttlestat")


def files(request: HttpRequest, query: str) -> list[Link]:
    """The files of one report; none for those who may not have them."""
    url = reverse("admin:ratewindow_report_export", request=request)
    return [Link(f"{url}?{query}&part={part}", str(label)) for part, (label, __) in FILES.items()] if may_export(request) else []


def export(request: HttpRequest) -> HttpResponse:
    require(may_export(request))
    form, part = page.ReportForm(request), request.GET.get("part", "time")
    if part not in FILES or not form.is_valid():
        return HttpResponseBadRequest(
            form.errors.as_json() if part in FILES else f"part={'|'.join(FILES)}", content_type="text/plain"
        )
    reading = form.read(most=500)
    name = f"ratewindow-{part}-{time_zone.local(reading.report.period.start):%Y%m%d-%H%M}.csv"
    response = HttpResponse(
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
    )
    csv.writer(response).writerows([safe(value) for value in line] for line in FILES[part][1](request, reading))
    return response


@register(ThrottleStat)
class ReportAdmin(ReadOnlyAdmin):
    """One page, since single rows mean nothing."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("", view(self.changelist_view), name="ratewindow_throttlestat_changelist"),
            path("", view(self.changelist_view), name="ratewindow_report"),
            path("state/", view(partial(state_page, self)), name="ratewindow_state"),
            path("switch/", edits_no_rule(view(partial(switch_page, self))), name="ratewindow_switch"),
            path("export/", view(export), name="ratewindow_report_export"),
        ]

    def get_model_perms(self, request: HttpRequest) -> dict[str, bool]:
        """Staff who may only switch limits see the model in the index, too."""
        perms = super().get_model_perms(request)
        return {**perms, "view": perms["view"] or may(request.user, "switch_limits")}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            require(may(request.user, "switch_limits"))
            return HttpResponseRedirect(reverse("admin:ratewindow_switch", request=request))
        form = page.ReportForm(request)
        reading = form.read()
        shown = {**page.body_context(request, reading, form), "files": files(request, form.query())}
        if "live" in request.GET:  # only the part that changes
            return TemplateResponse(request, "admin/ratewindow/throttlestat/body.html", shown)
        return render_page(
            self,
            request,
            "admin/ratewindow/throttlestat/change_list.html",
            gettext("Report"),
            {
                "opts": self.opts,  # Unfold builds its breadcrumbs from it
                "media": page.MEDIA,
                **shown,
                **page.filter_context(request, reading, form),
                **(extra_context or {}),
            },
        )
