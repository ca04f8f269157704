"""Blocks, exemptions and other rates, as requests meet them: through the middleware, and at views."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory, override_settings

import ratewindow
from ratewindow.counting.counters import counters
from ratewindow.counting.sheets import ALL
from ratewindow.models import Override
from ratewindow.rulebook import reading
from ratewindow.rules.rule import BLOCKS
from ratewindow.signals import throttled
from ratewindow.store import outage, state_keys, stores
from tests.support.doors import answer, behind_middleware, decorated, get, plain, statuses
from tests.support.overridden import ME, OTHER, define, from_me, site

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def counted() -> dict[str, tuple[int, int, int]]:
    """Passed, refused and other of each rule in this process."""
    (by_rule,) = counters.held().values() or [{}]
    return {rule: (sums.passed, sums.refused, sums.other) for rule, sums in by_rule.items() if rule != ALL}


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


def test_a_whole_site_refuses_who_is_blocked_as_page_and_in_the_admin() -> None:
    Override.objects.block("ip:127.0.0.1", duration="2h", reason="secret reason")
    for path in ("/", "/admin/", "/limited/"):
        told = Client().get(path, headers={"accept": "text/html"})
        assert told.status_code == 429
        assert "secret reason" not in told.content.decode()
