"""Yesterday's report as text: as the report page reads it, without names, and sent to each channel once."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from ratewindow.conf import time_zone
from ratewindow.contrib.alerts import report
from ratewindow.contrib.alerts.models import AlertChannel
from ratewindow.contrib.alerts.report import of_yesterday, send_report
from ratewindow.models import RateRule, ThrottleStat
from tests.contrib.alerts.support.made_yesterday import DAY, HOUR, NOW, YESTERDAY, make, row
from tests.support.broken_mail import BROKEN_MAIL

pytestmark = pytest.mark.django_db


@pytest.fixture
def channel() -> AlertChannel:
    return AlertChannel.objects.create(name="ops", addresses="ann@example.com", daily_report=True)


@pytest.fixture
def today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_zone, "now", lambda: NOW)


def subjects() -> list[str]:
    return [each.subject for each in mail.outbox]


def test_it_says_what_the_report_page_says_of_that_day(today: None, admin_client: Any) -> None:
    make()
    title, summary, *rest = of_yesterday().split("\n\n")
    assert title == "Rate limits, Thursday 14 January 2027"
    assert summary.startswith("login refused 5,000 requests from 2027-01-14 02:00 to ")
    assert "99.0 % came from ip:203.0.113.0/24 (14 clients)." in summary
    page = admin_client.get("/admin/ratewindow/throttlestat/?start=2027-01-14T00:00&end=2027-01-15T00:00")
    assert page.context["summary"] == summary
    for figure in page.context["figures"]:
        assert f"{figure['label']}: {figure['value']} ({figure['note']})" in rest[0]
    assert "Refused: 5,046 (16 % of 31,446)" in rest[0]


def test_clients_are_masked_whatever_anonymize_says(today: None, settings: Any) -> None:
    make()
    settings.RATEWINDOW = {**settings.RATEWINDOW, "ANONYMIZE": "none"}
    text = of_yesterday()
    assert "203.0.113.9" not in text and "user:42" not in text


def test_of_an_empty_day_it_says_that_nothing_happened(today: None) -> None:
    assert "No request matched a rule." in of_yesterday()


def test_it_takes_as_many_queries_for_many_rules_as_for_a_few(today: None) -> None:
    make()
    with CaptureQueriesContext(connection) as few:
        of_yesterday()
    RateRule.objects.bulk_create(RateRule(name=f"rule-{number}", mode="enforce") for number in range(60))
    ThrottleStat.objects.bulk_create(
        row(resolution, YESTERDAY - ago * DAY + HOUR * (resolution == "hour"), f"rule-{number}", passed=9, refused=number)
        for number in range(60)
        for resolution in ("hour", "day")
        for ago in range(3)
    )
    with CaptureQueriesContext(connection) as many:
        of_yesterday()
    assert len(many) == len(few)


def test_it_is_sent_once_a_day_from_eight_o_clock_on(channel: AlertChannel) -> None:
    assert send_report(NOW - timedelta(minutes=3)) == ["no report is due"]
    assert send_report(NOW) == ["ops: 2027-01-14: sent"]
    assert send_report(NOW + timedelta(hours=12)) == ["no report is due"]
    assert send_report(NOW + 2 * DAY) == ["ops: 2027-01-16: sent"]  # the day that was missed does not come
    assert subjects() == [
        "Rate limits, Thursday 14 January 2027: No request matched a rule.",
        "Rate limits, Saturday 16 January 2027: No request matched a rule.",
    ]
    channel.refresh_from_db()
    assert (channel.reported, channel.sent_at, channel.error) == (date(2027, 1, 16), NOW + 2 * DAY, "")


def test_of_two_runs_at_once_one_sends(channel: AlertChannel, monkeypatch: pytest.MonkeyPatch) -> None:
    read = report.read

    def read_while_another_runs(*arguments: Any) -> Any:
        monkeypatch.setattr(report, "read", read)
        assert send_report(NOW) == ["ops: 2027-01-14: sent"]
        return read(*arguments)

    monkeypatch.setattr(report, "read", read_while_another_runs)
    assert send_report(NOW) == ["ops: 2027-01-14: another run sends it"]
    assert len(subjects()) == 1


class Killed(BaseException):
    """What no part of a run catches."""


@pytest.mark.parametrize(("at", "sent_later"), [("_paragraphs", True), ("send_lines", False)])
def test_a_run_that_is_killed_sends_nothing_twice(
    at: str, sent_later: bool, channel: AlertChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it has begun to send, the next run sends it; while it sends, the channel says so."""

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as context, pytest.raises(Killed):
        context.setattr(report, at, killed)
        send_report(NOW)
    channel.refresh_from_db()
    said = "A run ended while it sent the report of 2027-01-14: it may not have arrived."
    assert channel.error == ("" if sent_later else said)
    assert send_report(NOW) == (["ops: 2027-01-14: sent"] if sent_later else ["no report is due"])


def test_what_could_not_be_sent_is_shown_at_the_channel_and_tried_again(channel: AlertChannel) -> None:
    with override_settings(**BROKEN_MAIL):
        (said,) = send_report(NOW)
        assert "not sent (" in said and "No module named" in said
    channel.refresh_from_db()
    assert channel.error.endswith("No module named 'no'") and channel.reported is None
    assert send_report(NOW) == ["ops: 2027-01-14: sent"]
    channel.refresh_from_db()
    assert channel.error == ""


def test_inactive_channels_and_those_that_want_none_get_none(channel: AlertChannel) -> None:
    AlertChannel.objects.create(name="alerts alone", addresses="bob@example.com")
    AlertChannel.objects.filter(name="ops").update(active=False)
    assert send_report(NOW) == ["no report is due"]


def test_days_and_hours_are_those_of_the_site_s_time_zone(channel: AlertChannel) -> None:
    with override_settings(TIME_ZONE="America/New_York"):
        assert send_report(NOW) == ["no report is due"]
        assert send_report(NOW + timedelta(hours=5)) == ["ops: 2027-01-14: sent"]
    assert "Times are in America/New_York." in str(mail.outbox[0].body)


def test_a_mail_is_in_the_language_of_the_site(channel: AlertChannel) -> None:
    with override_settings(LANGUAGE_CODE="ru"):
        send_report(NOW)
    assert "14 января 2027" in str(mail.outbox[0].subject)
