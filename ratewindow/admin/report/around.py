"""What stands below the report, and changes slowly: hours by weekday, blocks in force, and whether counts are collected."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.http import HttpRequest
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext, ngettext

from ratewindow.admin.addresses import reverse
from ratewindow.admin.overrides.order import counts
from ratewindow.conf import time_zone
from ratewindow.models import ThrottleStat
from ratewindow.operations.staff import may_view_overrides
from ratewindow.reporting.reading import Reading
from ratewindow.reporting.stored import Resolution
from ratewindow.reporting.summary import number
from ratewindow.reporting.weekdays import WEEKS, weekdays
from ratewindow.store import process_clients

SHADES = 5  # of cells in the table of weekdays
LATE = timedelta(minutes=10)  # a collector runs every minute


@dataclass(frozen=True)
class Cell:
    count: str
    shade: int  # from 0, none, to SHADES, the largest


def around(request: HttpRequest, reading: Reading) -> dict[str, Any]:
    """What ``around.html`` shows."""
    return {
        "weekdays": _weekdays(reading),
        "hours": range(24),
        "weeks": WEEKS,
        "in_force": list(counts(request).sentences())[:1] if may_view_overrides(request) else [],
        "in_force_url": reverse("admin:ratewindow_override_changelist"),
        "collecting": list(_collecting(reading)),
    }


def _weekdays(reading: Reading) -> Sequence[tuple[str, Sequence[Cell]]]:
    """Weekdays with their cells; empty if nothing was refused."""
    found = weekdays(reading.rules, reading.now)
    most = max(map(max, found.refused))
    if not most:
        return []
    return [
        (str(WEEKDAYS[day]), [Cell(number(count), -(-SHADES * count // most)) for count in hours])
        for day, hours in enumerate(found.refused)
    ]


def _collecting(reading: Reading) -> Iterator[str]:
    """Whether the rows are up to date; what to do if they are not."""
    if process_clients.in_memory():
        yield gettext("Counts are in the memory of each process: REDIS is memory://. Nothing is collected.")
        return
    if reading.known.live:
        yield gettext("Redis answers.")
    last = ThrottleStat.objects.filter(resolution=Resolution.MINUTE).order_by("-start").values_list("start", flat=True).first()
    waiting = {start for start, _ in reading.known.sums}
    if last is not None:
        yield gettext("The newest collected minute is %s.") % time_zone.in_short(last)
    if waiting and (last is None or max(waiting) - last > LATE):
        late = len([start for start in waiting if last is None or start > last])
        text = ngettext("%s minute waits in Redis.", "%s minutes wait in Redis.", late)
        remedy = gettext("Nobody collects: run Celery's beat and a worker, or manage.py ratewindow collect every minute by cron.")
        yield f"{text % number(late)} {remedy}"
