"""A report as the chart and its table show it: a label and numbers for each step."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import gettext, pgettext

from ratewindow.conf import time_zone
from ratewindow.reporting.periods import DAY, HOUR, Period
from ratewindow.reporting.report import Report
from ratewindow.reporting.summary import number


@dataclass(frozen=True)
class Step:
    """One line of the table, as text."""

    label: str
    passed: str
    refused: str
    other: str  # refused by another rule
    would_refuse: str


def steps(report: Report) -> list[Step]:
    return [
        Step(
            label=long_label(report.period, start),
            passed=number(sums.passed),
            refused=number(sums.refused),
            other=number(sums.other),
            would_refuse=number(sums.would_refuse),
        )
        for start, sums in report.steps.items()
    ]


def span(report: Report) -> str:
    """Start, end and time zone of a report, as text."""
    start, end = (report.period.local(moment) for moment in (report.period.start, report.period.end))
    words = pgettext("date format", "D j M Y, H:i") if report.period.step >= DAY else pgettext("date format", "D j M, H:i")
    values = {"start": date_format(start, words), "end": date_format(end, words), "zone": report.period.zone}
    return gettext("%(start)s to %(end)s, %(zone)s") % values


def chart_data(report: Report) -> dict[str, Any]:
    """The chart's data as JSON. It has labels instead of times, so that the script needs no time zone."""
    period, columns = report.period, list(report.steps.values())
    return {
        "step": int(period.step.total_seconds()),
        # The number of each step by the wall clock: a tick stands where it divides evenly, at 12:00 and not at 12:03.
        "wall": [_wall_s(period.local(start)) // int(period.step.total_seconds()) for start in report.steps],
        "short": [_short_label(period, start) for start in report.steps],
        "long": [long_label(period, start) for start in report.steps],
        "from": [_typed(start) for start in report.steps],
        "to": _typed(period.end),
        "passed": [sums.passed for sums in columns],
        "refused": [sums.refused for sums in columns],
        "would_refuse": [sums.would_refuse for sums in columns],
    }


def long_label(period: Period, start: datetime) -> str:
    """``"Fri 20 Nov, 14:00"``; a step of days needs no time."""
    local = period.local(start)
    return date_format(local, pgettext("date format", "D j M Y") if period.step >= DAY else pgettext("date format", "D j M, H:i"))


def _typed(moment: datetime) -> str:
    """As the form of the report takes it."""
    return f"{time_zone.local(moment):%Y-%m-%dT%H:%M}"


def _short_label(period: Period, start: datetime) -> str:
    local = period.local(start)
    at_midnight = local.hour == 0 and local.minute == 0 and period.step >= HOUR
    is_day = period.step >= DAY or at_midnight
    return date_format(local, pgettext("date format", "j M") if is_day else pgettext("date format", "H:i"))


def _wall_s(local: datetime) -> int:
    return local.toordinal() * 86400 + local.hour * 3600 + local.minute * 60
