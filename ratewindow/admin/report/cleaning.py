"""What cleaning has done, for the page State: its last runs, and where the next one begins."""

from dataclasses import dataclass

from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext, pgettext

from ratewindow.conf import time_zone
from ratewindow.conf.in_words import duration
from ratewindow.models import CleaningRun
from ratewindow.operations.cleaning import runs
from ratewindow.reporting.summary import number

SHOWN = 5  # runs


@dataclass(frozen=True)
class RunLine:
    """One run as a line of the table."""

    when: str
    took: str
    seen: str
    deleted: str
    freed: str
    ended: str


def last_runs() -> list[RunLine]:
    """The newest first."""
    return [_line(run) for run in CleaningRun.objects.defer("position")[:SHOWN]]


def _line(run: CleaningRun) -> RunLine:
    deleted = number(run.orphans + run.harmed)
    return RunLine(
        when=time_zone.in_short(run.began_at),
        took=duration(max(1000, run.took_ms // 1000 * 1000)),
        seen=number(run.seen),
        deleted=gettext("would be %s, a dry run") % deleted if run.dry_run else deleted,
        freed=_freed(run),
        ended=_ended(run),
    )


def _freed(run: CleaningRun) -> str:
    if run.freed_bytes is None:
        return gettext("not known: the Redis user lacks +memory|usage")
    size = filesizeformat(run.freed_bytes)
    return size if run.measured >= run.orphans else gettext("about %s") % size


def _ended(run: CleaningRun) -> str:
    match run.ended:
        case CleaningRun.Ended.COMPLETE:
            return pgettext("what ended cleaning", "all keys were seen")
        case CleaningRun.Ended.TIME:
            return pgettext("what ended cleaning", "its time was over")
        case CleaningRun.Ended.ERROR:
            return gettext("an error: %s") % run.error
        case _:
            return pgettext("what ended cleaning", "nothing yet, or it was killed")


def next_run() -> str:
    """What the next run will do, in a sentence."""
    if not CleaningRun.objects.exists():
        return gettext("Nothing was cleaned yet. Let cron or Celery run it every hour: manage.py ratewindow clean.")
    if runs.next_position():
        return gettext("The next run goes on where the last one ended.")
    return gettext("The next run begins with the first key.")
