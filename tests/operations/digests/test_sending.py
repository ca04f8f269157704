"""Digests as they are sent: each once, late rather than never, and tried by a button."""

import csv
import io
import json
import logging
import re
from datetime import UTC, date, datetime, timedelta
from email import message_from_bytes, policy
from typing import Any

import pytest
from django.core import mail
from django.test import override_settings

from ratewindow.conf import time_zone
from ratewindow.models import AlertChannel
from ratewindow.operations.alerts import webhook
from ratewindow.operations.digests import sending
from ratewindow.operations.digests.mail import DigestMail
from ratewindow.operations.digests.sending import newest_in_words, send_latest, send_report
from tests.support.broken_mail import BROKEN_MAIL
from tests.support.made_yesterday import NOW, make
from tests.support.webhook_receiver import receiving

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
REPORT = "https://example.com/admin/ratewindow/throttlestat/"


@pytest.fixture
def channel() -> AlertChannel:
    made = AlertChannel.objects.create(name="ops", addresses="ann@example.com", digest="day", report_url=REPORT)
    sent_until(date(2027, 1, 14))
    made.refresh_from_db()
    return made


def sent_until(day: date | None) -> None:
    AlertChannel.objects.update(digest_until=day)


def subjects() -> list[str]:
    return [each.subject for each in mail.outbox]


def test_it_is_sent_once_from_its_hour_on(channel: AlertChannel) -> None:
    assert send_report(NOW - timedelta(minutes=3)) == ["no digest is due"]
    assert send_report(NOW) == ["ops: 2027-01-14: sent"]
    assert send_report(NOW) == ["no digest is due"]
    assert send_report(NOW + timedelta(hours=12)) == ["no digest is due"]
    assert send_report(NOW + DAY) == ["ops: 2027-01-15: sent"]
    assert subjects() == [
        "Rate limits, Thu 14 Jan: No request met a rule.",
        "Rate limits, Fri 15 Jan: No request met a rule.",
    ]
    channel.refresh_from_db()
    assert (channel.digest_until, channel.sent_at, channel.error) == (date(2027, 1, 16), NOW + DAY, "")


def test_missed_days_come_late_the_oldest_first_and_none_older_than_a_week(channel: AlertChannel) -> None:
    assert send_report(NOW + 2 * DAY) == [f"ops: 2027-01-{day}: sent" for day in (14, 15, 16)]
    sent_until(date(2026, 12, 1))
    assert send_report(NOW) == [f"ops: 2027-01-{day:02}: sent" for day in range(8, 15)]


def test_a_week_is_sent_on_monday(channel: AlertChannel) -> None:
    AlertChannel.objects.update(digest="week")
    assert send_report(NOW + 2 * DAY) == ["no digest is due"]
    assert send_report(NOW + 3 * DAY) == ["ops: 2027-01-11 to 2027-01-17: sent"]
    assert subjects() == ["Rate limits, Mon 11 Jan to Sun 17 Jan: No request met a rule."]


def test_another_hour_or_another_rhythm_sends_no_day_again(channel: AlertChannel) -> None:
    send_report(NOW)
    AlertChannel.objects.update(digest_hour=18)
    assert send_report(NOW + timedelta(hours=11)) == ["no digest is due"]
    AlertChannel.objects.update(digest="week")
    assert send_report(NOW + timedelta(hours=11)) == ["no digest is due"]


def test_it_begins_with_the_first_whole_day_after_it_is_switched_on() -> None:
    made = AlertChannel.objects.create(name="ops", addresses="ann@example.com")
    assert made.digest_until is None
    made.digest = "day"
    made.save()
    assert made.digest_until is not None
    now = datetime(made.digest_until.year, made.digest_until.month, made.digest_until.day, 23, tzinfo=UTC)
    assert send_report(now) == ["no digest is due"]
    assert send_report(now + DAY) == [f"ops: {made.digest_until}: sent"]
    made.refresh_from_db()
    made.active = False
    made.save()
    assert made.digest_until is None


def test_of_a_channel_that_was_made_without_saving_the_newest_is_sent_alone(channel: AlertChannel) -> None:
    sent_until(None)
    assert send_report(NOW) == ["ops: 2027-01-14: sent"]


