"""Counts that no process of this version has written: they spoil neither collecting, nor the report, nor cleaning."""

import time
from io import StringIO

import pytest
import redis
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from ratewindow.counting.collecting import collect_stats
from ratewindow.counting.sums import Sums
from ratewindow.models import ThrottleStat
from ratewindow.operations.cleaning import clean_orphans
from ratewindow.store import state_keys
from tests.support.made_counts import NOW_MINUTE, NOW_S, sent

pytestmark = pytest.mark.django_db

ODD = {
    f"p9|{'a' * 65}": "[[1,0,0,0,0,0],{},{}]",
    "p9|zero\x00": "[[1,0,0,0,0,0],{},{}]",
    "p9|line\nbreak": "[[1,0,0,0,0,0],{},{}]",
    "p9|": "[[1,0,0,0,0,0],{},{}]",
    "p9": "[[1,0,0,0,0,0],{},{}]",
    "p9|login": f"[[{'9' * 18},0,0,0,0,0,0],{{}},{{}}]",
    "p8|login": f"[[{'9' * 400},0,0,0,0,0,0],{{}},{{}}]",
    "p7|login": "[[-1,0,0,0,0,0],{},{}]",
    b"p5|\xff\xfe": b"\xff",
}


def test_odd_counts_are_left_out_and_logged_and_all_others_collected(
    redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    sent(0, {"login": Sums(passed=3), "api": Sums(refused=2)}, "p1")
    redis_client.hset(state_keys.minute(NOW_MINUTE), mapping=ODD)
    collect_stats(NOW_S)
    assert set(ThrottleStat.objects.values_list("rule", "passed", "refused").distinct()) == {("login", 3, 0), ("api", 0, 2)}
    collect_stats(NOW_S)
    assert len([record for record in caplog.records if "count in Redis is left out" in record.getMessage()]) == len(ODD)


def test_minutes_with_odd_names_are_none(redis_client: redis.Redis) -> None:
    sent(0, {"login": Sums(passed=3)}, "p1")
    redis_client.zadd(state_keys.minutes(), {"9" * 400: 1, "x": 2, "-5": 3, "٣": 4, b"\xff": float("inf")})
    assert collect_stats(NOW_S).startswith("minutes read: 1, ")


def test_the_report_shows_what_is_right(redis_client: redis.Redis, admin_client: Client) -> None:
    minute = int(time.time()) // 60
    redis_client.zadd(state_keys.minutes(), {str(minute): minute * 60})
    redis_client.hset(state_keys.minute(minute), mapping={**ODD, "p1|login": "[[3,0,0,0,0,0],{},{}]"})
    answer = admin_client.get(reverse("admin:ratewindow_report"))
    assert answer.status_code == 200 and b"login" in answer.content and b"aaaaaaa" not in answer.content
    assert admin_client.get(reverse("admin:ratewindow_state")).status_code == 200


@pytest.mark.parametrize("seen", ["9" * 400, "9" * 5000, "x", "", "1e999", "-1", b"\xff"])
def test_an_odd_time_of_a_site_keeps_nobody_from_cleaning(seen: str, redis_client: redis.Redis) -> None:
    redis_client.hset(state_keys.sites(), mapping={"somebody": seen, b"\xfe": seen})
    clean_orphans()
    call_command("ratewindow", "clean", stdout=StringIO())
