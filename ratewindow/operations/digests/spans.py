"""The days and weeks that digests are about, by the calendar of the current time zone, and which of them are due."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import islice

from ratewindow.conf import time_zone
from ratewindow.models import AlertChannel

DAILY, WEEKLY = AlertChannel.Digest.DAILY.value, AlertChannel.Digest.WEEKLY.value
DAYS = {DAILY: 1, WEEKLY: 7}
MOST_LATE = {DAILY: 7, WEEKLY: 4}  # older ones are never made up for


@dataclass(frozen=True)
class Span:
    """From midnight of `first` to midnight of `end`: a day, or a week that begins on Monday."""

    kind: str
    end: date

    @property
    def first(self) -> date:
        return self.end - timedelta(days=DAYS[self.kind])

    @property
    def last(self) -> date:
        return self.end - timedelta(days=1)

    @property
    def starts_at(self) -> datetime:
        return _at(self.first)

    @property
    def ends_at(self) -> datetime:
        return _at(self.end)

    def __str__(self) -> str:
        return f"{self.first}" if self.kind == DAILY else f"{self.first} to {self.last}"


def newest(kind: str, now: datetime) -> Span:
    """The last one that is over."""
    return next(_over(kind, now, 0))


def due(channel: AlertChannel, now: datetime) -> list[Span]:
    """Those that are to be sent, the oldest first; without any sent before, the newest alone."""
    over = _over(channel.digest, now, min(channel.digest_hour, 23))  # other programs write any number
    sent = channel.digest_until
    if sent is None:
        return [next(over)]
    return [span for span in islice(over, MOST_LATE[channel.digest]) if span.end > sent][::-1]


def _over(kind: str, now: datetime, hour: int) -> Iterator[Span]:
    """Those that are over, and whose hour has come, the newest first."""
    end = time_zone.local(now).date()
    if kind == WEEKLY:
        end -= timedelta(days=end.weekday())
    while True:
        if _at(end, hour) <= now:
            yield Span(kind, end)
        end -= timedelta(days=DAYS[kind])


def _at(day: date, hour: int = 0) -> datetime:
    return time_zone.aware(datetime.combine(day, time(hour)))
