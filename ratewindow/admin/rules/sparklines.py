"""The last 24 hours of each rule as a small picture in the list of rules, drawn by the server: no script, one query for all."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import last_hour
from ratewindow.conf import time_zone
from ratewindow.models import RateRule
from ratewindow.reporting.periods import DAY, HOUR, Period
from ratewindow.reporting.report import sums_by_step
from ratewindow.reporting.stored import Resolution, span_start
from ratewindow.reporting.summary import number
from ratewindow.reporting.sums import NOTHING, Sums

WIDTH, HEIGHT, GAP = 4, 24, 1  # of a bar

Drawn = Mapping[tuple[datetime, str], Sums]


class ListedRules(last_hour.RefusalsFirstChangeList):
    """Also reads the last 24 hours of the rules on its page."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        request._ratewindow_day = _read(request, [rule.name for rule in self.result_list])  # type: ignore[attr-defined]


def column(request: HttpRequest) -> Callable[[RateRule], SafeString]:
    """An entry of `list_display`."""

    @admin.display(description=_("24 hours"))
    def last_day(rule: RateRule) -> SafeString:
        hours, drawn = request._ratewindow_day  # type: ignore[attr-defined]  # by ListedRules
        return picture([drawn.get((hour, rule.name), NOTHING) for hour in hours])

    return last_day


def _read(request: HttpRequest, names: Iterable[str]) -> tuple[list[datetime], Drawn]:
    now = time_zone.now()
    period = Period(span_start(now, Resolution.HOUR) - DAY + HOUR, now, HOUR, Resolution.HOUR)
    return period.steps(), sums_by_step(period, [*names], last_hour.known(request))


def picture(hours: list[Sums]) -> SafeString:
    """A bar for each hour: of the requests that met the rule, those refused, or that would have been, below the others."""
    most = max((sums.met for sums in hours), default=0)
    if not most:
        return SafeString("")
    refused, would = sum(sums.refused for sums in hours), sum(sums.would_refuse for sums in hours)
    met = number(sum(sums.met for sums in hours))
    if would and not refused:
        label = gettext("%(part)s of %(met)s would be refused in 24 hours") % {"part": number(would), "met": met}
    else:
        label = gettext("%(part)s of %(met)s refused in 24 hours") % {"part": number(refused), "met": met}
    parts: list[tuple[Any, ...]] = []
    for place, sums in enumerate(hours):
        bottom = HEIGHT
        for kind, count in (("refused", sums.refused), ("would", sums.would_refuse), ("passed", sums.met)):
            tall = min(bottom, max(1, round(HEIGHT * count / most)) if count else 0)
            if kind == "passed":
                tall = max(0, min(bottom, round(HEIGHT * count / most) - (HEIGHT - bottom)))
            if tall:
                bottom -= tall
                parts.append((kind, place * (WIDTH + GAP), bottom, WIDTH, tall))
    # Our own words and numbers need no escaping, which would take longer than all else here.
    rect = '<rect class="rw-bar-{}" x="{}" y="{}" width="{}" height="{}"/>'
    bars = SafeString("".join(rect.format(*each) for each in parts))
    template = '<svg class="rw-sparkline" viewBox="0 0 {} {}" role="img" aria-label="{}"><title>{}</title>{}</svg>'
    return format_html(template, len(hours) * (WIDTH + GAP) - GAP, HEIGHT, label, label, bars)
