"""`manage.py ratewindow alerts`."""

import time

import pytest
from django.core import mail

from ratewindow.models import AlertChannel
from ratewindow.reporting import minutes
from ratewindow.reporting.sums import Sums
from tests.support.commands import run, wrong

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_sends_once_and_a_dry_run_not_at_all() -> None:
    assert run("alerts") == "no active alert channel"
    AlertChannel.objects.create(name="ops", addresses="ann@example.com", refused_a_minute=1, unusual=False)
    now_s = time.time()
    minutes.send({int(now_s) // 60: {"p1|login": Sums(refused=6000)}}, now_s)
    assert "ops: would send, new: login refuses" in run("alerts", "--dry-run")
    assert mail.outbox == []
    assert "ops: sent, new: login refuses" in run("alerts")
    assert run("alerts") == "nothing new"
    assert len(mail.outbox) == 1


def test_what_cannot_be_sent_is_an_error_for_whoever_runs_it() -> None:
    hook = {"way": "webhook", "url": "http://127.0.0.1:9/"}
    AlertChannel.objects.create(name="a hook", refused_a_minute=1, unusual=False, **hook)
    AlertChannel.objects.create(name="not sent (yet)", addresses="ann@example.com", refused_a_minute=1, unusual=False)
    now_s = time.time()
    minutes.send({int(now_s) // 60: {"p1|login": Sums(refused=6000)}}, now_s)
    assert wrong("alerts") == "Not all was sent: the next run tries again."
    assert len(mail.outbox) == 1
    AlertChannel.objects.filter(name="a hook").delete()
    assert run("alerts") == "nothing new"
