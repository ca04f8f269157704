"""Rows as what requests see: all of them, and after an edit only those that have changed."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.db import connection as database
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ratewindow.limiter.rates import parse_rates
from ratewindow.models import Override
from ratewindow.overrides import Overrides
from ratewindow.rulebook import edits, override_rows, reading
from ratewindow.rulebook.override_rows import Reader

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    """To which three are many, and which has read them a while ago."""
    monkeypatch.setattr(override_rows, "MANY", 3)
    monkeypatch.setattr(override_rows, "_CLOCKS_DIFFER", timedelta(0))
    Override.objects.bulk_create([Override(action="block", identity=f"ip:10.0.0.{number}") for number in range(1, 6)])
    made = Reader()
    made.read()
    return made


def blocked(held: Overrides | None) -> set[int]:
    """The last numbers of the addresses that are blocked."""
    return {number for number in range(1, 12) if held is not None and held.of_identity(f"ip:10.0.0.{number}")}


def after_edit(reader: Reader) -> Overrides | None:
    """Read without reading all of them."""
    whole = reader._whole
    held = reader.read(after_edit=True)
    assert reader._whole is whole
    return held


def test_what_is_new_holds(reader: Reader) -> None:
    Override.objects.block("ip:10.0.0.9")
    held = after_edit(reader)
    assert blocked(held) == {1, 2, 3, 4, 5, 9}
    assert held is not None and held.count == 6


def test_what_was_deleted_holds_no_more(reader: Reader) -> None:
    Override.objects.get(identity="ip:10.0.0.2").delete()
    held = after_edit(reader)
    assert blocked(held) == {1, 3, 4, 5}
    assert held is not None and held.count == 4


def test_what_was_ended_holds_no_more_and_what_was_extended_does(reader: Reader) -> None:
    ended = Override.objects.get(identity="ip:10.0.0.3")
    ended.expires_at = timezone.now()
    ended.save(update_fields=["expires_at"])
    changed = Override.objects.get(identity="ip:10.0.0.4")
    changed.expires_at = timezone.now() + timedelta(hours=1)
    changed.save()
    held = after_edit(reader)
    assert blocked(held) == {1, 2, 4, 5}
    with time_machine.travel(timezone.now() + timedelta(hours=2)):
        assert blocked(held) == {1, 2, 5}


def test_what_was_turned_into_something_else_is_that_and_nothing_more(reader: Reader) -> None:
    changed = Override.objects.get(identity="ip:10.0.0.5")
    changed.action, changed.rule = "allow", "login"
    changed.save()
    held = after_edit(reader)
    assert held is not None
    assert [(each.action, each.rule) for each in held.of_identity("ip:10.0.0.5")] == [("allow", "login")]


def test_one_edit_after_the_other_and_all_of_them_at_last(reader: Reader) -> None:
    for number in (6, 7):
        Override.objects.block(f"ip:10.0.0.{number}")
        Override.objects.filter(identity=f"ip:10.0.0.{number - 5}").delete()
        held = after_edit(reader)
    assert blocked(held) == {3, 4, 5, 6, 7} == blocked(reader.read())


def test_who_is_in_a_group_is_read_each_time(monkeypatch: pytest.MonkeyPatch, reader: Reader) -> None:
    ann, staff = User.objects.create(username="ann"), Group.objects.create(name="staff")
    Override.objects.block("group:staff")
    reader.read()
    for change, is_blocked in ((ann.groups.add, True), (ann.groups.remove, False)):
        change(staff)
        held = after_edit(reader)
        assert held is not None
        assert held.groups == {"staff"}
        assert bool(held.of_identity(f"user:{ann.pk}")) == is_blocked


def test_of_two_rates_the_newer_row_wins_whichever_was_edited_last(reader: Reader) -> None:
    from ratewindow.request.overrides import adapted
    from ratewindow.rules.rule import Rule

    older = Override.objects.rate("user:42", "5/m")
    Override.objects.rate("user:42", "7/m")
    reader.read()
    older.reason = "edited"
    older.save()
    held = after_edit(reader)
    assert held is not None
    (rule,) = adapted(held.of_identity("user:42"), [Rule("login", parse_rates("1/m"))])
    assert rule.windows[0].limit == 7


@pytest.mark.parametrize("how", ["old", "few", "all changed"])
def test_all_are_read_where_that_is_better(monkeypatch: pytest.MonkeyPatch, reader: Reader, how: str) -> None:
    if how == "old":
        monkeypatch.setattr(override_rows, "MOST_AGE_S", -1.0)
    elif how == "few":
        monkeypatch.setattr(override_rows, "MANY", 6)
    else:
        monkeypatch.setattr(override_rows, "MOST_CHANGED", 4)
        for override in Override.objects.all():
            override.save()
    whole = reader._whole
    assert blocked(reader.read(after_edit=True)) == {1, 2, 3, 4, 5}
    assert reader._whole is not whole


def test_what_no_signal_told_of_is_found_by_the_next_reading_of_all(reader: Reader) -> None:
    Override.objects.filter(identity="ip:10.0.0.1").update(expires_at=timezone.now())
    assert blocked(after_edit(reader)) == {1, 2, 3, 4, 5}
    assert blocked(reader.read()) == {2, 3, 4, 5}


def test_an_announcement_reads_what_changed_and_half_a_minute_later_all_are_read(
    monkeypatch: pytest.MonkeyPatch, redis_client: Any
) -> None:
    from ratewindow.store import state_keys

    monkeypatch.setattr(edits, "_is_in_memory", lambda database: False)
    read: list[bool] = []
    monkeypatch.setattr(Reader, "read", lambda self, after_edit=False: read.append(after_edit))
    edits.reread()
    Override.objects.block("ip:10.0.0.1")
    redis_client.set(state_keys.token(), "of another process")
    edits.check_redis()
    edits.reread()
    reading._readings.ended_at_s -= edits.REREAD_S
    edits.reread()
    assert read == [False, True, True, False]


@pytest.mark.slow
def test_an_edit_among_many_reads_few_rows() -> None:
    made = [Override(action="block", identity=f"ip:10.{number >> 8}.{number & 255}.0/24") for number in range(3000)]
    with time_machine.travel(timezone.now() - timedelta(hours=1)):
        Override.objects.bulk_create(made)
    reader = Reader()
    reader.read()
    with CaptureQueriesContext(database) as captured:
        Override.objects.block("ip:192.0.2.1")
        held = reader.read(after_edit=True)
    assert held is not None
    assert held.count == 3001
    assert held._below is not None and held._below.count == 3000
    assert len(captured) < 20
