"""Processes know which rules are recorded: an edit acts like one of a rule, and an end by itself."""

from datetime import timedelta

import pytest
from django.db import DatabaseError

from ratewindow import process
from ratewindow.conf import time_zone
from ratewindow.models import Recording
from ratewindow.rulebook import current, reading, recordings

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_read():
    process.reset()
    yield
    process.reset()


def made(rule="login", days=1.0, **values):
    now = time_zone.now()
    return Recording.objects.create(
        **{"rule": rule, "window": "w", "rate": "10/m", "since": now, "until": now + timedelta(days=days), **values}
    )


def test_a_recording_is_known_once_it_is_saved_and_no_longer_once_it_is_deleted():
    row = made(left_out=["x"])
    assert recordings.held == {"login": (row.pk, "w", row.until.timestamp(), {"x"})}
    row.delete()
    assert recordings.held == {}


def test_one_that_has_ended_is_not_held():
    made(days=-1)
    assert recordings.held == {}


def test_of_two_of_a_rule_the_later_one_holds():
    made()
    later = made()
    assert recordings.held["login"].pk == later.pk


def test_a_reading_that_took_longer_than_a_newer_one_is_dropped():
    recordings.hold({"login": None}, 7)
    recordings.hold({}, 6)
    assert recordings.held == {"login": None}


def test_rules_hold_although_recordings_cannot_be_read(monkeypatch):
    def broken():
        raise DatabaseError("no such table")

    monkeypatch.setattr(recordings, "read", broken)
    reading.reload()
    assert not current.is_empty()
    assert not reading.last().failed
