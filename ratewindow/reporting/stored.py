"""The rows of ThrottleStat as sums: the span of time of a row, and how rows are set."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from ratewindow.models import ThrottleStat
from ratewindow.models.batches import in_batches
from ratewindow.reporting.sums import NOTHING, Sums, of_columns

Resolution = ThrottleStat.Resolution
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


def sums_of(row: ThrottleStat) -> Sums:
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
    starts = {start for start, _ in wanted}
    with transaction.atomic():
        # Writing first takes SQLite's only lock before reading; other databases lock the rows.
        ThrottleStat.objects.bulk_create(
            [ThrottleStat(resolution=resolution, start=start, rule=rule) for start, rule in wanted], BATCH, ignore_conflicts=True
        )
        raised = []
        for row in (
            ThrottleStat.objects.select_for_update().filter(resolution=resolution, start__in=starts).order_by("start", "rule")
        ):
            stored = sums_of(row)
            sums = rows.get((row.start, row.rule), NOTHING).at_least(stored)
            if sums != stored:
                for name, value in sums._asdict().items():
                    setattr(row, name, dict(value) if isinstance(value, Mapping) else value)
                raised.append(row)
        ThrottleStat.objects.bulk_update(raised, Sums._fields, BATCH)
    return len(raised)
