"""Which rules were met since a time."""

from datetime import timedelta

import pytest

from ratewindow.conf import time_zone
from ratewindow.models import ThrottleStat
from ratewindow.reporting.met import met_since
from ratewindow.reporting.stored import Resolution, span_start
from ratewindow.reporting.sums import Sums
from tests.support.rule_pages import count

pytestmark = pytest.mark.django_db


def stored(rule: str, days_ago: int, **sums: int) -> None:
    start = span_start(time_zone.now() - timedelta(days=days_ago), Resolution.DAY)
    ThrottleStat.objects.create(rule=rule, resolution=Resolution.DAY, start=start, **sums)


def test_the_rows_of_days_and_the_minutes_that_wait_count() -> None:
    stored("refusing", 3, refused=1)
    stored("other", 3, other=1)
    stored("nothing", 3)
    stored("old", 60, passed=1)
    count(now=Sums(passed=1))
    start = time_zone.now() - timedelta(days=30)
    assert met_since(start).names == {"refusing", "other", "now"}
    assert met_since(start).since == start


def test_while_redis_is_away_the_rows_are_what_is_known() -> None:
    stored("row", 1, passed=1)
    count(now=Sums(passed=1))
    assert met_since(time_zone.now() - timedelta(days=30), ask_redis=False).names == {"row"}


def test_before_the_first_count_nothing_is_known() -> None:
    assert met_since(time_zone.now()).since is None
