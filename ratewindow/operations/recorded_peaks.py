"""What a recording has found: each client's peak over all its hours, and what the limit did meanwhile."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Max

from ratewindow.conf import time_zone
from ratewindow.limiter.types import Window
from ratewindow.models import RecordedHour, Recording
from ratewindow.operations.backtest.peaks import ClientPeak
from ratewindow.operations.backtest.result import OfPeriod
from ratewindow.operations.backtest.suggestion import suggest
from ratewindow.reporting import recorded_hours
from ratewindow.reporting.recorded_hours import BAD, GOOD, SIGNED_IN, Hour, is_in

MOST_CLIENTS = 20_000  # of all hours together; of more, a smaller share is read
AT_ONCE = 8  # rows in memory


@dataclass(frozen=True)
class Found:
    """The clients of a recording: one of `share` of all, always the same ones."""

    clients: list[ClientPeak]
    share: int
    span: timedelta  # that was recorded by now
    requests: int
    refused: int  # of the requests, by the limit as it was, or in shadow would have been
    refused_clients: int
    refused_innocent: int  # likely, of these clients


@dataclass(slots=True)
class _Client:
    halves: list[int] = field(default_factory=lambda: [0, 0])  # the peak in each half of the time
    requests: int = 0
    refused: int = 0
    marks: int = 0

    @property
    def likely_innocent(self) -> bool:
        """Whether it was signed in, or the site answered all its requests that passed without an error."""
        return bool(self.marks & SIGNED_IN) or self.marks & (GOOD | BAD) == GOOD


def found(recording: Recording) -> Found:
    rows = RecordedHour.objects.filter(recording=recording)
    level: int = rows.aggregate(level=Max("level"))["level"] or 0
    end = min(recording.until, time_zone.now())
    middle = recording.since + (end - recording.since) / 2
    clients: dict[str, _Client] = {}
    for row in rows.order_by("start").iterator(chunk_size=AT_ONCE):
        _add(clients, recorded_hours.of_json(row.level, row.clients).at_level(level), _half(row.start, middle))
        while len(clients) > MOST_CLIENTS:
            level += 1
            clients = {name: one for name, one in clients.items() if is_in(name, level)}
    refused = [one for one in clients.values() if one.refused]
    return Found(
        [
            ClientPeak(f"#{name}", max(one.halves), one.requests, one.likely_innocent, one.halves[0], one.halves[1])
            for name, one in clients.items()
            if any(one.halves)  # else nothing was counted for it
        ],
        1 << level,
        end - recording.since,
        sum(one.requests for one in clients.values()),
        sum(one.refused for one in refused),
        len(refused),
        sum(one.likely_innocent for one in refused),
    )


def of_period(found: Found, window: Window) -> OfPeriod:
    """The peaks under the limit that was recorded, with what it should be."""
    suggestion = suggest(found.clients, window.period_ms, int(found.span.total_seconds() * 1000))
    return OfPeriod(window.period_ms, window.limit, found.clients, suggestion)


def _half(start: datetime, middle: datetime) -> int:
    return int(start >= middle)


def _add(clients: dict[str, _Client], hour: Hour, half: int) -> None:
    for name, (used, beyond, requests, refused, marks) in hour.clients.items():
        one = clients.get(name)
        if one is None:
            one = clients[name] = _Client()
        asked = used + beyond  # what it used within a period and, if it was refused, what it asked on top
        if asked > one.halves[half]:
            one.halves[half] = asked
        one.requests += requests
        one.refused += refused
        one.marks |= marks
