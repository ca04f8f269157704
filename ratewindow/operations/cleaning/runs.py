"""The runs of the cleaner as rows: what each did, and where the next one begins."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ratewindow.conf import time_zone
from ratewindow.models import CleaningRun

KEPT = 200  # a week of one run an hour
MOST_ERROR = 500  # characters


class Run:
    """A run that is recorded while it goes on, so that one that is killed leaves its position to the next."""

    def __init__(self, dry_run: bool) -> None:
        self._began_s = time.monotonic()
        self.row = CleaningRun(began_at=time_zone.now(), dry_run=dry_run, position=next_position())

    def save(self) -> None:
        self.row.took_ms = round(1000 * (time.monotonic() - self._began_s))
        self.row.save()

    def fail(self, error: BaseException) -> None:
        self.row.ended = CleaningRun.Ended.ERROR
        self.row.error = (str(error) or type(error).__name__)[:MOST_ERROR]


@contextmanager
def recorded(dry_run: bool) -> Iterator[Run]:
    run = Run(dry_run)
    run.save()
    _forget_old()
    try:
        yield run
    except BaseException as error:
        run.fail(error)
        raise
    finally:
        run.save()


def last() -> CleaningRun | None:
    """The last run that deleted keys, or was to."""
    return CleaningRun.objects.filter(dry_run=False).first()


def next_position() -> Mapping[str, str]:
    """Where the next run begins: the cursors of servers that the last one has begun with; empty if it saw all keys."""
    before = last()
    return {} if before is None or before.ended == CleaningRun.Ended.COMPLETE else before.position


def _forget_old() -> None:
    kept = CleaningRun.objects.values_list("pk", flat=True)[:KEPT]
    CleaningRun.objects.exclude(pk__in=list(kept)).delete()
