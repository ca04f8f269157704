"""What each rule did in the last hour, as a column of the list of rules, which begins with those that refused most."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ORDER_VAR, ChangeList
from django.db.models import Case, IntegerField, Value, When
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow import conf
from ratewindow.admin.banner import glance
from ratewindow.conf import time_zone
from ratewindow.models import RateRule
from ratewindow.reporting.periods import last
from ratewindow.reporting.report import Report, Waiting, report, waiting
from ratewindow.reporting.summary import number, percent
from ratewindow.reporting.sums import NOTHING, Sums

PERIOD = "1h"
MOST_ORDERED = 100  # rules ordered by their refusals; the others follow by name


def report_for(request: HttpRequest) -> Report:
    """The report of the last hour, made once per request; from the database alone while Redis does not answer."""
    if not hasattr(request, "_ratewindow_last_hour"):
        period = last(PERIOD, time_zone.now(), conf.current().retention)
        request._ratewindow_last_hour = report(period, known=known(request))  # type: ignore[attr-defined]
    return request._ratewindow_last_hour  # type: ignore[attr-defined,no-any-return]


def known(request: HttpRequest) -> Waiting:
    """The minutes in Redis, read once per request."""
    if not hasattr(request, "_ratewindow_waiting"):
        request._ratewindow_waiting = waiting(ask_redis=glance(request).reachable)  # type: ignore[attr-defined]
    return request._ratewindow_waiting  # type: ignore[attr-defined,no-any-return]


def column(request: HttpRequest) -> Callable[[RateRule], SafeString]:
    """An entry of `list_display` that reads this request's report."""

    @admin.display(description=_("last hour"))
    def last_hour(rule: RateRule) -> SafeString:
        return cell(request, rule.name)

    return last_hour


def cell(request: HttpRequest, name: str) -> SafeString:
    """The last hour of one rule; ``not known`` if nothing was collected and Redis does not answer."""
    report = report_for(request)
    return _in_words(report.rules.get(name, NOTHING), gettext("no requests") if report.live else gettext("not known"))


def _in_words(sums: Sums, empty: str) -> SafeString:
    """``1,960 passed · 18,411 refused, 90 %``; in shadow what would have been refused; `empty` if nothing was counted."""
    if not sums.met:
        return format_html('<span class="rw-hour">{}</span>', empty)
    parts = [("passed", gettext("%s passed") % number(sums.passed))]
    if count := sums.refused:
        parts.append(("refused", gettext("%(count)s refused, %(share)s") % _share(count, sums.met)))
    if count := sums.other:
        parts.append(("other", gettext("%s refused by another rule") % number(count)))
    if count := sums.would_refuse:
        parts.append(("would", gettext("%(count)s would be refused, %(share)s") % _share(count, sums.met)))
    dot = SafeString('<span class="rw-dot"> · </span>')
    return format_html('<span class="rw-hour">{}</span>', format_html_join(dot, '<span class="rw-hour-{}">{}</span>', parts))


def _share(count: int, met: int) -> dict[str, str]:
    return {"count": number(count), "share": percent(count, met)}


class RefusalsFirstChangeList(ChangeList):
    """Rules ordered by what they refused, then by what they would have refused, unless the user sorts the list."""

    def get_ordering(self, request: HttpRequest, queryset: Any) -> Any:
        ordering = super().get_ordering(request, queryset)
        self._first = [] if ORDER_VAR in self.params else _by_refusals(report_for(request))
        if not self._first:
            return ordering
        ranks = [When(name=name, then=Value(rank)) for rank, name in enumerate(self._first)]
        return [Case(*ranks, default=Value(len(ranks)), output_field=IntegerField()).asc(), *ordering]

    def get_ordering_field_columns(self) -> Any:
        return {} if self._first else super().get_ordering_field_columns()


def _by_refusals(report: Report) -> Sequence[str]:
    refusing = [(-sums.refused, -sums.would_refuse, name) for name, sums in report.rules.items()]
    return [name for refused, would, name in sorted(refusing)[:MOST_ORDERED] if refused or would]
