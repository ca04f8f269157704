"""Blocks, exemptions and other rates, as requests meet them: through the middleware, at views, and by name from code."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, Group, User
from django.db import connection as database
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, RequestFactory, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

import ratewindow
from ratewindow.models import Override, RateRule
from ratewindow.reporting import counters
from ratewindow.rulebook import current, override_rows, reading
from ratewindow.rules.rule import BLOCKS
from ratewindow.signals import throttled
from ratewindow.store import outage, state_keys, stores
from tests.support.doors import answer, behind_middleware, decorated, get, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
ME, OTHER = "203.0.113.9", "198.51.100.1"


def define(name: str, rate: str, mode: str = "enforce", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, mode=mode, overwrite=True, **fields)[0]


def from_me(site: Any, count: int, path: str = "/", **extra: Any) -> list[int]:
    return statuses(site, count, path, REMOTE_ADDR=ME, **extra)


def site(is_async: bool = False) -> Any:
    return behind_middleware(plain(is_async))


def counted() -> dict[str, tuple[int, int, int]]:
    """Passed, refused and other of each rule in this process."""
    (by_rule,) = counters._process.held().values() or [{}]
    return {rule: (sums.passed, sums.refused, sums.other) for rule, sums in by_rule.items()}


@pytest.fixture
def no_redis() -> Iterator[None]:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        yield


class TestBlock:
    @is_async
    def test_it_refuses_whatever_is_asked_for_even_where_no_rule_is_met(self, is_async: bool) -> None:
        Override.objects.block("ip:203.0.113.0/24")
        assert from_me(site(is_async), 2, "/anything/") == [429, 429]
        assert statuses(site(is_async), 2, REMOTE_ADDR=OTHER) == [200, 200]

    @is_async
    def test_it_holds_at_a_view_without_the_middleware(self, is_async: bool) -> None:
        Override.objects.block("ip:203.0.113.9")
        assert from_me(decorated(is_async, "export", "5/m"), 2) == [429, 429]
        assert from_me(decorated(is_async, "nobody.defined.it"), 1) == [429]

    @is_async
    def test_of_one_rule_it_refuses_only_where_that_rule_is_met(self, is_async: bool) -> None:
        define("login", "9/m", path="/login/")
        define("all", "9/m", applies_to="all")
        Override.objects.block("ip:203.0.113.9", rule="login")
        assert from_me(site(is_async), 1, "/login/") == [429]
        assert from_me(site(is_async), 1, "/other/") == [200]

    def test_of_a_rule_in_shadow_it_refuses_since_somebody_has_said_so(self) -> None:
        define("login", "9/m", "shadow", path="/login/")
        Override.objects.block("ip:203.0.113.9", rule="login")
        assert from_me(site(), 1, "/login/") == [429]
        assert statuses(site(), 1, "/login/", REMOTE_ADDR=OTHER) == [200]

    def test_of_a_rule_that_is_off_it_refuses_nobody(self) -> None:
        define("login", "9/m", "off", path="/login/")
        Override.objects.block("ip:203.0.113.9", rule="login")
        assert from_me(site(), 1, "/login/") == [200]

    @pytest.mark.parametrize("missing", [True, False])
    def test_it_is_told_as_abnormal_usage_with_the_time_it_ends(self, missing: bool) -> None:
        if not missing:
            define("login", "9/m", path="/login/")
        Override.objects.block("ip:203.0.113.9", duration="1h")
        told = get(site(), "/login/", REMOTE_ADDR=ME, headers={"accept": "application/problem+json"})
        problem = json.loads(told.content)
        assert problem["type"] == "https://iana.org/assignments/http-problem-types#abnormal-usage-detected"
        assert "violated-policies" not in problem
        assert 3590 <= int(told["Retry-After"]) <= 3600
        assert told["Cache-Control"] == "no-store"
        assert not [name for name in told.headers if name.lower().startswith("ratelimit")]

    @is_async
    def test_the_signal_tells_of_it(self, is_async: bool) -> None:
        told: list[Any] = []

        def listen(decision: Any, **_: Any) -> None:
            told.append((decision.rule, decision.reason, bool(decision.id)))

        throttled.connect(listen)
        Override.objects.block("ip:203.0.113.9")
        from_me(site(is_async), 1)
        throttled.disconnect(listen)
        assert told == [(BLOCKS, "block", True)]

    def test_without_an_end_nobody_is_told_to_come_back(self) -> None:
        Override.objects.block("ip:203.0.113.9")
        assert "Retry-After" not in get(site(), REMOTE_ADDR=ME)

    @is_async
    def test_it_asks_nobody(self, is_async: bool, monkeypatch: pytest.MonkeyPatch, redis_client: Any) -> None:
        define("all", "9/m", applies_to="all")
        Override.objects.block("ip:203.0.113.9")
        monkeypatch.setattr(stores, "store", None)
        monkeypatch.setattr(stores, "astore", None)
        assert from_me(site(is_async), 3) == [429] * 3
        assert not redis_client.keys(f"{state_keys.state_prefix()}*")

    @is_async
    @pytest.mark.usefixtures("no_redis")
    def test_it_holds_while_redis_is_away(self, is_async: bool) -> None:
        define("all", "1/m", applies_to="all")
        Override.objects.block("ip:203.0.113.9")
        assert from_me(site(is_async), 2) == [429, 429]
        assert statuses(site(is_async), 3, REMOTE_ADDR=OTHER) == [200] * 3

    @pytest.mark.parametrize("prefixes", [{}, {"IPV4_PREFIX": 24}, {"IPV6_PREFIX": 128}, {"IPV6_PREFIX": 48}])
    @pytest.mark.parametrize("address", ["203.0.113.9", "2001:db8::1"])
    @pytest.mark.parametrize("more", ["", "+header:x-client:one"])
    def test_with_everything_anonymized_it_is_stored_as_a_hash_and_holds(
        self, prefixes: dict[str, int], address: str, more: str
    ) -> None:
        told = {**settings.RATEWINDOW, "ANONYMIZE": "all", **prefixes}
        with override_settings(RATEWINDOW=told):
            made = Override.objects.block(f"ip:{address}{more}")
            assert address not in made.identity and "::" not in made.identity and "ip:#" in made.identity
            reading.reload()
            view = behind_middleware(plain(False))
            assert statuses(view, 1, REMOTE_ADDR=address, HTTP_X_CLIENT="one") == [429]
            assert statuses(view, 1, REMOTE_ADDR="198.51.100.7", HTTP_X_CLIENT="one") == [200]
        reading.reload()

    def test_with_block_off_the_view_decides(self) -> None:
        Override.objects.block("ip:203.0.113.9")
        seen: list[HttpRequest] = []
        view = decorated(False, "export", "5/m", block=False, seen=seen)
        assert from_me(view, 1) == [200]
        decision = seen[0].ratewindow  # type: ignore[attr-defined]
        assert (decision.allowed, decision.reason) == (False, "block")

    def test_the_kill_switch_lets_go_of_it_too(self) -> None:
        Override.objects.block("ip:203.0.113.9")
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ENABLED": False}):
            assert from_me(site(), 1) == [200]

    def test_rules_that_were_met_count_it_as_refused_and_else_it_counts_by_itself(self) -> None:
        define("login", "9/m", path="/login/")
        define("tried", "9/m", "shadow", path="/login/")
        Override.objects.block("ip:203.0.113.9")
        from_me(site(), 2, "/login/")
        from_me(site(), 3, "/other/")
        assert counted() == {"login": (0, 2, 0), "tried": (0, 0, 2), BLOCKS: (0, 3, 0)}

    def test_a_block_at_a_view_is_told_by_what_stood_outside(self) -> None:
        """The user is known only at the view, so the middleware has let the request pass."""
        define("all", "9/m", applies_to="all")
        Override.objects.block("user:42")
        reached: list[HttpRequest] = []

        def log_in(request: HttpRequest) -> HttpResponse:
            request.user = User(pk=42)
            return decorated(False, "inner", "9/m", seen=reached)(request)

        request = RequestFactory().get("/")
        request.user = AnonymousUser()
        assert answer(behind_middleware(log_in), request).status_code == 429
        assert not reached
        assert counted() == {"all": (0, 0, 1), "inner": (0, 1, 0)}


class TestExemption:
    @is_async
    def test_who_is_let_pass_meets_no_rule_and_sees_no_headers(self, is_async: bool) -> None:
        define("all", "1/m", applies_to="all")
        Override.objects.allow("ip:203.0.113.9")
        assert from_me(site(is_async), 3) == [200] * 3
        assert not [name for name in get(site(is_async), REMOTE_ADDR=ME).headers if "limit" in name.lower()]
        assert statuses(site(is_async), 2, REMOTE_ADDR=OTHER) == [200, 429]

    def test_nothing_is_charged_meanwhile(self, redis_client: Any) -> None:
        define("all", "1/m", applies_to="all")
        Override.objects.allow("ip:203.0.113.9")
        from_me(site(), 3)
        assert not redis_client.keys(f"{state_keys.state_prefix()}*")
        assert counted() == {}

    def test_a_view_may_charge_and_give_back_and_nothing_happens(self, redis_client: Any) -> None:
        def view(request: HttpRequest) -> HttpResponse:
            request.ratewindow.charge(3)  # type: ignore[attr-defined]
            request.ratewindow.refund(1)  # type: ignore[attr-defined]
            return HttpResponse("ok")

        Override.objects.allow("ip:203.0.113.9")
        assert from_me(behind_middleware(ratewindow.ratelimit("export", "1/m")(view)), 3) == [200] * 3
        assert not redis_client.keys(f"{state_keys.state_prefix()}*")

    def test_a_rule_that_counts_by_the_answer_counts_nothing(self, redis_client: Any) -> None:
        define("errors", "1/m", applies_to="all", count_when="2xx")
        Override.objects.allow("ip:203.0.113.9")
        assert from_me(site(), 3) == [200] * 3
        assert statuses(site(), 2, REMOTE_ADDR=OTHER) == [200, 429]
        assert len(redis_client.keys(f"{state_keys.state_prefix()}*")) == 1

    def test_it_outweighs_a_block(self) -> None:
        Override.objects.block("ip:203.0.113.0/24")
        Override.objects.allow("ip:203.0.113.9")
        assert from_me(site(), 1) == [200]
        assert statuses(site(), 1, REMOTE_ADDR="203.0.113.10") == [429]

    @is_async
    def test_a_refusal_that_is_known_does_not_outlive_it(self, is_async: bool) -> None:
        define("all", "1/h", applies_to="all")
        handler = site(is_async)
        assert from_me(handler, 3) == [200, 429, 429]
        assert outage.refusals
        override = Override.objects.allow("ip:203.0.113.9", duration="1h")
        assert from_me(handler, 2) == [200, 200]
        override.delete()
        assert from_me(handler, 1) == [429]

    def test_of_one_rule_the_others_still_hold(self) -> None:
        define("login", "1/m", path="/login/")
        define("all", "2/m", applies_to="all")
        Override.objects.allow("ip:203.0.113.9", rule="login")
        assert from_me(site(), 3, "/login/") == [200, 200, 429]


class TestAnotherRate:
    @is_async
    def test_it_takes_the_place_of_a_rules_limits(self, is_async: bool) -> None:
        define("all", "1/m", applies_to="all")
        Override.objects.rate("ip:203.0.113.9", "3/m", rule="all")
        assert from_me(site(is_async), 4) == [200, 200, 200, 429]
        assert statuses(site(is_async), 2, REMOTE_ADDR=OTHER) == [200, 429]

    def test_what_was_counted_in_the_same_period_counts_on(self) -> None:
        define("all", "5/m", applies_to="all")
        assert from_me(site(), 2) == [200, 200]
        Override.objects.rate("*", "3/m", rule="all", duration="1h")
        assert from_me(site(), 2) == [200, 429]

    def test_a_rule_that_counts_by_the_answer_counts_by_the_other_rate(self) -> None:
        define("errors", "1/m", applies_to="all", count_when="2xx")
        Override.objects.rate("ip:203.0.113.9", "3/m")
        assert from_me(site(), 4) == [200, 200, 200, 429]

    def test_a_rule_in_shadow_stays_in_shadow(self) -> None:
        define("all", "9/m", "shadow", applies_to="all")
        Override.objects.rate("ip:203.0.113.9", "1/m")
        assert from_me(site(), 3) == [200] * 3

    def test_a_rate_in_code_gives_way_too(self) -> None:
        Override.objects.rate("ip:203.0.113.9", "2/m", rule="export")
        assert from_me(decorated(False, "export", "1/m"), 3) == [200, 200, 429]


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
        read = override_rows.Reader.read

        def slowly(self: override_rows.Reader, after_edit: bool = False) -> Any:
            limit = current.rulebook().by_name["all"].windows[0].limit
            seen.append((limit, from_me(site(), 1)))
            return read(self, after_edit)

        monkeypatch.setattr(override_rows.Reader, "read", slowly)
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


@is_async
class TestByName:
    def call(self, is_async: bool, name: str, *arguments: Any, **options: Any) -> Any:
        import asyncio

        if is_async:
            return asyncio.run(getattr(ratewindow, f"a{name}")(*arguments, **options))
        return getattr(ratewindow, name)(*arguments, **options)

    def test_an_identity_is_blocked_let_pass_and_held_to_another_rate(self, is_async: bool) -> None:
        define("mail", "1/h", key="user")
        Override.objects.block("user:41")
        Override.objects.allow("user:42")
        Override.objects.rate("user:43", "2/h", rule="mail")
        told = {who: [self.call(is_async, "hit", "mail", f"user:{who}") for _ in range(3)] for who in (41, 42, 43, 44)}
        assert {who: [each.allowed for each in decisions] for who, decisions in told.items()} == {
            41: [False, False, False],
            42: [True, True, True],
            43: [True, True, False],
            44: [True, False, False],
        }
        assert (told[41][0].reason, told[41][0].rule) == ("block", "mail")
        assert self.call(is_async, "peek", "mail", "user:41").reason == "block"

    def test_a_request_too(self, is_async: bool) -> None:
        define("mail", "1/h")
        Override.objects.block("ip:203.0.113.0/24")
        assert self.call(is_async, "hit", "mail", RequestFactory().get("/", REMOTE_ADDR=ME)).reason == "block"

    def test_what_is_blocked_is_blocked_under_any_name(self, is_async: bool) -> None:
        Override.objects.block("user:41")
        assert self.call(is_async, "hit", "unknown", "user:41").reason == "block"
        assert self.call(is_async, "hit", "unknown", "user:42").allowed

    def test_force_admits_who_is_blocked(self, is_async: bool) -> None:
        define("mail", "1/h")
        Override.objects.block("user:41")
        assert self.call(is_async, "hit", "mail", "user:41", force=True).allowed

    def test_units_are_given_back_where_they_were_charged(self, is_async: bool) -> None:
        define("mail", "1/h")
        Override.objects.rate("user:43", "2/m", rule="mail")
        for _ in range(2):
            self.call(is_async, "hit", "mail", "user:43")
        self.call(is_async, "refund", "mail", "user:43")
        assert self.call(is_async, "peek", "mail", "user:43").remaining == 1
        self.call(is_async, "reset", "mail", "user:43")
        assert self.call(is_async, "peek", "mail", "user:43").remaining == 2

    def test_who_is_blocked_can_still_be_given_back(self, is_async: bool) -> None:
        define("mail", "1/h")
        self.call(is_async, "hit", "mail", "user:41")
        override = Override.objects.block("user:41")
        self.call(is_async, "refund", "mail", "user:41")
        override.delete()
        assert self.call(is_async, "hit", "mail", "user:41").allowed


@pytest.mark.slow
def test_a_hundred_thousand_are_read_and_each_finds_its_own() -> None:
    made = ((f"ip:{10 + (number >> 16)}.{number >> 8 & 255}.{number & 255}.0/24",) for number in range(100_000))
    with database.cursor() as cursor:  # a hundred thousand instances would take longer than all else
        cursor.executemany(
            "INSERT INTO ratewindow_override (action, rule, identity, rate, reason, source, created_at, changed_at) "
            "VALUES ('block', '', %s, '', '', 'code', '2026-11-20 12:00:00', '2026-11-20 12:00:00')",
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


def test_a_whole_site_refuses_who_is_blocked_as_page_and_in_the_admin() -> None:
    Override.objects.block("ip:127.0.0.1", duration="2h", reason="secret reason")
    for path in ("/", "/admin/", "/limited/"):
        told = Client().get(path, headers={"accept": "text/html"})
        assert told.status_code == 429
        assert "secret reason" not in told.content.decode()
