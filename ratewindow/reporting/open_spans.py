"""Spans of time that have minutes waiting in Redis, complete: the rows of the rest of each span, and the waiting minutes.

Redis and the rows count the same requests, so of two reports of one minute the larger is taken, never the sum; likewise for the
hours of these minutes, then for the days of these hours. All other spans are as their rows say.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Q

from ratewindow.reporting.periods import Period
from ratewindow.reporting.stored import SPANS, Resolution, span_start
from ratewindow.reporting.sums import Sums
from ratewindow.reporting.who import Who

Value = TypeVar("Value", Sums, Who)
Key = tuple[datetime, str]  # start and rule
Read = Callable[[Q], dict[Key, Value]]  # the rows that meet a condition, by start and rule

COARSER = {Resolution.MINUTE: Resolution.HOUR, Resolution.HOUR: Resolution.DAY}
LONG = 2  # coarser spans: a period that is longer is read in these where its steps do not matter


def complete(waiting: Mapping[Key, Value], resolution: Resolution, read: Read[Value]) -> dict[Key, Value]:
    """All spans of that resolution with a waiting minute, complete. As many queries whatever there is.

    If `read` finds no finer rows, it is the larger of what waits and the row of the span.
    """
    found = dict(waiting)
    for finer, coarser in ((None, Resolution.MINUTE), (Resolution.MINUTE, Resolution.HOUR), (Resolution.HOUR, Resolution.DAY)):
        known = {start for start, _ in found}
        starts = {span_start(start, coarser) for start in known}
        if finer:
            rest = within([(start, start + SPANS[coarser]) for start in starts])
            found = _added_up({**read(Q(resolution=finer) & rest & ~Q(start__in=known)), **found}, coarser)
        for key, value in read(Q(resolution=coarser, start__in=starts)).items():
            found[key] = found[key].at_least(value) if key in found else value
        if coarser == resolution:
            break
    return found


def settled(period: Period, opened: Mapping[Key, Any]) -> Q:
    """The rows of a period outside of the spans in `opened`, which are of the period's resolution."""
    within_period = Q(start__gte=period.start, start__lt=period.end)
    return within_period & Q(resolution=period.resolution) & ~Q(start__in=_starts(opened))


def settled_coarsely(period: Period, opened: Mapping[Key, Any]) -> Q:
    """`settled` in fewer rows: those of hours instead of minutes, or of days instead of hours, where steps do not matter."""
    whole, ends = settled_parts(period, opened)
    return whole | ends


def settled_parts(period: Period, opened: Mapping[Key, Any]) -> tuple[Q, Q]:
    """`settled_coarsely` as the rows of whole spans, and those at the ends of the period and beside open spans."""
    coarser = COARSER.get(period.resolution)
    if coarser is None or period.end - period.start <= LONG * SPANS[coarser]:
        return settled(period, opened), Q(pk__in=())
    span = SPANS[coarser]
    first, last = span_start(period.start, coarser), span_start(period.end, coarser)
    first = first if first == period.start else first + span
    broken = {span_start(start, coarser) for start, _ in opened}
    whole = Q(resolution=coarser, start__gte=first, start__lt=last) & ~Q(start__in=broken)
    ends = Q(pk__in=())
    for start, end in ((period.start, first), (last, period.end), *((start, start + span) for start in sorted(broken))):
        # Each with all that an index knows, so that databases join their ranges.
        within_span = Q(start__gte=max(start, period.start), start__lt=min(end, period.end))
        ends |= within_span & Q(resolution=period.resolution) & ~Q(start__in=_starts(opened))
    return whole, ends


def _starts(opened: Mapping[Key, Any]) -> list[datetime]:
    return sorted({start for start, _ in opened})


def within(spans: list[tuple[datetime, datetime]]) -> Q:
    """The rows of any of these spans."""
    found = Q(pk__in=())
    for start, end in spans:
        found |= Q(start__gte=start, start__lt=end)
    return found


def _added_up(values: Mapping[Key, Value], resolution: Resolution) -> dict[Key, Value]:
    total: dict[Key, Value] = {}
    for (start, rule), value in values.items():
        key = (span_start(start, resolution), rule)
        total[key] = total[key].plus(value) if key in total else value
    return total
