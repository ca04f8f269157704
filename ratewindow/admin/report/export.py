"""The numbers of a report as files: over time, by rule, and who is refused, as CSV or JSON."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin.masking import display, may_see
from ratewindow.admin.report.form import ReportForm
from ratewindow.admin.report.reading import Reading, read
from ratewindow.conf import time_zone
from ratewindow.reporting.report import sums_by_step
from ratewindow.reporting.sums import NUMBERS, Sums

Row = Mapping[str, Any]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a cell that begins so is one in a spreadsheet
_MOST_NAMES = 500


def _over_time(request: HttpRequest, reading: Reading) -> Iterator[Row]:
    by_step = sums_by_step(reading.period, reading.rules, reading.known)
    for (start, rule), sums in sorted(by_step.items()):
        yield {"from": time_zone.local(start).isoformat(), "rule": rule, **_numbers(sums)}


def _by_rule(request: HttpRequest, reading: Reading) -> Iterator[Row]:
    for rule, sums in sorted(reading.report.rules.items()):
        yield {"rule": rule, **_numbers(sums)}


def _who(request: HttpRequest, reading: Reading) -> Iterator[Row]:
    """Masked as on the page. Any number may be larger by `may_lack`."""
    found = reading.offenders
    kinds = {"network": found.networks, "client": found.clients, "route": found.routes, "agent": found.agents}
    for kind, names in kinds.items():
        for name in names.most:
            shown = display(request, name.value) if kind in ("network", "client") else name.value
            yield {
                "kind": kind,
                "name": shown,
                "refused": name.refused,
                "would_refuse": name.would_refuse,
                "may_lack": names.bound.rank,
            }


@dataclass(frozen=True)
class Part:
    label: Any
    columns: tuple[str, ...]
    rows: Callable[[HttpRequest, Reading], Iterable[Row]]


PARTS = {
    "time": Part(_("Over time"), ("from", "rule", *NUMBERS), _over_time),
    "rules": Part(_("Rules"), ("rule", *NUMBERS), _by_rule),
    "who": Part(_("Who is refused"), ("kind", "name", "refused", "would_refuse", "may_lack"), _who),
}


def may_export(request: HttpRequest) -> bool:
    return request.user.has_perm("ratewindow.view_throttlestat") and request.user.has_perm("ratewindow.export_throttlestat")


def url(request: HttpRequest, query: str) -> str:
    """The page that offers the files of one report; empty for those who may not have them."""
    return f"{reverse('admin:ratewindow_report_export')}?{query}" if may_export(request) else ""


def page(model_admin: "ModelAdmin[Any]", request: HttpRequest) -> HttpResponse:
    if not may_export(request):
        raise PermissionDenied
    part, wanted = request.GET.get("part", ""), request.GET.get("format", "")
    if (part not in PARTS or wanted != "csv") and (part, wanted) != ("all", "json"):
        return _choice(model_admin, request)
    reading = read(request, most=_MOST_NAMES)
    if not reading.form.is_valid():
        return HttpResponseBadRequest(str(reading.form.errors.as_json()), content_type="text/plain")
    name = f"ratewindow-{part}-{time_zone.local(reading.period.start):%Y%m%d-%H%M}.{wanted}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    if wanted == "json":
        period = reading.period
        head = {"from": time_zone.local(period.start).isoformat(), "to": time_zone.local(period.end).isoformat()}
        content = {**head, **{each: [*PARTS[each].rows(request, reading)] for each in PARTS}}
        return HttpResponse(json.dumps(content, indent=1, ensure_ascii=False), "application/json", headers=headers)
    response = HttpResponse(content_type="text/csv; charset=utf-8", headers=headers)
    writer = csv.writer(response)
    writer.writerow(PARTS[part].columns)
    for row in PARTS[part].rows(request, reading):
        writer.writerow([safe(row[column]) for column in PARTS[part].columns])
    return response


def _choice(model_admin: "ModelAdmin[Any]", request: HttpRequest) -> HttpResponse:
    query = ReportForm(request.GET).query()
    files = [(name, "csv", gettext("%s (CSV)") % part.label) for name, part in PARTS.items()]
    files.append(("all", "json", gettext("All of it (JSON)")))
    context = {
        **model_admin.admin_site.each_context(request),
        "title": gettext("Export the report"),
        "app": model_admin.opts.app_config,
        "model_admin": model_admin,
        "files": [(f"?{query}&part={part}&format={form}", label) for part, form, label in files],
        "back": f"{reverse('admin:ratewindow_report')}?{query}",
        "masked": not may_see(request),
    }
    return TemplateResponse(request, "admin/ratewindow/throttlestat/export.html", context)


def safe(value: Any) -> Any:
    """A text that no spreadsheet takes for a formula: with an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _numbers(sums: Sums) -> dict[str, int]:
    return dict(zip(NUMBERS, sums.numbers, strict=True))
