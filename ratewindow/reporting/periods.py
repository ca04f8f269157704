"""The period of a report, and the steps in which it is shown."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from ratewindow.conf import time_zone
from ratewindow.reporting.stored import SPANS, Resolution, span_start

MINUTE, HOUR, DAY = SPANS[Resolution.MINUTE], SPANS[Resolution.HOUR], SPANS[Resolution.DAY]
MOST_STEPS = 100  # in a chart or table
MOST_HOURS = timedelta(days=60)  # a longer period is read in days, so that a report never reads too many rows
LONGEST = timedelta(days=3 * 366)

# What a person can choose: length, label of the link, words in a sentence; texts are lazy.
CHOICES: Mapping[str, tuple[timedelta, Any, Any]] = {
    "15m": (timedelta(minutes=15), _("15 min"), _("the last 15 minutes")),
    "1h": (HOUR, _("1 h"), _("the last hour")),
    "24h": (DAY, _("24 h"), _("the last 24 hours")),
    "7d": (timedelta(days=7), _("7 d"), _("the last 7 days")),
    "30d": (timedelta(days=30), _("30 d"), _("the last 30 days")),
    "1y": (timedelta(days=365), _("1 y"), _("the last year")),
}
_STEPS = (*(n * MINUTE for n in (1, 5, 15)), *(n * HOUR for n in (1, 2, 6)), *(n * DAY for n in (1, 7, 30)))


@dataclass(frozen=True)
class Period:
    """From `start` until before `end`; `resolution` is that of the rows to read."""

    start: datetime
    end: datetime
    step: timedelta
    resolution: Resolution
    words: str = ""  # "the last hour"; empty for a period between two dates

    def step_of(self, moment: datetime) -> datetime:
        """The start of the step that contains `moment`, by the wall clock of the current time zone."""
        if self.step < HOUR:
            span_s = int(self.step.total_seconds())
            return datetime.fromtimestamp(int(moment.timestamp()) // span_s * span_s, UTC)
        local = self.local(moment).replace(minute=0, second=0, microsecond=0)
        if self.step < DAY:
            return local.replace(hour=local.hour - local.hour % (self.step // HOUR)).astimezone(UTC)
        day = local.replace(hour=0, fold=0)
        return (day - timedelta(days=(day.toordinal() - 1) % (self.step // DAY))).astimezone(UTC)

    def local(self, moment: datetime) -> datetime:
        """`moment` as shown: in the current time zone, or in UTC where the rows are of days in UTC."""
        return moment.astimezone(UTC) if self.resolution == Resolution.DAY else time_zone.local(moment)

    @property
    def zone(self) -> str:
        """The name of the time zone in which `local` shows."""
        return "UTC" if self.resolution == Resolution.DAY else timezone.get_current_timezone_name()

    def steps(self) -> list[datetime]:
        """The start of every step."""
        steps: dict[datetime, None] = {}
        moment = span_start(self.start, self.resolution)
        if moment < self.start:  # midnight in India is at half past in UTC: the row of that hour began the day before
            moment += SPANS[self.resolution]
        while moment < self.end:
            steps[self.step_of(moment)] = None
            moment += SPANS[self.resolution]
        return list(steps)


def last(choice: str, now: datetime, kept: Mapping[str, timedelta]) -> Period:
    """One of CHOICES, up to and including the current minute."""
    length, __, words = CHOICES[choice]
    return between(now - length, now, now, kept, str(words))


def between(start: datetime, end: datetime, now: datetime, kept: Mapping[str, timedelta], words: str = "") -> Period:
    """From the start of the step of `start` to `end`; `kept` is how long rows of each resolution are kept."""
    step = next((step for step in _STEPS if (end - start) / step <= MOST_STEPS), _STEPS[-1])
    resolution = Resolution.MINUTE if step < HOUR else Resolution.HOUR if end - start <= MOST_HOURS else Resolution.DAY
    if resolution == Resolution.MINUTE and now - start > kept["minute"]:
        resolution = Resolution.HOUR
    if resolution == Resolution.HOUR and now - start > kept["hour"]:
        resolution = Resolution.DAY
    period = Period(start, end, max(step, SPANS[resolution]), resolution, words)
    return dataclasses.replace(period, start=period.step_of(start))
