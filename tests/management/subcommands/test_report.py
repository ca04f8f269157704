"""`manage.py ratewindow report`."""

from datetime import timedelta

import pytest
from django.core import mail

from ratewindow.conf import time_zone
from ratewindow.models import AlertChannel
from tests.support.commands import run, wrong
from tests.support.made_yesterday import NOW, make

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def morning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_zone, "now", lambda: NOW)


def test_it_prints_yesterday_or_last_week_and_sends_nothing() -> None:
    make()
    AlertChannel.objects.create(name="ops", addresses="ann@example.com", digest="day", digest_hour=0)
    assert run("report").startswith("Thursday 14 January 2027\n\nlogin refused ")
    assert run("report", "--week").startswith("Monday 4 January 2027 to Sunday 10 January 2027")
    assert mail.outbox == []


def test_it_sends_what_is_due_once() -> None:
    assert run("report", "--send") == "no digest is due"
    AlertChannel.objects.create(name="ops", addresses="ann@example.com", digest="day")
    assert run("report", "--send") == "no digest is due"
    AlertChannel.objects.update(digest_until=NOW.date() - timedelta(days=1))
    assert run("report", "--send") == "ops: 2027-01-14: sent"
    assert run("report", "--send") == "no digest is due"
    assert len(mail.outbox) == 1


def test_what_cannot_be_sent_is_an_error_for_whoever_runs_it() -> None:
    hook = {"way": "webhook", "url": "http://127.0.0.1:9/"}
    AlertChannel.objects.create(name="a hook", digest="day", digest_until=NOW.date() - timedelta(days=1), **hook)
    assert wrong("report", "--send") == "Not all was sent: the next run tries again."


def test_one_of_both() -> None:
    assert "not allowed with" in wrong("report", "--send", "--week")
