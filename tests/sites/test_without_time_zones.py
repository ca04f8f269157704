"""A site with ``USE_TZ = False``: every page, every command and every task, and times that mean what they say."""

import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.core import serializers
from django.core.management import call_command
from django.db import connection
from django.test import Client, override_settings
from django.urls import reverse

from ratewindow import tasks
from ratewindow.conf import time_zone
from ratewindow.contrib.alerts.models import AlertChannel
from ratewindow.counting import minutes
from ratewindow.counting.collecting import collect_stats
from ratewindow.counting.sums import Sums
from ratewindow.health import overview
from ratewindow.management.commands.ratewindow import subcommands
from ratewindow.models import LimitSwitch, Override, RateRule, ThrottleStat
from ratewindow.operations import switch_off
from ratewindow.report.report import Report, between, waiting
from ratewindow.rulebook import reading
from tests.support.admin_addresses import addresses
from tests.support.doors import behind_middleware, plain, statuses

pytestmark = pytest.mark.django_db

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=BERLIN)
HALF_PAST_TWO = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN)  # which comes twice in that night
ME = "203.0.113.9"
ADD = reverse("admin:ratewindow_override_add")


@pytest.fixture(autouse=True)
def zoneless() -> Iterator[None]:
    with override_settings(USE_TZ=False, TIME_ZONE="Europe/Berlin"):
        yield


