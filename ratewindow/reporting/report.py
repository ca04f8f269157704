"""What the rules decided in a period: the rows of the database and the minutes in Redis that are not collected yet."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import redis
from django.db.models import QuerySet, Sum

from ratewindow.models import ThrottleStat
from ratewindow.models.batches import in_batches
from ratewindow.reporting import counters, minutes, open_spans
from ratewindow.reporting.periods import Period
from ratewindow.reporting.stored import minute_start, rows_as_sums
from ratewindow.reporting.sums import NOTHING, NUMBERS, TALLIES, Sums, of_columns
from ratewindow.store import process_clients

Key = TypeVar("Key")


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
    live, waiting = ask_redis, dict[tuple[datetime, str], Sums]()
    try:
        if ask_redis:
            waiting = waiting_counts(time.time() if now_s is None else now_s)
    except (redis.RedisError, OSError):
        live = False
    rows = ThrottleStat.objects.filter(rule=rule) if rule else ThrottleStat.objects.all()
    waiting = {key: sums for key, sums in waiting.items() if not rule or key[1] == rule}
    opened = open_spans.complete(waiting, period.resolution, lambda condition: rows_as_sums(rows.filter(condition)))
    opened = {key: sums for key, sums in opened.items() if period.start <= key[0] < period.end}
    steps = dict.fromkeys(period.steps(), NOTHING)
    by_rule: dict[str, Sums] = {}
    settled = rows.filter(open_spans.settled(period, opened))
    for start, *numbers in _added_up(settled, "start"):
        _add(steps, period.step_of(start), Sums.of(numbers))
    for name, *numbers in _added_up(settled, "rule"):
        _add(by_rule, name, Sums.of(numbers))
    # Databases cannot add up JSON.
    for _, name, *columns in in_batches(rows.filter(open_spans.settled_in_hours(period, opened)), "rule", *TALLIES):
        _add(by_rule, name, of_columns(dict(zip(TALLIES, columns, strict=True))))
    for (start, name), sums in opened.items():
        _add(steps, period.step_of(start), Sums.of(sums.numbers))
        _add(by_rule, name, sums)
    return Report(period, steps, by_rule, live)


def waiting_counts(now_s: float) -> dict[tuple[datetime, str], Sums]:
    """The minutes in Redis, collected or not; with memory://, those of this process."""
    by_minute = counters.held() if process_clients.in_memory() else minutes.read(minutes.waiting(now_s))
    return {(minute_start(minute), rule): sums for minute, by_rule in by_minute.items() for rule, sums in by_rule.items()}


def _added_up(rows: "QuerySet[ThrottleStat]", by: str) -> Iterable[tuple[Any, ...]]:
    return rows.order_by().values_list(by).annotate(*(Sum(name) for name in NUMBERS))


def _add(to: dict[Key, Sums], key: Key, sums: Sums) -> None:
    to[key] = to.get(key, NOTHING).plus(sums)
