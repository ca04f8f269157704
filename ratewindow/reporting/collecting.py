"""Collect counts: minutes from Redis into rows, minutes into hours, hours into days."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TypeVar

from django.db.models import Q, Sum

from ratewindow import conf
from ratewindow.models import OffenderStat, ThrottleStat, TotalStat
from ratewindow.reporting import minutes, offender_rows, recorded_rows
from ratewindow.reporting.offender_rows import EVERY_RULE
from ratewindow.reporting.report import of_rules
from ratewindow.reporting.stored import SPANS, Resolution, minute_start, rows_as_sums, set_rows, span_start
from ratewindow.reporting.sums import NOTHING, Sums
from ratewindow.reporting.who import NOBODY, Who
from ratewindow.store import malformed, process_clients

QUIET_S = 600  # a minute that no process has sent to for so long is collected no more, unless one does
MINUTES_AT_ONCE = 30  # in one transaction, so that a long backlog is stored piece by piece


Value = TypeVar("Value", Sums, Who)


@dataclass(frozen=True)
class Collected:
    """What one run did. Rows that were up to date are not counted."""

    minutes_read: int = 0
    rows_set: int = 0
    rows_pruned: int = 0
    odd: int = 0  # counts left out, since they are not as this version writes them

    def __str__(self) -> str:
        return ", ".join(
            (
                f"{self.minutes_read} {'minute' if self.minutes_read == 1 else 'minutes'} read",
                f"{self.rows_set} {'row' if self.rows_set == 1 else 'rows'} set",
                f"{self.rows_pruned} old {'row' if self.rows_pruned == 1 else 'rows'} deleted",
                *([f"{self.odd} odd {'count' if self.odd == 1 else 'counts'} left out"] if self.odd else []),
            )
        )


def collect_stats(now_s: float | None = None) -> Collected:
    """Bring the rows up to date with Redis, and delete those that are older than ``RETENTION``.

    Every step sets rows rather than adding to them, and minutes leave Redis last: the next run finishes one that
    was killed, and running twice changes nothing.
    """
    if process_clients.in_memory():
        return Collected()  # there, counts stay in the process
    now_s, odd = time.time() if now_s is None else now_s, malformed.total()
    waiting = minutes.waiting(now_s)
    rows_set = sum(_store(chunk) for chunk in _chunks(waiting))
    for resolution, finer in ((Resolution.HOUR, Resolution.MINUTE), (Resolution.DAY, Resolution.HOUR)):
        rows_set += sum(
            _fold(start, finer, resolution) for start in sorted({span_start(minute_start(m), resolution) for m in waiting})
        )
    _join_days(sorted({span_start(minute_start(minute), Resolution.DAY) for minute in waiting}), now_s)
    rows_set += recorded_rows.collect(now_s)
    minutes.settle(waiting, quiet_since_s=now_s - QUIET_S)
    return Collected(len(waiting), rows_set, _prune(now_s), malformed.total() - odd)


def _chunks(numbers: Iterable[int]) -> Iterable[list[int]]:
    rest = iter(numbers)
    while chunk := list(islice(rest, MINUTES_AT_ONCE)):
        yield chunk


def _store(chunk: list[int]) -> int:
    offender_rows.set_rows(Resolution.MINUTE, {key: who.cut() for key, who in _by_start(minutes.read_who(chunk)).items()})
    return set_rows(Resolution.MINUTE, _by_start(minutes.read(chunk)))


def _by_start(counted: Mapping[int, Mapping[str, Value]]) -> dict[tuple[datetime, str], Value]:
    return {(minute_start(minute), rule): value for minute, by_rule in counted.items() for rule, value in by_rule.items()}


def _fold(start: datetime, finer: Resolution, coarser: Resolution) -> int:
    """Add up the finer rows of one span. If some are deleted already, the sum is too small; `set_rows` lowers nothing."""
    span = Q(resolution=finer, start__gte=start, start__lt=start + SPANS[coarser])
    _fold_offenders(start, span, coarser)
    totals: dict[tuple[datetime, str], Sums] = {}
    for (_, rule), sums in rows_as_sums(ThrottleStat.objects.filter(span)).items():  # databases cannot add up JSON
        totals[start, rule] = totals.get((start, rule), NOTHING).plus(sums)
    return set_rows(coarser, totals)


def _join_days(starts: Iterable[datetime], now_s: float) -> None:
    """Of each of these days that is over, add up who was refused by all rules, so that a report of a year reads few rows."""
    for start in starts:
        if (start + SPANS[Resolution.DAY]).timestamp() > now_s:
            continue
        rows = OffenderStat.objects.filter(of_rules(""), resolution=Resolution.DAY, start=start).exclude(rule=EVERY_RULE)
        every = NOBODY
        for who in offender_rows.read(rows).values():
            every = every.plus(who)
        offender_rows.set_rows(Resolution.DAY, {(start, EVERY_RULE): every.cut()})


def _fold_offenders(start: datetime, span: Q, coarser: Resolution) -> None:
    """Add up the finer rows of the rules that have met more requests by these than by their coarser rows."""
    heads = OffenderStat.objects.filter(kind=OffenderStat.Kind.ALL).order_by()
    known = dict(heads.filter(resolution=coarser, start=start).values_list("rule", "met"))
    counted = heads.filter(span).values_list("rule").annotate(Sum("met"))
    behind = [rule for rule, met in counted if met > known.get(rule, 0)]
    totals: dict[tuple[datetime, str], Who] = {}
    for (_, rule), who in offender_rows.read(OffenderStat.objects.filter(span, rule__in=behind)).items():
        totals[start, rule] = totals.get((start, rule), NOBODY).plus(who)
    offender_rows.set_rows(coarser, {key: who.cut() for key, who in totals.items()})


def _prune(now_s: float) -> int:
    now = datetime.fromtimestamp(now_s, UTC)
    deleted = 0
    for resolution, kept in conf.current().retention.items():
        for model in (ThrottleStat, TotalStat, OffenderStat):
            deleted += model.objects.filter(resolution=resolution, start__lt=now - kept).delete()[0]
    return deleted + recorded_rows.prune(now - conf.current().retention[Resolution.HOUR])