@pytest.fixture
def rows() -> None:
    """One of each."""
    RateRule.objects.define("login", "5/m", path="/login/", mode="shadow")
    Override.objects.block(f"ip:{ME}", duration="1h", reason="trying passwords")
    AlertChannel.objects.create(name="staff", way="log", sent_at=time_zone.now())
    switch_off.turn_off(3600, "a trial", "ann")
    start = time_zone.now().replace(second=0, microsecond=0) - timedelta(minutes=5)
    ThrottleStat.objects.create(rule="login", resolution="minute", start=start, passed=5, refused=2)
    minutes.send({int(time_zone.now().timestamp()) // 60: {"p1|login": Sums(passed=3)}}, time_zone.now().timestamp())


def typed(**fields: str) -> dict[str, str]:
    return {
        "action": "block",
        "identity": f"ip:{ME}",
        "lasts": "1h",
        "expires_at_0": "",
        "expires_at_1": "",
        "reason": "scraping",
        **fields,
    }


def ratewindow(*line: str) -> str:
    out = io.StringIO()
    call_command("ratewindow", *line, stdout=out)
    return out.getvalue()


def test_every_page_can_be_looked_at(rows: None, admin_client: Client) -> None:
    for address in addresses():
        for query in ("", "?start=2026-11-20T08:00&end=2026-11-20T12:00", "?period=7d"):
            assert admin_client.get(address + query).status_code in (200, 302, 405), address + query


def test_every_command_runs(rows: None, tmp_path: Any) -> None:
    log, exported = tmp_path / "access.log", tmp_path / "limits.yaml"
    log.write_text('a.example - - [01/Jul/1995:00:00:01 -0400] "GET /one HTTP/1.0" 200 1\n')
    lines = {
        "alerts": ["--dry-run"],
        "report": ["--send"],
        "show": [ME],
        "explain": ["GET", "/login/", "--ip", ME],
        "subject": [ME],
        "check": [],
        "rules": [],
        "suggest": ["--create"],
        "mode": ["login", "enforce"],
        "block": ["user:42", "--for", "1h"],
        "allow": ["ip:198.51.100.7", "--for", "1h"],
        "release": [f"ip:{ME}"],
        "off": ["--for", "30m"],
        "on": [],
        "collect": [],
        "clean": [],
        "backtest": [str(log), "--rates", "5/m"],
        "export": [str(exported)],
        "import": [str(exported)],
        "apply": [str(exported), "--check"],
        "history": [],
        "restore": ["--yes"],
        "move": ["drf"],
        "protect": [],
    }
    assert set(lines) == {module.NAME for module in subcommands()}
    for name, arguments in lines.items():
        assert ratewindow(name, *arguments), name


@pytest.mark.parametrize("task", [tasks.collect_stats, tasks.clean_orphans, tasks.send_report], ids=lambda task: task.__name__)
def test_every_task_runs(rows: None, task: Any) -> None:
    assert task()
    assert overview.status()["ok"]


def test_a_time_typed_into_a_form_is_by_the_clock_of_the_site_and_shown_again_as_it_was_typed(admin_client: Client) -> None:
    admin_client.post(ADD, typed(lasts="", expires_at_0="2126-07-02", expires_at_1="03:04:05"))
    override = Override.objects.get()
    assert override.expires_at == datetime(2126, 7, 2, 3, 4, 5, tzinfo=BERLIN)
    page = admin_client.get(reverse("admin:ratewindow_override_change", args=[override.pk])).content.decode()
    assert 'value="2126-07-02"' in page and 'value="03:04:05"' in page


@time_machine.travel(NOON, tick=False)
def test_a_block_lasts_as_long_as_it_says_and_is_ended(admin_client: Client) -> None:
    begins = {"starts_at_0": "2026-11-20", "starts_at_1": "13:00:00"}
    assert admin_client.post(ADD, typed(lasts="2h", **begins)).status_code == 302
    override = Override.objects.get()
    assert (override.starts_at, override.expires_at) == (NOON + timedelta(hours=1), NOON + timedelta(hours=3))
    assert "from 13:00, until 15:00" in admin_client.get(reverse("admin:ratewindow_override_changelist")).content.decode()
    seen = [statuses_at(hours) for hours in (0.5, 1.5, 2.5, 3.5)]
    assert seen == [[200], [429], [429], [200]]
    admin_client.post(reverse("admin:ratewindow_override_end", args=[override.pk]))
    assert statuses_at(1.5) == [200]


def statuses_at(hours: float) -> list[int]:
    reading.reload()
    with time_machine.travel(NOON + timedelta(hours=hours), tick=False):
        return statuses(behind_middleware(plain(False)), 1, REMOTE_ADDR=ME)


@time_machine.travel(NOON, tick=False)
def test_commands_say_when_something_ends_by_the_clock_of_the_site(redis_client: Any) -> None:
    assert "until 13:00." in ratewindow("block", f"ip:{ME}", "--for", "1h")
    assert "Limits are off until 12:30" in ratewindow("off", "--for", "30m", "--reason", "a trial")
    assert LimitSwitch.objects.get().until == NOON + timedelta(minutes=30)
    redis_client.flushdb()  # and so the row of the switch says it
    assert switch_off.current().until_s == (NOON + timedelta(minutes=30)).timestamp()


def test_times_without_a_zone_that_the_sites_code_gives_are_by_its_clock() -> None:
    override = Override.objects.block(f"ip:{ME}", starts_at=datetime(2126, 7, 2, 3), duration="1h")
    assert override.expires_at == datetime(2126, 7, 2, 4, tzinfo=BERLIN)
    assert Override.objects.filter(starts_at=datetime(2126, 7, 2, 3), expires_at__gt=datetime(2126, 7, 2, 3, 59)).exists()
    assert not Override.objects.filter(expires_at__gt=datetime(2126, 7, 2, 4)).exists()


def test_the_hour_that_comes_twice_is_two_hours_of_counts() -> None:
    first_s, second_s = HALF_PAST_TWO.timestamp(), HALF_PAST_TWO.replace(fold=1).timestamp()
    assert second_s - first_s == 3600
    with time_machine.travel(second_s + 60, tick=False):
        minutes.send(
            {int(first_s) // 60: {"p1|login": Sums(passed=5)}, int(second_s) // 60: {"p1|login": Sums(passed=7)}}, second_s
        )
        collect_stats(second_s + 60)
        collect_stats(second_s + 60)
        starts = {row.start: row.passed for row in ThrottleStat.objects.filter(resolution="minute")}
        assert starts == {HALF_PAST_TWO.astimezone(UTC): 5, HALF_PAST_TWO.replace(fold=1).astimezone(UTC): 7}
        assert sorted(ThrottleStat.objects.filter(resolution="hour").values_list("passed", flat=True)) == [5, 7]
        now = time_zone.now()
        found = Report(between(now - timedelta(hours=2), now, now), waiting(second_s + 60))
    assert found.total.passed == 12
    assert [sums.passed for sums in found.steps.values() if sums.passed] == [5, 7]


@pytest.mark.skipif(connection.features.supports_timezones, reason="this database's columns have time zones")
@time_machine.travel(NOON, tick=False)
def test_a_column_without_a_zone_holds_utc() -> None:
    Override.objects.block(f"ip:{ME}", duration="1h")
    with connection.cursor() as cursor:
        cursor.execute("SELECT expires_at, created_at FROM ratewindow_override")
        assert [str(each) for each in cursor.fetchone()] == ["2026-11-20 12:00:00", "2026-11-20 11:00:00"]
    with override_settings(USE_TZ=True):  # a site that changes its mind loses nothing
        assert Override.objects.get().expires_at == NOON + timedelta(hours=1)


def test_fixtures_have_times_as_the_site_has_them(rows: None) -> None:
    before = Override.objects.get()
    text = serializers.serialize("json", Override.objects.all())
    assert f"{time_zone.local(before.expires_at):%Y-%m-%dT%H:%M:%S}" in text and "+00:00" not in text
    Override.objects.all().delete()
    for each in serializers.deserialize("json", text):
        each.save()
    assert Override.objects.get().expires_at.replace(microsecond=0) == before.expires_at.replace(microsecond=0)
