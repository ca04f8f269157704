"""The tallies of a period, which a database cannot add up: why requests were refused, and how long decisions took.

Rows are added up here, so as few as possible are read: those of the period's own resolution, or hours where minutes would
be many, and finer ones only at the edges and where counts are not collected yet.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from ratewindow.models import ThrottleStat
from ratewindow.models.batches import in_batches
from ratewindow.reporting.periods import HOUR, Period
from ratewindow.reporting.stored import SPANS, Resolution, span_start
from ratewindow.reporting.sums import NOTHING, Sums
from ratewindow.reporting.tallies import of_json

LONG = 2 * HOUR  # a longer period of minutes is read in hours

_LEVELS = (Resolution.DAY, Resolution.HOUR, Resolution.MINUTE)
Span = tuple[datetime, datetime]


def details(period: Period, rows: "QuerySet[ThrottleStat]", waiting: Mapping[tuple[datetime, str], Sums]) -> dict[str, Sums]:
    """The tallies of each rule, as Sums whose numbers are 0; `waiting` are the minutes in Redis, by start and rule."""
    fresh = {key: sums for key, sums in waiting.items() if period.start <= key[0] < period.end}
    in_hours = period.resolution == Resolution.MINUTE and period.end - period.start > LONG
    rows = rows.filter(start__gte=period.start, start__lt=period.end).order_by()
    total: dict[str, Sums] = {}
    spans: list[Span] = [(period.start, period.end)]
    for level in _LEVELS[_LEVELS.index(Resolution.HOUR if in_hours else period.resolution) :]:
        news = {span_start(start, level) for start, _ in fresh}
        whole, edges = _divided(period, SPANS[level]) if in_hours and level == Resolution.HOUR else (spans, [])
        found = in_batches(rows.filter(_within(whole), resolution=level), "start", "rule", "reasons", "latency")
        for _, start, rule, reasons, latency in found:
            sums = NOTHING._replace(reasons=of_json(reasons), latency=of_json(latency))
            if level == Resolution.MINUTE:
                _add(total, rule, sums.at_least(fresh.pop((start, rule), NOTHING)))
            elif start not in news:
                _add(total, rule, sums)
        spans = [*edges, *((start, start + SPANS[level]) for start in news)]
    for (_, rule), sums in fresh.items():
        _add(total, rule, sums)
    return total


def _divided(period: Period, span: timedelta) -> tuple[list[Span], list[Span]]:
    """The whole hours of a period, and the rest at both ends."""
    first, last = span_start(period.start, Resolution.HOUR), span_start(period.end, Resolution.HOUR)
    first = first if first == period.start else first + span
    return [(first, last)], [(period.start, first), (last, period.end)]


def _within(spans: Iterable[Span]) -> Q:
    found = Q(pk__in=())
    for start, end in spans:
        found |= Q(start__gte=start, start__lt=end)
    return found


def _add(total: dict[str, Sums], rule: str, sums: Sums) -> None:
    total[rule] = total.get(rule, NOTHING).plus(NOTHING._replace(reasons=sums.reasons, latency=sums.latency))
