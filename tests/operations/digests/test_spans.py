"""Which days and weeks are over and due."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from ratewindow.models import AlertChannel
from ratewindow.operations.digests.spans import DAILY, WEEKLY, due, newest

NOW = datetime(2027, 1, 15, 8, 30, tzinfo=UTC)  # a Friday


def channel(digest: str, until: date | None, hour: int = 8) -> AlertChannel:
    return AlertChannel(digest=digest, digest_until=until, digest_hour=hour)


def test_a_week_begins_on_monday() -> None:
    week = newest(WEEKLY, NOW)
    assert (week.first, week.last, str(week)) == (date(2027, 1, 4), date(2027, 1, 10), "2027-01-04 to 2027-01-10")
    assert newest(WEEKLY, datetime(2027, 1, 18, tzinfo=UTC)).last == date(2027, 1, 17)
    assert newest(WEEKLY, datetime(2027, 1, 17, 23, 59, tzinfo=UTC)).last == date(2027, 1, 10)


@pytest.mark.parametrize(("hour", "days"), [(0, [14]), (8, [14]), (9, [])])
def test_a_day_is_due_from_its_hour_on(hour: int, days: list[int]) -> None:
    assert [span.first.day for span in due(channel(DAILY, date(2027, 1, 14), hour), NOW)] == days


def test_missed_ones_are_due_for_a_week_or_four_weeks() -> None:
    assert [span.first.day for span in due(channel(DAILY, date(2026, 1, 1)), NOW)] == [8, 9, 10, 11, 12, 13, 14]
    weeks = [span.first for span in due(channel(WEEKLY, date(2026, 1, 1)), NOW)]
    assert weeks == [date(2026, 12, 14), date(2026, 12, 21), date(2026, 12, 28), date(2027, 1, 4)]
    assert [span.first.day for span in due(channel(DAILY, None), NOW)] == [14]


@pytest.mark.parametrize(("day", "hours"), [(date(2026, 3, 30), 23), (date(2026, 10, 26), 25), (date(2026, 10, 27), 24)])
def test_a_day_is_as_long_as_the_clock_says(day: date, hours: int) -> None:
    with timezone.override(ZoneInfo("Europe/Berlin")):
        span = newest(DAILY, datetime(day.year, day.month, day.day, 12, tzinfo=UTC))
        assert span.end == day
        assert span.ends_at.astimezone(UTC) - span.starts_at.astimezone(UTC) == timedelta(hours=hours)


def test_an_hour_that_the_clock_skips_comes_all_the_same() -> None:
    with timezone.override(ZoneInfo("Europe/Berlin")):
        at = channel(DAILY, date(2026, 3, 28), 2)
        assert due(at, datetime(2026, 3, 29, 0, 59, tzinfo=UTC)) == []
        assert [span.first.day for span in due(at, datetime(2026, 3, 29, 1, 0, tzinfo=UTC))] == [28]
