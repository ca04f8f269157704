"""Alerts without Celery and cron: one process of the site raises them, from the start."""

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from django.apps import apps
from django.conf import settings
from django.core import mail
from django.test import override_settings

from ratewindow import background, conf, process
from ratewindow.conf import time_zone
from ratewindow.contrib.alerts.apps import EVERY_S
from ratewindow.contrib.alerts.models import AlertChannel
from ratewindow.counting import minutes
from ratewindow.counting.counters import counters
from ratewindow.counting.sums import Sums
from ratewindow.health import emergency
from ratewindow.store import outage
from ratewindow.store.breaker import FAILURES_TO_OPEN

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2027, 1, 15, 8, 30, 20, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
CLAIM = "rw:alerts"


class Site:
    """Whose processes do their chore at any moment; `emergencies` are those of now."""

    def __init__(self, redis_client: redis.Redis, patch: pytest.MonkeyPatch) -> None:
        self.redis_client = redis_client
        self.now = NOW
        self.emergencies: list[emergency.Emergency] = []
        patch.setattr(emergency, "now", lambda: self.emergencies)
        patch.setattr(time_zone, "now", lambda: self.now)

    def do_chore(self) -> None:
        apps.get_app_config("ratewindow_alerts").raise_alerts()

    def at(self, minute: int) -> None:
        """A turn of each of three processes."""
        self.now = NOW + minute * MINUTE
        self.redis_client.delete(CLAIM)  # as time would
        for _ in range(3):
            self.do_chore()


@pytest.fixture
def site(redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> Site:
    return Site(redis_client, monkeypatch)


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]


def count(ago: int, at: datetime = NOW) -> None:
    moment = (at - ago * MINUTE).timestamp()
    minutes.send({int(moment) // 60: {"p1|login": Sums(passed=1)}}, moment)


def test_a_rule_that_refuses_nearly_everybody_is_logged_once_and_so_is_its_end(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.at(0)
    assert logged(caplog) == []
    site.emergencies = [emergency.Emergency("login", "login refuses nearly everybody.")]
    site.at(1)
    site.at(2)
    site.emergencies = []
    for minute in range(3, 15):
        site.at(minute)
    assert logged(caplog) == [
        "ratewindow: alert: login refuses nearly everybody.",
        "ratewindow: alert: Over: login refuses nearly everybody.",
    ]


def test_that_nobody_collects_is_logged_once_and_so_is_its_end(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    count(50)
    site.at(0)
    assert logged(caplog) == []
    for minute in range(5, 30, 5):
        site.at(minute)
    (said,) = logged(caplog)
    assert said.startswith("ratewindow: alert: Nobody has collected counts since 07:40.")
    minutes.settle(NOW.timestamp())
    for minute in range(30, 50, 5):
        site.at(minute)
    assert [each.partition("Over: ")[1] for each in logged(caplog)] == ["", "Over: "]


def test_channels_are_sent_their_alerts_too(site: Site) -> None:
    AlertChannel.objects.create(name="ops", addresses="ann@example.com")
    site.emergencies = [emergency.Emergency("login", "login refuses nearly everybody.")]
    site.at(0)
    site.at(1)
    assert [each.subject for each in mail.outbox] == ["Rate limits: login refuses nearly everybody."]
    assert AlertChannel.objects.count() == 1


def test_a_process_that_comes_later_asks_redis_once_and_not_the_database(
    site: Site, redis_client: redis.Redis, django_assert_num_queries: Any
) -> None:
    site.do_chore()
    assert EVERY_S - 2 < redis_client.ttl(CLAIM) < EVERY_S  # it has expired by the next turn of the same process
    before = redis_client.info("stats")["total_commands_processed"]
    with django_assert_num_queries(0):
        site.do_chore()
    assert redis_client.info("stats")["total_commands_processed"] - before <= 2  # with the INFO itself


def test_in_memory_there_is_nothing_to_claim_or_to_collect(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "memory://"}):
        counters.reset()
        site.emergencies = [emergency.Emergency("login", "login refuses nearly everybody.")]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(counters, "held", lambda: {int((NOW - 90 * MINUTE).timestamp()) // 60: {"login": Sums(passed=1)}})
            site.do_chore()
            site.do_chore()
    assert logged(caplog) == ["ratewindow: alert: login refuses nearly everybody."]


def test_that_redis_is_unavailable_is_sent_once_by_whichever_process(site: Site) -> None:
    AlertChannel.objects.create(name="ops", addresses="ann@example.com")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        for _ in range(FAILURES_TO_OPEN):
            outage.breaker.failed(ConnectionError())
        site.do_chore()
        site.do_chore()
        assert [each.subject for each in mail.outbox] == [
            "Rate limits: Redis does not answer, so requests are decided without it."
        ]


def test_each_process_does_so_in_a_thread_of_its_own_but_not_in_the_tests_of_a_site(monkeypatch: pytest.MonkeyPatch) -> None:
    process.start()  # a test with other INSTALLED_APPS has left the chores of its rooms
    room = apps.get_app_config("ratewindow_alerts")
    (chore,) = (each for each in background._chores if each.run == room.raise_alerts)
    assert (chore.thread, chore.interval_s(), chore.has_work) == ("alerts", 15, False)
    monkeypatch.setattr(conf, "tests_run", lambda: False)
    assert chore.has_work
