"""The numbers of a report as files: over time, by rule, and who is refused, as CSV or JSON."""

import json
from functools import partial
from typing import Any

from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext

from ratewindow.admin.addresses import reverse
from ratewindow.admin.masking import display, may_see
from ratewindow.admin.report.form import ReportForm
from ratewindow.admin.report.reading import read
from ratewindow.conf import time_zone
from ratewindow.reporting.export import MOST_NAMES, PARTS, file_name, write


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
    form, show = ReportForm(request), partial(display, request)
    reading = read(request, form, most=MOST_NAMES)
    if not form.is_valid():
        return HttpResponseBadRequest(str(form.errors.as_json()), content_type="text/plain")
    name = file_name(reading, part, wanted)
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    if wanted == "json":
        period = reading.period
        head = {"from": time_zone.local(period.start).isoformat(), "to": time_zone.local(period.end).isoformat()}
        content = {**head, **{each: [*PARTS[each].rows(reading, show)] for each in PARTS}}
        return HttpResponse(json.dumps(content, indent=1, ensure_ascii=False), "application/json", headers=headers)
    response = HttpResponse(content_type="text/csv; charset=utf-8", headers=headers)
    write(response, PARTS[part], reading, show)
    return response


def _choice(model_admin: "ModelAdmin[Any]", request: HttpRequest) -> HttpResponse:
    query = ReportForm(request).query()
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
