"""Collect counts: minutes from Redis into rows, minutes into hours, hours into days."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from ratewindow import conf
from ratewindow.models import ThrottleStat
from ratewindow.models.batches import in_batches
from ratewindow.reporting import minutes
from ratewindow.reporting.stored import SPANS, Resolution, minute_start, set_rows, span_start
from ratewindow.reporting.sums import NOTHING, Sums, of_columns
from ratewindow.store import malformed, process_clients

QUIET_S = 600  # a minute that no process has sent to for so long is collected no more, unless one does
MINUTES_AT_ONCE = 30  # in one transaction, so that a long backlog is stored piece by piece


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
    minutes.settle(waiting, quiet_since_s=now_s - QUIET_S)
    return Collected(len(waiting), rows_set, _prune(now_s), malformed.total() - odd)


def _chunks(numbers: Iterable[int]) -> Iterable[list[int]]:
    rest = iter(numbers)
    while chunk := list(islice(rest, MINUTES_AT_ONCE)):
        yield chunk


def _store(chunk: list[int]) -> int:
    counted = minutes.read(chunk)
    return set_rows(
        Resolution.MINUTE,
        {(minute_start(minute), rule): sums for minute, by_rule in counted.items() for rule, sums in by_rule.items()},
    )


def _fold(start: datetime, finer: Resolution, coarser: Resolution) -> int:
    """Add up the finer rows of one span. If some are deleted already, the sum is too small; `set_rows` lowers nothing."""
    rows = ThrottleStat.objects.filter(resolution=finer, start__gte=start, start__lt=start + SPANS[coarser])
    totals: dict[tuple[datetime, str], Sums] = {}
    for _, rule, *columns in in_batches(rows, "rule", *Sums._fields):  # not added up there: databases cannot add JSON
        sums = of_columns(dict(zip(Sums._fields, columns, strict=True)))
        totals[start, rule] = totals.get((start, rule), NOTHING).plus(sums)
    return set_rows(coarser, totals)


def _prune(now_s: float) -> int:
    now = datetime.fromtimestamp(now_s, UTC)
    deleted = 0
    for resolution, kept in conf.current().retention.items():
        deleted += ThrottleStat.objects.filter(resolution=resolution, start__lt=now - kept).delete()[0]
    return deleted
