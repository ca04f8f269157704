"""Ready rules: looked at in the form of a new rule, or saved in shadow with one button for those of the same requests."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import router, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.translation import gettext

from ratewindow.admin import own_page
from ratewindow.admin.addresses import reverse
from ratewindow.admin.wording import sentence, short_sentence
from ratewindow.limiter.rates import parse_rates
from ratewindow.models import RateRule
from ratewindow.operations import presets
from ratewindow.operations.presets import Group, Preset

NAME = "ratewindow_raterule_ready"
_ADD = "admin:ratewindow_raterule_add"


@dataclass(frozen=True)
class Line:
    """A ready rule as the page shows it."""

    name: str
    sentence: str
    why: str  # unless its section says it
    url: str  # of the form that begins with it
    used_by: str


@dataclass(frozen=True)
class Place:
    """The ready rules for the same requests, which one button saves."""

    slug: str
    lines: Sequence[Line]

    @property
    def new(self) -> list[str]:
        """The names of those that no rule of the site stands for."""
        return [line.name for line in self.lines if not line.used_by]


@dataclass(frozen=True)
class Section:
    title: str
    why: str
    missing: str
    places: Sequence[Place]
    to_fill_in: Sequence[Line]  # whose pattern is to be filled in
    notes: Sequence[str]


def urls(page: Any) -> list[URLPattern]:
    return [path("ready/", page.admin_site.admin_view(_View(page)), name=NAME)]


def sections() -> list[Section]:
    return [_section(group) for group in presets.groups()]


def _section(group: Group) -> Section:
    kind, blanks = group.kind, [_line(group, each) for each in group.to_fill_in]
    by_place = groupby(group.found, lambda each: each.place)
    places = [Place(slug, [_line(group, each) for each in rules]) for slug, rules in by_place]
    return Section(str(kind.title), str(kind.why), str(kind.missing), places, blanks, group.notes)


def _line(group: Group, ready: Preset) -> Line:
    """Of several rules for the same requests, the section says what they share."""
    rule, limits = RateRule(name=ready.name, **ready.fields), parse_rates(ready.rate)
    says, why = (short_sentence(rule, limits), ready.why) if group.kind.parts else (sentence(rule, limits), "")
    return Line(ready.name, says, why, f"{reverse(_ADD)}?{urlencode({'ready': ready.slug})}", ready.used_by)


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
        offered = [each for each in presets.at(request.POST.get("ready", "")) if each.is_complete]
        if not offered:
            messages.error(request, gettext("This ready rule is no longer offered: choose another one."))
        with transaction.atomic(using=router.db_for_write(RateRule)):
            for ready in [each for each in offered if not each.used_by] or offered:
                self._announce(request, *presets.save(ready))
        return HttpResponseRedirect(reverse(f"admin:{NAME}"))

    def _announce(self, request: HttpRequest, rule: RateRule, created: bool) -> None:
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
