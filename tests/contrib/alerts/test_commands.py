"""`manage.py ratewindow alerts` and `report`."""

import time

import pytest
from django.core import mail
from django.test import override_settings

from ratewindow.conf import time_zone
from ratewindow.contrib.alerts.models import AlertChannel
from ratewindow.counting import minutes
from ratewindow.counting.sums import Sums
from tests.contrib.alerts.support.made_yesterday import NOW, make
from tests.support.broken_mail import BROKEN_MAIL
from tests.support.commands import run, wrong

pytestmark = pytest.mark.django_db(transaction=True)


def attack() -> None:
    now_s = time.time()
    minutes.send({int(now_s) // 60: {"p1|login": Sums(refused=6000)}}, now_s)


def test_alerts_are_sent_once_and_by_a_dry_run_not_at_all() -> None:
    assert run("alerts", "--dry-run") == "no active alert channel"
    AlertChannel.objects.create(name="ops", addresses="ann@example.com", refused_a_minute=1, unusual=False)
    attack()
    assert "ops: would send, new: login refuses" in run("alerts", "--dry-run")
    assert mail.outbox == []
    assert "ops: sent, new: login refuses" in run("alerts")
    assert run("alerts") == "nothing new"
    assert len(mail.outbox) == 1


def test_what_cannot_be_sent_is_an_error_for_whoever_runs_it() -> None:
    hook = {"way": "webhook", "url": "http://127.0.0.1:9/"}
    AlertChannel.objects.create(name="a hook", refused_a_minute=1, unusual=False, **hook)
    AlertChannel.objects.create(name="not sent (yet)", addresses="ann@example.com", refused_a_minute=1, unusual=False)
    attack()
    assert wrong("alerts") == "Not all was sent: the next run tries again."
    assert len(mail.outbox) == 1
    AlertChannel.objects.filter(name="a hook").delete()
    assert run("alerts") == "nothing new"


def test_the_report_is_printed_or_sent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_zone, "now", lambda: NOW)
    make()
    AlertChannel.objects.create(name="ops", addresses="ann@example.com", daily_report=True)
    assert run("report").startswith("Rate limits, Thursday 14 January 2027\n\nlogin refused ")
    assert mail.outbox == []
    with override_settings(**BROKEN_MAIL):
        assert wrong("report", "--send") == "Not all was sent: the next run tries again."
    assert run("report", "--send") == "ops: 2027-01-14: sent"
    assert run("report", "--send") == "no report is due"
