"""The rows of ThrottleStat as sums: the span of time of a row, and how rows are set, with the rows of all rules together."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from ratewindow.models import ThrottleStat, TotalStat
from ratewindow.models.batches import in_batches
from ratewindow.models.stats import Counts
from ratewindow.reporting.compared import is_line
from ratewindow.reporting.sums import NOTHING, Sums, of_columns

Resolution = Counts.Resolution
SPANS = {Resolution.MINUTE: timedelta(minutes=1), Resolution.HOUR: timedelta(hours=1), Resolution.DAY: timedelta(days=1)}
BATCH = 500

Rows = Mapping[tuple[datetime, str], Sums]  # by start and rule


def minute_start(minute: int) -> datetime:
    """The start of a minute, which is numbered since the epoch."""
    return datetime.fromtimestamp(minute * 60, UTC)


def span_start(moment: datetime, resolution: Resolution) -> datetime:
    """The start of the minute, hour or day of `moment`. Days are days in UTC, all of one length."""
    span_s = int(SPANS[resolution].total_seconds())
    return datetime.fromtimestamp(int(moment.timestamp()) // span_s * span_s, UTC)


def sums_of(row: ThrottleStat | TotalStat) -> Sums:
    return of_columns({name: getattr(row, name) for name in Sums._fields})


def rows_as_sums(rows: "QuerySet[ThrottleStat]") -> dict[tuple[datetime, str], Sums]:
    """The rows by start and rule."""
    found = in_batches(rows, "start", "rule", *Sums._fields)
    return {(start, rule): of_columns(dict(zip(Sums._fields, columns, strict=True))) for _, start, rule, *columns in found}


def set_rows(resolution: Resolution, rows: Rows) -> int:
    """Raise the numbers of the table to at least those of `rows`; return how many rows were raised.

    Numbers are set rather than added, so that a second run changes nothing, and never lowered: counts only grow, so a
    smaller number means that Redis has lost counts, or that another collector has seen more.
    """
    if not rows:
        return 0
    # Sorted, so that two collectors wait for each other instead of deadlocking.
    wanted = sorted((key for key, sums in rows.items() if sums != NOTHING))
    starts = sorted({start for start, _ in wanted})
    with transaction.atomic():
        totals = _locked_totals(resolution, starts)
        ThrottleStat.objects.bulk_create(
            [ThrottleStat(resolution=resolution, start=start, rule=rule) for start, rule in wanted], BATCH, ignore_conflicts=True
        )
        raised, every = [], dict.fromkeys(starts, NOTHING)
        for row in (
            ThrottleStat.objects.select_for_update().filter(resolution=resolution, start__in=starts).order_by("start", "rule")
        ):
            stored = sums_of(row)
            sums = rows.get((row.start, row.rule), NOTHING).at_least(stored)
            if sums != stored:
                _write(row, sums)
                raised.append(row)
            if not is_line(row.rule):
                every[row.start] = every[row.start].plus(sums)
        ThrottleStat.objects.bulk_update(raised, Sums._fields, BATCH)
        changed = [total for total in totals if sums_of(total) != every[total.start]]
        for total in changed:
            _write(total, every[total.start])
        TotalStat.objects.bulk_update(changed, Sums._fields, BATCH)
    return len(raised)


def _locked_totals(resolution: Resolution, starts: Collection[datetime]) -> list[TotalStat]:
    """The rows of all rules together. While one is locked, no other collector adds a rule to it."""
    # Writing first takes SQLite's only lock before reading; other databases lock the rows.
    TotalStat.objects.bulk_create(
        [TotalStat(resolution=resolution, start=start) for start in starts], BATCH, ignore_conflicts=True
    )
    return list(TotalStat.objects.select_for_update().filter(resolution=resolution, start__in=starts).order_by("start"))


def _write(row: ThrottleStat | TotalStat, sums: Sums) -> None:
    for name, value in sums._asdict().items():
        setattr(row, name, dict(value) if isinstance(value, Mapping) else value)
