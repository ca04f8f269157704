"""Ready rules: looked at in the form of a new rule, or saved in shadow with one button."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.translation import gettext

from ratewindow.admin import own_page
from ratewindow.admin.addresses import reverse
from ratewindow.admin.wording import sentence
from ratewindow.limiter.rates import parse_rates
from ratewindow.models import RateRule
from ratewindow.operations import presets
from ratewindow.operations.presets import Preset

NAME = "ratewindow_raterule_ready"
_ADD = "admin:ratewindow_raterule_add"


@dataclass(frozen=True)
class Line:
    """A ready rule as the page shows it."""

    name: str
    sentence: str
    slug: str
    url: str  # of the form that begins with it
    used_by: str


@dataclass(frozen=True)
class Section:
    title: str
    why: str
    missing: str
    lines: Sequence[Line]
    to_fill_in: str  # the address of the form for a rule whose pattern is to be filled in


def urls(page: Any) -> list[URLPattern]:
    return [path("ready/", page.admin_site.admin_view(_View(page)), name=NAME)]


def sections() -> list[Section]:
    return [
        Section(
            str(group.kind.title),
            str(group.kind.why),
            str(group.kind.missing),
            [_line(each) for each in group.found],
            _url(group.to_fill_in) if group.to_fill_in else "",
        )
        for group in presets.groups()
    ]


def _line(ready: Preset) -> Line:
    rule = RateRule(name=ready.name, **ready.fields)
    return Line(ready.name, sentence(rule, parse_rates(ready.rate)), ready.slug, _url(ready), ready.used_by)


def _url(ready: Preset) -> str:
    return f"{reverse(_ADD)}?{urlencode({'ready': ready.slug})}"


class _View:
    """GET lists the ready rules, POST saves one of them in shadow; `page` is the admin of rules."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not self.page.has_add_permission(request):
            raise PermissionDenied
        if request.method == "POST":
            return self._save(request)
        context = {
            **own_page.context(self.page, request, gettext("Ready rules")),
            "ready": sections(),
        }
        return TemplateResponse(request, "admin/ratewindow/raterule/ready.html", context)

    def _save(self, request: HttpRequest) -> HttpResponse:
        ready = presets.preset(request.POST.get("ready", ""))
        if ready is None or not ready.is_complete:
            messages.error(request, gettext("This ready rule is no longer offered: choose another one."))
            return HttpResponseRedirect(reverse(f"admin:{NAME}"))
        rule, created = presets.save(ready)
        change = reverse("admin:ratewindow_raterule_change", args=[rule.pk])
        if created:
            self.page.log_addition(request, rule, [{"added": {}}])
            said = format_html(
                gettext('Rule <a href="{}">{}</a> is saved in shadow: it counts, and refuses nobody.'), change, rule.name
            )
            if self.page.has_delete_permission(request, rule):
                delete = reverse("admin:ratewindow_raterule_delete", args=[rule.pk])
                said = format_html('{} <a href="{}">{}</a>', said, delete, gettext("Delete it again"))
            messages.success(request, said)
        else:
            text = gettext('Rule <a href="{}">{}</a> already applies there. Nothing was saved.')
            messages.info(request, format_html(text, change, rule.name))
        return HttpResponseRedirect(reverse(f"admin:{NAME}"))
