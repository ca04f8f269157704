"""The rows of recorded hours: set from what processes have sent, and ended by RETENTION."""

from datetime import UTC, datetime, timedelta

from django.db import IntegrityError, transaction

from ratewindow.models import RecordedHour, Recording
from ratewindow.reporting import hours, recorded_hours
from ratewindow.reporting.peak_counts import HOUR_S
from ratewindow.reporting.recorded_hours import Hour


def collect(now_s: float) -> int:
    """Set the rows of all hours that Redis has; return how many were raised.

    Every number is set to at least what Redis has, and none is lowered. So collecting twice, late, or at once with another
    collector ends with the same rows.
    """
    since = datetime.fromtimestamp(now_s, UTC) - timedelta(seconds=hours.EXPIRES_S + HOUR_S)
    left_out = dict(Recording.objects.filter(until__gt=since).values_list("pk", "left_out"))
    if not left_out:
        return 0  # Redis is not even asked
    found = {
        (recording, hour): peaks.without(left_out[recording])
        for (recording, hour), peaks in hours.read(hours.still_there(now_s)).items()
        if recording in left_out
    }
    return sum(_collected(recording, _start(hour), found[recording, hour]) for recording, hour in sorted(found))


def _collected(recording: int, start: datetime, peaks: Hour) -> bool:
    try:
        return _set(recording, start, peaks)
    except (IntegrityError, RecordedHour.DoesNotExist):
        if Recording.objects.filter(pk=recording).exists():
            raise
        return False  # it has been deleted meanwhile


def _start(hour: int) -> datetime:
    return datetime.fromtimestamp(hour * HOUR_S, UTC)


@transaction.atomic
def _set(recording: int, start: datetime, peaks: Hour) -> bool:
    # Writing first takes SQLite's only lock before reading; other databases lock the row.
    RecordedHour.objects.bulk_create([RecordedHour(recording_id=recording, start=start)], ignore_conflicts=True)
    row = RecordedHour.objects.select_for_update().get(recording=recording, start=start)
    known = recorded_hours.of_json(row.level, row.clients)
    now = peaks.at_least(known)
    if now == known:
        return False
    row.level, row.clients = now.level, now.to_json()
    row.save(update_fields=["level", "clients"])
    return True


def prune(oldest: datetime) -> int:
    """Delete the hours before, and the recordings that ended before; return how many rows."""
    hours_deleted = RecordedHour.objects.filter(start__lt=oldest).delete()[0]
    return hours_deleted + Recording.objects.filter(until__lt=oldest).delete()[0]
