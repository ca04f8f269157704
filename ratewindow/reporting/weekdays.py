"""When in the week rules refuse: each hour of each weekday, by the wall clock, over some weeks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Sum

from ratewindow import conf
from ratewindow.conf import time_zone
from ratewindow.models import ThrottleStat
from ratewindow.reporting.periods import DAY
from ratewindow.reporting.report import Rules, of_rules
from ratewindow.reporting.stored import Resolution

WEEKS = 4


@dataclass(frozen=True)
class Weekdays:
    """`refused` by weekday, Monday first, and by hour."""

    start: datetime
    refused: Sequence[Sequence[int]]

    def __bool__(self) -> bool:
        return any(map(any, self.refused))


def weekdays(rules: Rules, now: datetime) -> Weekdays:
    """Of the last weeks, as far as hours are kept. By one query."""
    start = now - min(timedelta(weeks=WEEKS), conf.current().retention["hour"] // (7 * DAY) * 7 * DAY or DAY)
    rows = ThrottleStat.objects.filter(of_rules(rules), resolution=Resolution.HOUR, start__gte=start).order_by()
    refused = [[0] * 24 for _ in range(7)]
    for hour, count in rows.values_list("start").annotate(Sum("refused")):
        local = time_zone.local(hour)
        refused[local.weekday()][local.hour] += count
    return Weekdays(start, refused)
