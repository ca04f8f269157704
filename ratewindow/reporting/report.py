"""What the rules decided in a period: the rows of the database and the minutes in Redis that are not collected yet."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import redis
from django.db.models import QuerySet, Sum

from ratewindow.models import ThrottleStat
from ratewindow.reporting import counters, minutes
from ratewindow.reporting.details import details
from ratewindow.reporting.periods import Period
from ratewindow.reporting.stored import SPANS, Resolution, minute_start, span_start, sums_of
from ratewindow.reporting.sums import NOTHING, NUMBERS, Sums
from ratewindow.store import process_clients

Key = TypeVar("Key")
Counted = dict[tuple[datetime, str], Sums]  # by start and rule


@dataclass(frozen=True)
class Report:
    """Sums of a period: by step for the chart, and by rule, with reasons and latency, for the table."""

    period: Period
    steps: Mapping[datetime, Sums]
    rules: Mapping[str, Sums]
    live: bool  # False if Redis could not be read: the last minutes may be missing

    @property
    def total(self) -> Sums:
        total = NOTHING
        for sums in self.rules.values():
            total = total.plus(sums)
        return total


def report(period: Period, rule: str = "", now_s: float | None = None, ask_redis: bool = True) -> Report:
    """Read the sums of one rule or of all in `period`, from the rows alone if not `ask_redis`."""
    live, waiting = ask_redis, {}
    try:
        if ask_redis:
            waiting = _waiting(time.time() if now_s is None else now_s)
    except (redis.RedisError, OSError):
        live = False
    rows = ThrottleStat.objects.filter(rule=rule) if rule else ThrottleStat.objects.all()
    waiting = {key: sums for key, sums in waiting.items() if not rule or key[1] == rule}
    fresh = {
        key: sums for key, sums in _brought_up(waiting, period.resolution, rows).items() if period.start <= key[0] < period.end
    }
    # Spans with waiting minutes are known row by row; all others are added up by the database.
    settled = rows.filter(resolution=period.resolution, start__gte=period.start, start__lt=period.end)
    settled = settled.exclude(start__in={start for start, _ in fresh}).order_by()
    steps = dict.fromkeys(period.steps(), NOTHING)
    by_rule: dict[str, Sums] = {}
    for start, *numbers in _added_up(settled, "start"):
        _add(steps, period.step_of(start), Sums(*numbers))
    for name, *numbers in _added_up(settled, "rule"):
        _add(by_rule, name, Sums(*numbers))
    for (start, name), sums in fresh.items():
        _add(steps, period.step_of(start), Sums.of(sums.numbers))
        _add(by_rule, name, Sums.of(sums.numbers))  # `details` has the rest
    for name, sums in details(period, rows, waiting).items():
        _add(by_rule, name, sums)
    return Report(period, steps, by_rule, live)


def _waiting(now_s: float) -> Counted:
    """The minutes in Redis, collected or not; with memory://, those of this process."""
    by_minute = counters.held() if process_clients.in_memory() else minutes.read(minutes.waiting(now_s))
    return {(minute_start(minute), rule): sums for minute, by_rule in by_minute.items() for rule, sums in by_rule.items()}


def _brought_up(waiting: Counted, resolution: Resolution, rows: "QuerySet[ThrottleStat]") -> Counted:
    """All spans that contain a waiting minute, complete.

    Redis and the rows count the same requests, so the larger number is taken, never the sum: first by minute, then for
    the hours of these minutes, then for the days of these hours.
    """
    fresh = waiting
    for finer, coarser in ((None, Resolution.MINUTE), (Resolution.MINUTE, Resolution.HOUR), (Resolution.HOUR, Resolution.DAY)):
        starts = {span_start(start, coarser) for start, _ in fresh}
        if finer:
            fresh = _in_coarser(fresh, finer, coarser, starts, rows)
        for row in rows.filter(resolution=coarser, start__in=starts):
            key = (row.start, row.rule)
            fresh[key] = fresh.get(key, NOTHING).at_least(sums_of(row))
        if coarser == resolution:
            break
    return fresh


def _in_coarser(
    fresh: Counted, finer: Resolution, coarser: Resolution, starts: set[datetime], rows: "QuerySet[ThrottleStat]"
) -> Counted:
    """The hours of fresh minutes, or the days of fresh hours: these added up with the rows of the rest."""
    total: Counted = {}
    for (start, name), sums in fresh.items():
        _add(total, (span_start(start, coarser), name), sums)
    for begin in starts:
        rest = rows.filter(resolution=finer, start__gte=begin, start__lt=begin + SPANS[coarser])
        for name, *numbers in _added_up(rest.exclude(start__in={start for start, _ in fresh}), "rule"):
            _add(total, (begin, name), Sums(*numbers))
    return total


def _added_up(rows: "QuerySet[ThrottleStat]", by: str) -> Iterable[tuple[Any, ...]]:
    return rows.order_by().values_list(by).annotate(*(Sum(name) for name in NUMBERS))


def _add(to: dict[Key, Sums], key: Key, sums: Sums) -> None:
    to[key] = to.get(key, NOTHING).plus(sums)
