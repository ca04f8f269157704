"""Throttles of a site's own: subclasses that say what a client is, and rates with options."""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from ratewindow import ratelimit
from ratewindow.rest_framework import (
    AnonRateThrottle,
    RuleThrottle,
    ScopedRateThrottle,
    SimpleRateThrottle,
    UserRateThrottle,
)
from ratewindow.rules import code_rates
from tests.support.rest_views import ANN, BURST, ask, request_of, statuses, throttled
from tests.support.throttle_rates import rates

pytestmark = pytest.mark.django_db(transaction=True)


class TestRateOptions:
    def test_a_name_of_a_rate_with_options_is_limited_as_that(self) -> None:
        ratelimit("export", "1/h", algorithm="token_bucket", burst=2)(lambda request: None)
        assert statuses(throttled(RuleThrottle, throttle_rules=["export"]), 3) == [200, 200, 429]


class TestSubclasses:
    def test_a_scope_of_its_own_takes_its_rate_from_the_setting_or_the_class(self) -> None:
        class Burst(UserRateThrottle):
            scope = "burst"

        class Sustained(UserRateThrottle):
            scope = "sustained"
            THROTTLE_RATES = {"sustained": "3/h"}

        view = throttled(Burst, Sustained)
        with rates(burst="2/m"):
            assert statuses(view, 3, ANN) == [200, 200, 429]
        with rates(burst="20/m"):
            assert statuses(view, 2, ANN) == [200, 429]

    def test_get_cache_key_says_what_one_client_is(self) -> None:
        class ByShop(SimpleRateThrottle):
            scope = "shop"
            rate = "1/m"

            def get_cache_key(self, request: Request, view: Any) -> str | None:
                shop = request.query_params.get("shop")
                return self.cache_format % {"scope": self.scope, "ident": shop} if shop else None

        view: Any = throttled(ByShop)
        factory = APIRequestFactory()
        told = [view(factory.get("/", {"shop": shop})).status_code for shop in ("a", "a", "b", "", "")]
        assert told == [200, 429, 200, 200, 200]

    def test_what_a_client_sends_as_its_key_is_never_another_clients_identity(self) -> None:
        class ByWord(UserRateThrottle):
            rate = "1/m"

            def get_cache_key(self, request: Request, view: Any) -> str | None:
                return request.query_params.get("word") or super().get_cache_key(request, view)

        view: Any = throttled(ByWord)
        assert view(APIRequestFactory().get("/", {"word": "user:1"})).status_code == 200
        assert statuses(view, 2, ANN) == [200, 429]

    def test_get_ident_says_where_a_client_is(self) -> None:
        class ByHeader(AnonRateThrottle):
            rate = "1/m"

            def get_ident(self, request: Request) -> str:
                return request.headers.get("x-device", "")

        view = throttled(ByHeader)
        assert statuses(view, 2, headers={"x-device": "one"}) == [200, 429]
        assert statuses(view, 2, headers={"x-device": "two"}) == [200, 429]

    def test_the_address_is_that_of_the_rest_of_the_site(self) -> None:
        request: Any = request_of(REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR="198.51.100.1, 203.0.113.9")
        assert AnonRateThrottle().get_ident(request) == "10.0.0.1"
        with override_settings(RATEWINDOW={"TRUSTED_PROXIES": 1}):
            assert AnonRateThrottle().get_ident(request) == "203.0.113.9"

    def test_parse_rate_may_read_rates_in_its_own_way(self) -> None:
        class Pairs(UserRateThrottle):
            rate = "2 in 60"

            def parse_rate(self, rate: str | None) -> tuple[int, int]:
                count, _, seconds = str(rate).partition(" in ")
                return int(count), int(seconds)

        assert statuses(throttled(Pairs), 3, ANN) == [200, 200, 429]

    def test_what_parse_rate_gives_wrong_is_told(self) -> None:
        class Never(UserRateThrottle):
            rate = "5/m"

            def parse_rate(self, rate: str | None) -> tuple[int, int]:
                return 5, 0

        with pytest.raises(ImproperlyConfigured, match="user: parse_rate gave 5 in 0 s"):
            ask(throttled(Never))

    def test_code_for_the_verdict_as_rest_framework_shows_it_works(self) -> None:
        seen: list[Any] = []

        class Writes(UserRateThrottle):
            rate, scope = "1/h", "writes"

            def throttle_success(self) -> bool:
                self.history.insert(0, self.now)
                self.cache.set(self.key, self.history, self.duration)
                return True

        class Reads(UserRateThrottle):
            rate, scope = "1/h", "reads"

            def allow_request(self, request: Request, view: Any) -> bool:
                allowed = super().allow_request(request, view)
                seen.append(self.history)
                return allowed

            def wait(self) -> float:
                return min(super().wait() or 0, self.now)

        assert statuses(throttled(Writes), 2, ANN) == [200, 429]
        assert statuses(throttled(Reads), 2, ANN) == [200, 429]
        assert seen == [[], []]

    def test_a_scope_of_the_class_is_the_views_all_the_same(self) -> None:
        class Scoped(ScopedRateThrottle):
            scope = "none"

        with rates(shop="1/h"):
            assert statuses(throttled(BURST, Scoped), 2, ANN) == [200, 200]
            assert statuses(throttled(BURST, Scoped, throttle_scope="shop"), 2, ANN) == [200, 429]

    def test_success_and_failure_are_told(self) -> None:
        told: list[str] = []

        class Telling(UserRateThrottle):
            rate = "1/m"

            def throttle_success(self) -> bool:
                told.append("success")
                return super().throttle_success()

            def throttle_failure(self) -> bool:
                told.append("failure")
                return super().throttle_failure()

        statuses(throttled(Telling), 2)
        assert told == ["success", "failure"]

    def test_a_rate_without_a_scope_is_a_rule_named_like_the_class(self) -> None:
        class Uploads(SimpleRateThrottle):
            rate = "1/m"

            def get_cache_key(self, request: Request, view: Any) -> str:
                return "all"

        assert statuses(throttled(Uploads), 2) == [200, 429]
        assert any("uploads" in name for name in code_rates.load_names())
