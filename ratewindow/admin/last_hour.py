"""What the rules did in the last hour, in their list: one report for the whole page, and those first that refuse most."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ORDER_VAR, ChangeList
from django.db.models import Case, IntegerField, Value, When
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from ratewindow import conf
from ratewindow.admin.banner import known
from ratewindow.conf import time_zone
from ratewindow.models import RateRule
from ratewindow.reporting.periods import last
from ratewindow.reporting.report import Report, report
from ratewindow.reporting.summary import number, percent
from ratewindow.reporting.sums import NOTHING, Sums

PERIOD = "1h"
MOST_ORDERED = 100  # rules that refuse; behind them the others by name


def counted(request: HttpRequest) -> Report:
    """The report of the last hour, made once for a page; from the rows alone while Redis is silent."""
    if not hasattr(request, "_ratewindow_last_hour"):
        period = last(PERIOD, time_zone.now(), conf.current().retention)
        request._ratewindow_last_hour = report(period, ask_redis=known(request).reachable)  # type: ignore[attr-defined]
    return request._ratewindow_last_hour  # type: ignore[attr-defined,no-any-return]


def column(request: HttpRequest) -> Callable[[RateRule], SafeString]:
    """The column of the list that this request is for."""

    @admin.display(description="last hour")
    def last_hour(rule: RateRule) -> SafeString:
        return of(request, rule.name)

    return last_hour


def of(request: HttpRequest, name: str) -> SafeString:
    """The last hour of one rule. Without Redis nobody knows that a rule was not met."""
    found = counted(request)
    return told(found.rules.get(name, NOTHING), "not met" if found.live else "not known")


def told(sums: Sums, nothing: str) -> SafeString:
    """``1,960 passed · 18,411 refused, 90 %``; of a rule in shadow, what it would have refused; or `nothing`."""
    if not sums.met:
        return format_html('<span class="rw-hour">{}</span>', nothing)
    parts = [("passed", f"{number(sums.passed)} passed")]
    for name, count, words in (("refused", sums.refused, "refused"), ("would", sums.would_refuse, "would be refused")):
        if count:
            parts.append((name, f"{number(count)} {words}, {percent(count, sums.met)}"))
    dot = SafeString('<span class="rw-dot"> · </span>')
    return format_html('<span class="rw-hour">{}</span>', format_html_join(dot, '<span class="rw-hour-{}">{}</span>', parts))


class ByRefusals(ChangeList):
    """Rules in the order of what they refused, and then of what they would have refused, unless somebody sorts them."""

    def get_ordering(self, request: HttpRequest, queryset: Any) -> Any:
        usual = super().get_ordering(request, queryset)
        self._first = [] if ORDER_VAR in self.params else _most_first(counted(request))
        if not self._first:
            return usual
        ranks = [When(name=name, then=Value(rank)) for rank, name in enumerate(self._first)]
        return [Case(*ranks, default=Value(len(ranks)), output_field=IntegerField()).asc(), *usual]

    def get_ordering_field_columns(self) -> Any:
        return {} if self._first else super().get_ordering_field_columns()


def _most_first(found: Report) -> Sequence[str]:
    refusing = [(-sums.refused, -sums.would_refuse, name) for name, sums in found.rules.items()]
    return [name for refused, would, name in sorted(refusing)[:MOST_ORDERED] if refused or would]
