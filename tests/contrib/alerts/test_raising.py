"""One run of the alerts after another: sent once, retried if that failed, and never by two runs."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core import mail
from django.test import override_settings

from ratewindow.contrib.alerts import sending
from ratewindow.contrib.alerts.conditions import SiteState, watched
from ratewindow.contrib.alerts.models import AlertChannel
from ratewindow.contrib.alerts.sending import raise_alerts, send_test
from ratewindow.counting import minutes
from ratewindow.counting.sums import Sums
from tests.support.broken_mail import BROKEN_MAIL

pytestmark = pytest.mark.django_db

NOW = datetime(2027, 1, 15, 8, 30, 20, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def attack(refused: int = 600) -> None:
    moment = NOW.timestamp()
    minutes.send({int(moment) // 60 - 1: {"p1|login": Sums(passed=50, refused=refused)}}, moment)


@pytest.fixture
def channel() -> AlertChannel:
    return AlertChannel.objects.create(
        name="ops", addresses="ann@example.com", refused_a_minute=100, unusual=False, not_collected=False
    )


def subjects() -> list[str]:
    return [each.subject for each in mail.outbox]


def test_it_is_sent_once_and_its_end_once(channel: AlertChannel) -> None:
    attack()
    assert raise_alerts(now=NOW) == ["ops: sent, new: login refuses 112 requests a minute."]
    assert raise_alerts(now=NOW + MINUTE) == ["nothing new"]
    channel.refresh_from_db()
    assert channel.sent_at == NOW
    assert list(channel.raised) == ["refusals:login"]
    for minute in range(2, 30):
        raise_alerts(now=NOW + minute * MINUTE)
    assert len(subjects()) == 2
    assert subjects()[1].startswith("Rate limits: Over: login refuses")
    channel.refresh_from_db()
    assert channel.raised == {}


def test_a_dry_run_sends_and_keeps_nothing(channel: AlertChannel) -> None:
    attack()
    assert raise_alerts(dry_run=True, now=NOW) == ["ops: would send, new: login refuses 112 requests a minute."]
    assert subjects() == []
    channel.refresh_from_db()
    assert (channel.raised, channel.revision) == ({}, 0)


def test_what_could_not_be_sent_is_shown_at_the_channel_and_tried_again(channel: AlertChannel) -> None:
    attack()
    with override_settings(**BROKEN_MAIL):
        (said,) = raise_alerts(now=NOW)
        assert "not sent (" in said and "No module named" in said
    channel.refresh_from_db()
    assert channel.error.endswith("No module named 'no'")
    assert (channel.raised, channel.sent_at) == ({}, None)
    assert "sent, new" in raise_alerts(now=NOW + MINUTE)[0]
    channel.refresh_from_db()
    assert channel.error == ""
    assert len(subjects()) == 1


def test_of_two_runs_at_once_one_sends(channel: AlertChannel, monkeypatch: pytest.MonkeyPatch) -> None:
    attack()

    class StateWhileAnotherRuns(SiteState):
        def __init__(self, now: datetime) -> None:
            monkeypatch.setattr(sending, "SiteState", SiteState)
            raise_alerts(now=NOW)
            super().__init__(now)

    monkeypatch.setattr(sending, "SiteState", StateWhileAnotherRuns)
    assert raise_alerts(now=NOW) == ["nothing new"]
    assert len(subjects()) == 1


def test_one_channel_that_fails_does_not_keep_another_from_sending(channel: AlertChannel) -> None:
    AlertChannel.objects.create(name="a hook", way="webhook", url="http://127.0.0.1:9/", refused_a_minute=1, unusual=False)
    attack()
    first, second = raise_alerts(now=NOW)
    assert first.startswith("a hook: not sent (127.0.0.1 is an internal address")
    assert second.startswith("ops: sent")


def test_a_site_without_a_channel_gets_one_that_logs_and_stays_off_once_it_is_inactive() -> None:
    assert raise_alerts(dry_run=True, now=NOW) == ["no active alert channel"]
    assert not AlertChannel.objects.exists()
    for _ in range(2):
        assert raise_alerts(now=NOW) == ["nothing new"]
    made = AlertChannel.objects.get()
    assert (made.name, made.way, watched(made)) == ("log", "log", {"everybody", "not_collected"})
    AlertChannel.objects.update(active=False)
    assert raise_alerts(now=NOW) == ["no active alert channel"]


def test_an_inactive_channel_sends_nothing(channel: AlertChannel) -> None:
    AlertChannel.objects.update(active=False)
    attack()
    assert raise_alerts(now=NOW) == ["no active alert channel"]
    assert subjects() == []


def test_a_test_is_sent_and_its_error_kept(channel: AlertChannel) -> None:
    assert send_test(channel) == ""
    assert mail.outbox[0].body == "This is a test of the alert channel ops.\n"
    with override_settings(**BROKEN_MAIL):
        assert send_test(channel)
    channel.refresh_from_db()
    assert channel.error
    assert channel.sent_at
    assert channel.raised == {}
