"""How edits reach a process, and how it tells the others of its own."""

import logging
import os
import time
from typing import Any

import pytest
from django.conf import settings
from django.core.management.sql import emit_post_migrate_signal
from django.db import connection, transaction
from django.test import override_settings
from django.utils import timezone

from ratewindow import background
from ratewindow.models import LimitSwitch, RateRule
from ratewindow.rulebook import current, edits, kill_switch, reading
from ratewindow.store import process_clients, state_keys
from tests.support.doors import behind_middleware, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)


def watch() -> None:
    """What the two threads of a process do twice within `REFRESH`."""
    edits.check_redis()
    if edits.is_stale():
        edits.reread()


def define(name: str, rate: str, **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, **{"mode": "enforce", **fields})[0]


def test_the_process_that_edits_obeys_at_once_and_the_others_see_a_new_token(redis_client: Any) -> None:
    define("login", "1/m", path="/login/")
    first = redis_client.get(state_keys.token())
    assert statuses(behind_middleware(plain(False)), 2, "/login/") == [200, 429]
    window = RateRule.objects.get(name="login").windows.get()
    window.limit = 3
    window.save()
    assert redis_client.get(state_keys.token()) not in (None, first)
    assert statuses(behind_middleware(plain(False)), 3, "/login/") == [200, 200, 429]


def test_an_edit_is_announced_when_it_is_committed_and_not_before(redis_client: Any) -> None:
    with transaction.atomic():
        define("login", "1/m", path="/login/")
        assert redis_client.get(state_keys.token()) is None
        assert "login" not in current.rulebook().by_name
    assert redis_client.get(state_keys.token())
    assert "login" in current.rulebook().by_name


def test_a_deleted_rule_stops_at_once() -> None:
    define("login", "1/m", path="/login/")
    site = behind_middleware(plain(False))
    assert statuses(site, 2, "/login/") == [200, 429]
    RateRule.objects.all().delete()
    assert statuses(site, 2, "/login/") == [200, 200]


def test_what_a_migration_has_written_is_held_after_it() -> None:
    RateRule.objects.bulk_create([RateRule(name="login")])
    assert "login" not in current.rulebook().by_name
    emit_post_migrate_signal(verbosity=0, interactive=False, db="default")
    assert "login" in current.rulebook().by_name


def test_a_new_token_is_a_reason_to_read_and_the_old_one_is_not(redis_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "_is_in_memory", lambda database: False)
    redis_client.set(state_keys.token(), "one")
    watch()
    RateRule.objects.bulk_create([RateRule(name="silent")])
    watch()
    assert "silent" not in current.rulebook().by_name
    redis_client.set(state_keys.token(), "two")
    watch()
    assert "silent" in current.rulebook().by_name


def test_what_no_signal_told_is_seen_after_half_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "_is_in_memory", lambda database: False)
    watch()
    RateRule.objects.bulk_create([RateRule(name="silent")])
    reading._progress.ended_at_s -= reading.REREAD_S
    watch()
    assert "silent" in current.rulebook().by_name


def test_an_announcement_that_redis_did_not_take_is_made_up_for(redis_client: Any, caplog: pytest.LogCaptureFixture) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        define("login", "1/m")
        assert "other processes learn of the edit within 30 s" in caplog.text
    assert redis_client.get(state_keys.token()) is None
    watch()
    assert redis_client.get(state_keys.token())


def test_an_edit_while_another_is_being_announced_is_announced_too(redis_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens: list[str] = []
    client = process_clients.patient_client()

    def meanwhile(name: str, token: str) -> None:
        tokens.append(token)
        if len(tokens) == 1:
            edits.announce()  # another thread's, while the first is on its way

    monkeypatch.setattr(client, "set", meanwhile)
    edits.announce()
    assert len(tokens) == 2


def test_edits_of_one_transaction_are_read_and_announced_once(readings: list[str], redis_client: Any) -> None:
    with transaction.atomic():
        for number in range(5):
            RateRule.objects.define(f"rule-{number}", "1/m; 5/h")
        assert readings == []
    assert readings == ["read"]
    assert len(current.rulebook().by_name) == 5


def test_an_edit_is_announced_although_one_before_it_was_taken_back(readings: list[str]) -> None:
    with transaction.atomic():
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            RateRule.objects.define("taken-back", "1/m")
            raise ZeroDivisionError
        RateRule.objects.define("kept", "1/m")
    assert readings == ["read"]
    assert set(current.rulebook().by_name) == {"kept"}


def test_an_edit_while_redis_is_away_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        RateRule.objects.create(name="login")
        for _ in range(5):
            watch()
    assert sum(record.levelno == logging.WARNING for record in caplog.records) == 1


def test_where_a_reading_takes_long_the_thread_reads_and_not_the_request_that_edits(
    readings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hurried: list[Any] = []
    monkeypatch.setattr(background, "running_in", os.getpid())
    monkeypatch.setattr(background, "hurry", hurried.append)
    define("login", "1/m")
    assert hurried.count(edits.reread) == 0
    readings.clear()
    reading._progress.took_s = 2.0
    define("search", "1/m")
    assert (readings, hurried.count(edits.reread), edits.is_stale()) == ([], 1, True)


def test_without_redis_many_rows_are_read_less_often_and_the_switch_is_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    edits._state.is_alone = True
    monkeypatch.setattr(reading._progress, "ended_at_s", time.monotonic() - 3.0)
    assert edits.is_stale()
    reading._progress.took_s = 1.0
    assert not edits.is_stale()
    monkeypatch.setattr(reading._progress, "ended_at_s", time.monotonic() - 21.0)
    assert edits.is_stale()
    monkeypatch.setattr(edits, "_is_in_memory", lambda database: False)
    monkeypatch.setattr(connection, "close", lambda: None)
    LimitSwitch.objects.bulk_create([LimitSwitch(pk=1, off=True, changed_at=timezone.now())])
    edits.reread_switch()
    assert kill_switch.off