def test_of_two_runs_at_once_one_sends(channel: AlertChannel, monkeypatch: pytest.MonkeyPatch) -> None:
    read = sending.read

    def read_while_another_runs(*arguments: Any) -> Any:
        monkeypatch.setattr(sending, "read", read)
        assert send_report(NOW) == ["ops: 2027-01-14: sent"]
        return read(*arguments)

    monkeypatch.setattr(sending, "read", read_while_another_runs)
    assert send_report(NOW) == ["ops: 2027-01-14: another run sends it"]
    assert len(subjects()) == 1


class Killed(BaseException):
    """What no part of a run catches."""


def killed(*_: object, **__: object) -> None:
    raise Killed


def test_a_run_that_is_killed_before_it_sends_leaves_it_to_the_next(
    channel: AlertChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context, pytest.raises(Killed):
        context.setattr(sending, "_prepared", killed)
        send_report(NOW)
    assert send_report(NOW) == ["ops: 2027-01-14: sent"]


def test_a_run_that_is_killed_while_it_sends_is_shown_and_nothing_is_sent_twice(
    channel: AlertChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context, pytest.raises(Killed):
        context.setattr(DigestMail, "send", killed)
        send_report(NOW)
    assert send_report(NOW) == ["no digest is due"]
    channel.refresh_from_db()
    assert channel.error == "A run ended while it sent the digest of 2027-01-14: it may not have arrived."


def test_what_could_not_be_sent_is_shown_at_the_channel_and_tried_again(channel: AlertChannel) -> None:
    with override_settings(**BROKEN_MAIL):
        (said,) = send_report(NOW)
        assert "not sent (" in said and "No module named" in said
    channel.refresh_from_db()
    assert channel.error.endswith("No module named 'no'")
    assert channel.digest_until == date(2027, 1, 14)
    assert send_report(NOW) == ["ops: 2027-01-14: sent"]
    channel.refresh_from_db()
    assert channel.error == ""


def test_one_channel_that_fails_does_not_keep_another_from_sending(channel: AlertChannel) -> None:
    AlertChannel.objects.create(name="a hook", way="webhook", url="http://127.0.0.1:9/", digest="day")
    sent_until(date(2027, 1, 14))
    first, second = send_report(NOW)
    assert first.startswith("a hook: 2027-01-14: not sent (127.0.0.1 is an internal address")
    assert second == "ops: 2027-01-14: sent"


def test_inactive_channels_and_those_without_a_digest_get_none(channel: AlertChannel) -> None:
    AlertChannel.objects.create(name="alerts alone", addresses="bob@example.com")
    AlertChannel.objects.filter(name="ops").update(active=False)
    assert send_report(NOW) == ["no digest is due"]


def test_a_row_that_another_program_wrote_breaks_nothing(channel: AlertChannel) -> None:
    AlertChannel.objects.create(name="odd", addresses="bob@example.com")
    AlertChannel.objects.filter(name="odd").update(digest="year", digest_hour=99)
    AlertChannel.objects.filter(name="ops").update(digest_hour=99)
    assert send_report(NOW) == ["no digest is due"]
    assert send_report(NOW + timedelta(hours=15)) == ["ops: 2027-01-14: sent"]
    assert send_latest(AlertChannel.objects.get(name="odd"))[1] == ""


def test_the_newest_is_sent_on_demand_and_the_regular_one_all_the_same(channel: AlertChannel) -> None:
    _, error = send_latest(channel)
    assert (error, len(subjects())) == ("", 1)
    assert "Somebody has asked for it there" in str(mail.outbox[0].body)
    channel.refresh_from_db()
    assert channel.digest_until == date(2027, 1, 14)
    with override_settings(**BROKEN_MAIL):
        assert "No module named" in send_latest(channel)[1]


def test_days_are_those_of_the_site_s_time_zone(channel: AlertChannel) -> None:
    with override_settings(TIME_ZONE="America/New_York"):
        assert send_report(NOW) == ["no digest is due"]
        assert send_report(NOW + timedelta(hours=5)) == ["ops: 2027-01-14: sent"]
    assert "start=2027-01-14T00%3A00&end=2027-01-15T00%3A00" in str(mail.outbox[0].body)
    assert "Times are in America/New_York." in str(mail.outbox[0].body)


def test_a_mail_server_gets_text_html_with_its_picture_inside_and_the_files(channel: AlertChannel) -> None:
    make()
    send_report(NOW)
    sent = message_from_bytes(mail.outbox[0].message().as_bytes(), policy=policy.default)
    assert [each.get_content_type() for each in sent.walk()] == [
        *("multipart/mixed", "multipart/alternative", "text/plain", "multipart/related", "text/html", "image/png"),
        *("text/csv", "text/csv", "text/csv"),
    ]
    assert sent["Auto-Submitted"] == "auto-generated"
    page, picture = sent.get_body(("html",)), next(each for each in sent.walk() if each.get_content_type() == "image/png")  # type: ignore[attr-defined]
    assert re.findall(r'src="cid:([^"]+)"', page.get_content()) == [picture["Content-ID"].strip("<>")]
    assert picture.get_content().startswith(b"\x89PNG") and picture.get_content_disposition() == "inline"
    assert "http" not in re.sub(r'href="[^"]+"', "", page.get_content())  # nothing is loaded from elsewhere
    files = {each.get_filename(): list(csv.DictReader(io.StringIO(each.get_content()))) for each in sent.iter_attachments()}  # type: ignore[attr-defined]
    assert list(files) == [f"ratewindow-{part}-20270114-0000.csv" for part in ("time", "rules", "who")]
    rules = {line["rule"]: int(line["refused"]) for line in files["ratewindow-rules-20270114-0000.csv"]}
    assert rules["login"] == sum(int(each["refused"]) for each in files["ratewindow-time-20270114-0000.csv"])
    assert "ip:203.0.113.x" in {line["name"] for line in files["ratewindow-who-20270114-0000.csv"]}
    assert "203.0.113.9" not in mail.outbox[0].message().as_string() and "user:42" not in mail.outbox[0].message().as_string()


def test_mails_are_in_the_language_of_the_site(channel: AlertChannel) -> None:
    make()
    with override_settings(LANGUAGE_CODE="ru"):
        send_report(NOW)
    assert "четверг" in str(mail.outbox[0].body).lower()
    assert 'lang="ru"' in mail.outbox[0].alternatives[0][0]  # type: ignore[attr-defined]


def test_the_log_has_a_few_lines(channel: AlertChannel, caplog: pytest.LogCaptureFixture) -> None:
    make()
    AlertChannel.objects.update(way="log")
    with caplog.at_level(logging.INFO, "ratewindow"):
        assert send_report(NOW) == ["ops: 2027-01-14: sent"]
    first, *_, last = [each.getMessage() for each in caplog.records]
    assert first.startswith("ratewindow: digest: 2027-01-14: login refused ")
    assert last == f"ratewindow: digest: {REPORT}?start=2027-01-14T00%3A00&end=2027-01-15T00%3A00"


def test_a_log_that_would_swallow_it_is_an_error(channel: AlertChannel, caplog: pytest.LogCaptureFixture) -> None:
    AlertChannel.objects.update(way="log")
    with caplog.at_level(logging.WARNING, "ratewindow"):
        (said,) = send_report(NOW)
    assert said == "ops: 2027-01-14: not sent (the logger ratewindow does not log INFO: set its level in LOGGING)"


def test_a_webhook_gets_numbers_without_clients(channel: AlertChannel, monkeypatch: pytest.MonkeyPatch) -> None:
    make()
    monkeypatch.setattr(webhook, "is_public", lambda address: True)
    with receiving() as receiver:
        AlertChannel.objects.update(way="webhook", url=receiver.url, secret="s")
        assert send_report(NOW) == ["ops: 2027-01-14: sent"]
        ((_, headers, body),) = receiver.received
    found = json.loads(body)
    assert {"channel", "at", "test", "text", "digest"} == set(found)
    assert (found["digest"]["from"], found["digest"]["to"]) == ("2027-01-14T00:00:00+00:00", "2027-01-15T00:00:00+00:00")
    assert found["digest"]["rules"]["login"]["refused"] == found["digest"]["total"]["refused"] > 5000
    assert found["digest"]["before"]["refused"] == 48
    assert headers["X-Ratewindow-Signature"] == webhook.signature("s", headers["X-Ratewindow-Timestamp"], body)


def test_in_words_it_is_what_a_mail_says(monkeypatch: pytest.MonkeyPatch) -> None:
    make()
    monkeypatch.setattr(time_zone, "now", lambda: NOW)
    day, week = newest_in_words(week=False), newest_in_words(week=True)
    assert day.startswith("Thursday 14 January 2027\n\nlogin refused ")
    assert week.startswith("Monday 4 January 2027 to Sunday 10 January 2027\n\n")
    assert "\nRules\n-----\n" in day and "\nRules\n-----\n" in week
