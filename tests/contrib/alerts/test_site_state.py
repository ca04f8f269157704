"""What the conditions are decided by, from the rows and the minutes in Redis."""

from datetime import UTC, datetime, timedelta

import pytest
import redis
from django.conf import settings
from django.test import override_settings

from ratewindow.contrib.alerts.conditions import SiteState
from ratewindow.counting import minutes
from ratewindow.counting.sums import Sums
from ratewindow.models import RateRule, ThrottleStat
from testproject.redis_server import free_port

pytestmark = pytest.mark.django_db

NOW = datetime(2027, 1, 15, 8, 30, 20, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def send(ago: int, **sums: Sums) -> None:
    moment = (NOW - ago * MINUTE).timestamp()
    minutes.send({int(moment) // 60: {f"p1|{rule}": each for rule, each in sums.items()}}, moment)


def hashes_read(redis_client: redis.Redis) -> int:
    return int(redis_client.info("commandstats").get("cmdstat_hgetall", {"calls": 0})["calls"])


def day(ago: int, rule: str, **counts: int) -> None:
    start = (NOW - ago * DAY).replace(hour=0, minute=0, second=0)
    ThrottleStat.objects.create(resolution="day", start=start, rule=rule, **counts)


def test_the_last_minutes_are_read_from_redis_and_older_ones_are_left_out() -> None:
    send(1, login=Sums(passed=5, refused=7))
    send(3, login=Sums(refused=1))
    send(30, login=Sums(refused=1000))
    state = SiteState(NOW)
    assert state.live
    assert state.lately == {"login": Sums(passed=5, refused=8)}
    assert state.minutes == pytest.approx(5 + 20 / 60)
    assert state.waits_since == (NOW - 30 * MINUTE).replace(second=0)


def test_however_long_nobody_collects_few_minutes_are_read(redis_client: redis.Redis) -> None:
    for ago in range(100):
        send(ago, login=Sums(passed=1))
    before = hashes_read(redis_client)
    assert SiteState(NOW).waits_since == (NOW - 99 * MINUTE).replace(second=0)
    assert hashes_read(redis_client) - before == 20


def test_a_spell_that_goes_on_is_found() -> None:
    for ago in range(5):
        send(ago, login=Sums(passed=10, refused=90))
    assert [(spell.rule, spell.count) for spell in SiteState(NOW).spells] == [("login", 450)]


def test_enforced_rules_are_without_requests_once_counting_has_gone_on_for_so_long() -> None:
    for name, mode in (("met", "enforce"), ("waiting", "enforce"), ("old", "enforce"), ("tried", "shadow")):
        RateRule.objects.define(name, "5/m", mode=mode)
    assert SiteState(NOW).unmatched == []  # nothing was ever counted
    day(2, "met", other=1)
    send(1, waiting=Sums(passed=1))
    assert SiteState(NOW).unmatched == []  # it counts since two days
    day(40, "old", passed=1)
    assert SiteState(NOW).unmatched == ["old"]


def test_days_of_rules_in_shadow_are_added_up_without_today() -> None:
    for name, mode in (("tried", "shadow"), ("new", "shadow"), ("hard", "enforce")):
        RateRule.objects.define(name, "5/m", mode=mode)
    for ago in range(9):
        day(ago, "tried", passed=100, would_refuse=1)
        day(ago, "hard", passed=100)
    for ago in range(7):
        day(ago, "new", passed=100)
    assert SiteState(NOW).tried == {"tried": Sums(passed=700, would_refuse=7)}


def test_without_redis_it_is_said_to_be_away() -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": f"redis://127.0.0.1:{free_port()}/0"}):
        assert not SiteState(NOW).live
