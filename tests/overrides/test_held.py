"""What a process holds of blocks, exemptions and other rates: members of groups, times, edits, and very many."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.db import connection as database
from django.http import HttpRequest
from django.test import AsyncClient, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ratewindow.models import Override, RateRule
from ratewindow.rulebook import current, override_rows, reading
from ratewindow.store import state_keys
from tests.support.doors import answer, get
from tests.support.overridden import ME, define, from_me, site

pytestmark = pytest.mark.django_db(transaction=True)


class TestUsersAndGroups:
    def request(self, user: Any) -> HttpRequest:
        request = RequestFactory().get("/", REMOTE_ADDR=ME)
        request.user = user
        return request

    def test_a_user_is_found_whatever_the_rules_key_is(self) -> None:
        define("all", "1/m", applies_to="all", key="ip")
        Override.objects.allow("user:42")
        handler = site()
        assert [answer(handler, self.request(User(pk=42))).status_code for _ in range(3)] == [200] * 3
        assert [answer(handler, self.request(User(pk=43))).status_code for _ in range(2)] == [200, 429]

    def test_who_comes_into_a_group_or_leaves_it_is_known_at_once(self) -> None:
        ann, staff = User.objects.create(username="ann"), Group.objects.create(name="staff")
        Override.objects.block("group:staff")
        handler = site()
        told = [answer(handler, self.request(ann)).status_code]
        ann.groups.add(staff)
        told.append(answer(handler, self.request(ann)).status_code)
        staff.user_set.clear()
        told.append(answer(handler, self.request(ann)).status_code)
        assert told == [200, 429, 200]

    def test_no_request_asks_the_database_who_is_in_a_group(self) -> None:
        ann = User.objects.create(username="ann")
        ann.groups.add(Group.objects.create(name="staff"))
        Override.objects.block("group:staff")
        with CaptureQueriesContext(database) as captured:
            assert answer(site(), self.request(ann)).status_code == 429
        assert not captured.captured_queries

    async def test_under_asgi_the_user_is_loaded_without_blocking_the_loop(self) -> None:
        user = await User.objects.acreate(username="ann")
        client = AsyncClient()
        await client.aforce_login(user)
        from asgiref.sync import sync_to_async

        await sync_to_async(Override.objects.block)(f"user:{user.pk}")
        assert (await client.get("/slow/")).status_code == 429
        assert (await AsyncClient().get("/slow/")).status_code == 200


class TestTime:
    def test_it_begins_and_ends_by_the_clock_without_reading_anew(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = timezone.now()
        Override.objects.block("ip:203.0.113.9", starts_at=now + timedelta(hours=1), duration="1h")
        monkeypatch.setattr(reading, "reload", None)
        told = []
        for minutes in (0, 59, 61, 119, 121):
            with time_machine.travel(now + timedelta(minutes=minutes), tick=False):
                told += from_me(site(), 1)
        assert told == [200, 200, 429, 429, 200]

    def test_what_has_ended_is_not_read(self) -> None:
        override = Override.objects.block("ip:203.0.113.9", duration="1h")
        assert current.rulebook().overrides is not None
        Override.objects.get_queryset().filter(pk=override.pk).end()
        assert current.rulebook().overrides is None
        assert from_me(site(), 1) == [200]


class TestEdits:
    def test_each_is_announced_to_the_other_processes(self, redis_client: Any) -> None:
        tokens = [redis_client.get(state_keys.token())]
        override = Override.objects.block("ip:203.0.113.9")
        tokens.append(redis_client.get(state_keys.token()))
        override.delete()
        tokens.append(redis_client.get(state_keys.token()))
        assert len(set(tokens)) == 3
        assert from_me(site(), 1) == [200]

    def test_without_the_database_the_last_good_ones_hold(self) -> None:
        Override.objects.block("ip:203.0.113.9")
        with database.schema_editor() as editor:
            editor.alter_db_table(Override, "ratewindow_override", "elsewhere")
        try:
            reading.reload()
            assert from_me(site(), 1) == [429]
        finally:
            with database.schema_editor() as editor:
                editor.alter_db_table(Override, "elsewhere", "ratewindow_override")

    def test_an_edited_rule_does_not_wait_until_all_blocks_are_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        Override.objects.block("ip:203.0.113.9")
        define("all", "9/m", applies_to="all")
        seen: list[tuple[int, list[int]]] = []
        read = override_rows.read_overrides

        def slowly(rows: Any) -> Any:
            limit = current.rulebook().by_name["all"].windows[0].limit
            seen.append((limit, from_me(site(), 1)))
            return read(rows)

        monkeypatch.setattr(override_rows, "read_overrides", slowly)
        RateRule.objects.get(name="all").windows.update(limit=5)
        reading.reload()
        assert seen == [(5, [429])]  # the new limit, and the block of before

    def test_a_request_issues_no_sql_of_ours(self) -> None:
        define("all", "9/m", applies_to="all")
        for subject in ("ip:198.51.100.0/24", "user:42", "group:staff", "header:x-client:one"):
            Override.objects.block(subject)
        with CaptureQueriesContext(database) as captured:
            assert from_me(site(), 3) == [200] * 3
        assert not captured.captured_queries

    def test_a_row_that_cannot_be_right_is_left_out_and_named_once(self, caplog: pytest.LogCaptureFixture) -> None:
        Override.objects.block("ip:203.0.113.9")
        Override.objects.bulk_create([Override(action="block", identity="shoe:42"), Override(action="panic", identity="*")])
        reading.reload()
        reading.reload()
        assert from_me(site(), 1) == [429]
        assert caplog.text.count("is left out: 'shoe' is not a key") == 1
        assert caplog.text.count("is left out: action 'panic' is unknown") == 1

    def test_of_very_large_groups_some_members_are_not_known_and_that_is_told(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(override_rows, "MOST_MEMBERS", 2)
        staff = Group.objects.create(name="staff")
        for number in range(4):
            User.objects.create(username=f"user{number}").groups.add(staff)
        Override.objects.block("group:staff")
        held = current.rulebook().overrides
        assert held is not None
        users = User.objects.order_by("pk")
        assert [bool(held.of_identity(f"user:{user.pk}")) for user in users] == [True, True, False, False]
        assert "more than 2 members: the others are ignored" in caplog.text


@pytest.mark.slow
def test_a_hundred_thousand_are_read_and_each_finds_its_own() -> None:
    made = ((f"ip:{10 + (number >> 16)}.{number >> 8 & 255}.{number & 255}.0/24",) for number in range(100_000))
    with database.cursor() as cursor:  # a hundred thousand instances would take longer than all else
        cursor.executemany(
            "INSERT INTO ratewindow_override (action, rule, identity, rate, reason, source, created_at) "
            "VALUES ('block', '', %s, '', '', 'code', '2026-11-20 12:00:00')",
            made,
        )
    reading.reload()
    held = current.rulebook().overrides
    assert held is not None
    assert held.count == 100_000
    addresses = {"10.0.0.1": 429, "10.255.255.9": 429, "11.134.159.1": 429, "11.134.160.1": 200, "12.0.0.1": 200}
    assert {each: get(site(), REMOTE_ADDR=each).status_code for each in addresses} == addresses
    Override.objects.allow("ip:10.0.0.1")
    Override.objects.get(identity="ip:10.255.255.0/24").delete()
    assert [get(site(), REMOTE_ADDR=each).status_code for each in ("10.0.0.1", "10.255.255.9", "10.0.0.2")] == [200, 200, 429]
