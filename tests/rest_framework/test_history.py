"""What code of the site's reads of a throttle that has decided, and what it writes."""

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.cache import cache, caches
from django.test import override_settings
from rest_framework import throttling
from rest_framework.request import Request
from rest_framework.response import Response

import ratewindow
from ratewindow.models import RateRule
from ratewindow.rest_framework import AnonRateThrottle, ScopedRateThrottle, UserRateThrottle
from tests.support.rest_views import ANN, ask, left, rate_of, request_of, statuses, throttled
from tests.support.throttle_rates import rates

pytestmark = pytest.mark.django_db(transaction=True)

CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "default"},
    "other": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "other"},
}


def asked(throttle: Any, count: int = 1, user: Any = ANN) -> list[bool]:
    return [throttle.allow_request(Request(request_of(user)), None) for _ in range(count)]


Act = Callable[[Any], Any]
READING: dict[str, Act] = {
    "unread": lambda throttle: None,
    "read": lambda throttle: throttle.history,
    "read-from-cache": lambda throttle: throttle.cache.get(throttle.key),
    "written-back": lambda throttle: throttle.cache.set(throttle.key, [throttle.now, *throttle.history]),
}


class TestHistory:
    def test_it_is_as_long_as_what_is_used_and_its_last_time_tells_the_wait(self) -> None:
        throttle = rate_of(UserRateThrottle, "3/m")()
        lengths = []
        for _ in range(4):
            asked(throttle)
            lengths.append(len(throttle.history))
        assert lengths == [1, 2, 3, 3]
        assert throttle.history == sorted(throttle.history, reverse=True)
        assert throttle.wait() == pytest.approx(throttle.history[-1] + throttle.duration - throttle.now, abs=0.01)

    def test_while_a_request_passes_it_counts_from_the_step_in_which_rest_framework_counts_it(self) -> None:
        told: list[int] = []

        class Telling(UserRateThrottle):
            rate = "9/m"

            def throttle_success(self) -> bool:
                told.append(len(self.history))
                passes = super().throttle_success()
                told.append(len(self.history))
                return passes

        asked(Telling(), 2)
        assert told == [0, 1, 1, 2]

    def test_of_a_row_in_the_place_of_the_rate_it_says_what_is_left(self) -> None:
        RateRule.objects.define("user", "5/m", key="user", mode="enforce")
        throttle = rate_of(UserRateThrottle, "9/m")()
        asked(throttle, 2)
        assert throttle.num_requests - len(throttle.history) == 3

    @pytest.mark.parametrize("inside", READING.values(), ids=READING)
    @pytest.mark.parametrize(
        ("row", "left"), [({"rate": "100/m"}, 98), ({"rate": "100/m", "cost": 5}, 90), ({"rate": "9/m", "cost": 2}, 5)]
    )
    def test_to_read_it_while_a_request_passes_costs_nothing(
        self, row: dict[str, Any], left: int, inside: Callable[[Any], Any]
    ) -> None:
        class Reads(UserRateThrottle):
            rate = "9/m"

            def throttle_success(self) -> bool:
                inside(self)
                return super().throttle_success()

        RateRule.objects.define("user", key="user", mode="enforce", **row)
        assert asked(Reads(), 2) == [True, True]
        assert ratewindow.peek("user", "user:1").remaining == left

    @pytest.mark.parametrize("row", [{"rate": "100/m"}, {"rate": "9/m", "cost": 2}])
    def test_where_code_of_the_sites_does_not_count_the_request_nothing_is_charged(self, row: dict[str, Any]) -> None:
        class Reads(UserRateThrottle):
            rate = "9/m"

            def throttle_success(self) -> bool:
                return not self.history

        RateRule.objects.define("user", key="user", mode="enforce", **row)
        assert asked(Reads(), 2) == [True, True]
        assert ratewindow.peek("user", "user:1").remaining == int(row["rate"].partition("/")[0])

    def test_to_read_it_leaves_a_rule_that_waits_for_the_answer_alone(self) -> None:
        class Reads(UserRateThrottle):
            rate = "9/m"

            def throttle_success(self) -> bool:
                return len(self.history) < 9 and super().throttle_success()

        RateRule.objects.define("user", "9/m", key="user", mode="enforce", count_when="403,2xx")
        assert [ask(throttled(Reads), ANN)["X-RateLimit-Remaining"] for _ in range(2)] == ["8", "7"]
        assert left("user") == 7

    @pytest.mark.parametrize("how", [{"ENABLED": False}, {"REDIS": "redis://127.0.0.1:1/0"}], ids=["off", "away"])
    def test_where_nothing_is_counted_it_is_empty(self, how: dict[str, Any]) -> None:
        throttle = rate_of(UserRateThrottle, "9/m")()
        with override_settings(RATEWINDOW=how):
            assert asked(throttle) == [True]
        assert throttle.history == throttle.cache.get(throttle.key, []) == []

    def test_the_view_reads_it_of_a_throttle_whose_turn_was_taken_by_another(self) -> None:
        made = [rate_of(UserRateThrottle, "9/m", scope="one")(), rate_of(UserRateThrottle, "5/m", scope="two")()]
        view: Any = throttled(get_throttles=lambda self: made)
        statuses(view, 2, ANN)
        assert [(each.key, len(each.history)) for each in made] == [("throttle_one_1", 2), ("throttle_two_1", 2)]

    def test_a_limit_of_an_hour_beside_one_of_a_minute_says_what_is_left_of_both(self) -> None:
        throttle = rate_of(UserRateThrottle, "9/m; 3/h")()
        asked(throttle, 3)
        assert throttle.num_requests - len(throttle.history) == 0

    def test_an_async_view_has_it_too(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from adrf.views import APIView

        class Telling(UserRateThrottle):
            rate = "2/m"

            def allow_request(self, request: Request, view: Any) -> bool:
                passes = super().allow_request(request, view)
                request.META["left"] = self.num_requests - len(self.cache.get(self.key, []))
                return passes

        class Shop(APIView):
            authentication_classes = []
            throttle_classes = [Telling]

            async def get(self, request: Request) -> Response:
                return Response(request.META["left"])

        view: Any = async_to_sync(Shop.as_view())
        told = [view(request_of(ANN)) for _ in range(3)]
        assert [(answer.status_code, answer.data) for answer in told[:2]] == [(200, 1), (200, 0)]
        assert told[2].status_code == 429


class TestKey:
    def test_it_is_written_as_rest_framework_writes_it(self) -> None:
        class Longer(UserRateThrottle):
            rate = "9/m"

            def get_cache_key(self, request: Request, view: Any) -> Any:
                return f"{super().get_cache_key(request, view)}_twice"

        made = [rate_of(UserRateThrottle, "9/m")(), rate_of(AnonRateThrottle, "9/m")(), Longer()]
        keys = []
        for throttle, user in zip(made, (ANN, None, ANN), strict=True):
            asked(throttle, user=user)
            keys.append(throttle.key)
        assert keys == ["throttle_user_1", "throttle_anon_127.0.0.1", "throttle_user_1_twice"]

    def test_a_key_that_stays_as_it_is_names_the_client(self) -> None:
        class Passing(UserRateThrottle):
            rate = "9/m"

            def get_cache_key(self, request: Request, view: Any) -> Any:
                return super().get_cache_key(request, view)

        asked(Passing(), 2)
        assert ratewindow.peek("user", "user:1").remaining == 7

    def test_a_format_of_the_sites_own_tells_clients_apart(self) -> None:
        tenant = ["one"]

        class OfTenant(UserRateThrottle):
            rate = "1/m"
            cache_format = property(lambda self: f"{tenant[0]}_%(scope)s_%(ident)s")  # type: ignore[assignment]

        assert asked(OfTenant(), 2) == [True, False]
        tenant[0] = "two"
        assert asked(OfTenant()) == [True]

    def test_the_primary_key_of_something_else_is_no_user(self) -> None:
        class OfShop(UserRateThrottle):
            rate = "1/m"

            def get_cache_key(self, request: Request, view: Any) -> Any:
                return self.cache_format % {"scope": self.scope, "ident": 1}

        assert [*asked(OfShop()), *asked(OfShop(), user=None)] == [True, False]


class TestCache:
    @pytest.fixture(autouse=True)
    def _caches(self) -> Iterator[None]:
        with override_settings(CACHES=CACHES):
            yield
            cache.clear()

    def test_before_a_decision_and_at_other_keys_it_is_the_sites(self) -> None:
        throttle: Any = rate_of(UserRateThrottle, "9/m", cache=caches["other"])()
        assert throttle.cache is caches["other"]
        asked(throttle)
        throttle.cache.set("word", "other", timeout=9)
        assert (throttle.cache.get("word"), throttle.cache.get_many(["word"])) == ("other", {"word": "other"})
        assert (cache.get("word"), throttle.cache.get("unknown", "none")) == (None, "none")

    def test_what_is_read_is_a_copy(self) -> None:
        throttle: Any = rate_of(UserRateThrottle, "9/m")()
        asked(throttle, 2)
        throttle.cache.get(throttle.key, []).pop()
        assert len(throttle.cache.get(throttle.key)) == 2

    @pytest.mark.parametrize(("added", "left"), [(0, 8), (1, 7), (3, 5), (20, 0), (-1, 9)])
    def test_a_history_that_is_written_counts(self, added: int, left: int) -> None:
        throttle: Any = rate_of(UserRateThrottle, "9/m")()
        asked(throttle)
        written = [throttle.now] * (len(throttle.history) + added)
        for _ in range(2):  # the second time nothing has changed
            throttle.cache.set(throttle.key, written, throttle.duration)
        assert ratewindow.peek("user", "user:1").remaining == left
        assert throttle.cache.get(throttle.key) == written
        assert throttle.cache._cache.get(throttle.key) is None

    def test_a_class_without_the_steps_of_ours_counts_in_it_as_before(self) -> None:
        class Own(UserRateThrottle):
            rate = "2/m"

            def allow_request(self, request: Request, view: Any) -> bool:
                self.key = self.get_cache_key(request, view)
                self.now, self.history = self.timer(), self.cache.get(self.key, [])
                return self.throttle_failure() if len(self.history) >= 2 else self.throttle_success()

        made = Own()
        assert [*asked(made), *asked(Own(), 2)] == [True, True, False]
        assert len(cache.get("throttle_user_1")) == 2
        assert 0 < Own.wait(made) <= 60

    def test_the_headers_show_what_was_written(self) -> None:
        class Dear(UserRateThrottle):
            rate = "9/m"

            def throttle_success(self) -> bool:
                self.history.insert(0, self.now)
                return super().throttle_success()

        assert [ask(throttled(Dear), ANN)["X-RateLimit-Remaining"] for _ in range(2)] == ["7", "5"]

    @pytest.mark.parametrize("how", [{}, {"timer": lambda self: 1000.0}], ids=["usual-clock", "own-clock"])
    def test_what_was_written_is_refunded_where_a_later_throttle_refuses(self, how: dict[str, Any]) -> None:
        class Dear(UserRateThrottle):
            rate, scope = "9/m", "dear"

            def throttle_success(self) -> bool:
                passes = super().throttle_success()
                self.cache.set(self.key, [self.now, self.now, *self.history], self.duration)
                return passes

        for name, value in how.items():
            setattr(Dear, name, value)
        view = throttled(Dear, rate_of(UserRateThrottle, "0/m", scope="never"))
        for response in (ask(view, ANN), ask(view, ANN)):
            assert (response.status_code, '"dear";r=9' in response["RateLimit"]) == (429, True)
        made = Dear()
        assert asked(made) == [True]
        assert len(made.cache.get(made.key)) == 3

    def test_whether_a_key_is_in_it_is_asked_as_of_any_cache(self) -> None:
        throttle: Any = rate_of(UserRateThrottle, "9/m")()
        asked(throttle)
        throttle.cache.set("word", "told")
        for has in (throttle.cache.__contains__, throttle.cache.has_key):
            assert [has(key) for key in (throttle.key, "word", "unknown")] == [True, True, False]


class TestTimer:
    def test_it_decides_when_a_site_replaces_it(self) -> None:
        at_s = [1000.0]
        throttle = rate_of(UserRateThrottle, "2/m", timer=lambda self: at_s[0])()
        assert asked(throttle, 3) == [True, True, False]
        assert (throttle.now, throttle.wait(), throttle.history) == (1000.0, 60.0, [1000.0, 1000.0])
        at_s[0] += 59.99
        assert asked(throttle) == [False]
        at_s[0] += 0.01
        assert asked(throttle, 3) == [True, True, False]

    @pytest.mark.parametrize("is_first", [True, False])
    def test_a_throttle_that_has_one_decides_alone(self, is_first: bool) -> None:
        at_s = [1000.0]
        own = rate_of(UserRateThrottle, "2/m", scope="own", timer=lambda self: at_s[0])
        usual = rate_of(UserRateThrottle, "3/d", scope="usual")
        view = throttled(*([own, usual] if is_first else [usual, own]))
        assert (statuses(view, 3, ANN), left("usual")) == ([200, 200, 429], 1)
        at_s[0] += 60
        assert (statuses(view, 2, ANN), left("usual")) == ([200, 429], 0)
        assert asked(own(), 2) == [True, False], "what the other refused has cost nothing"

    @pytest.mark.parametrize("of", [throttling.SimpleRateThrottle, UserRateThrottle, None], ids=["base", "class", "instance"])
    def test_it_is_noticed_wherever_it_is_replaced(self, of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        throttle = rate_of(UserRateThrottle, "2/m")()
        assert throttle.decides_together
        monkeypatch.setattr(of or throttle, "timer", lambda *self: 1000.0, raising=False)
        assert not throttle.decides_together
        assert (asked(throttle), throttle.now) == ([True], 1000.0)

    def test_as_it_is_the_server_decides_and_now_is_the_time(self) -> None:
        throttle = rate_of(UserRateThrottle, "2/m")()
        asked(throttle)
        assert throttle.now == pytest.approx(time.time(), abs=60)

    @pytest.mark.parametrize(("on_error", "told"), [("allow", [True] * 5), ("refuse", [False] * 5), ("local", [True, False])])
    def test_while_redis_is_away_what_the_setting_says_holds(self, on_error: str, told: list[bool]) -> None:
        throttle = rate_of(UserRateThrottle, "1/m", timer=lambda self: 1000.0)()
        with override_settings(RATEWINDOW={"REDIS": "redis://127.0.0.1:1/0", "ON_ERROR": on_error}):
            assert asked(throttle, len(told)) == told


class TestRateThatCodeSets:
    @rates(shop="9/m")
    def test_calls_of_one_scope_share_its_count_each_with_its_own_limit(self) -> None:
        class Planned(ScopedRateThrottle):
            def allow_request(self, request: Request, view: Any) -> bool:
                self.scope, self.rate = "shop", request.headers.get("x-rate", "9/m")
                self.num_requests, self.duration = self.parse_rate(self.rate)
                return super(ScopedRateThrottle, self).allow_request(request, view)

        view = throttled(Planned)
        told = [ask(view, ANN, headers={"x-rate": rate}).status_code for rate in ("2/m", "2/m", "2/m", "4/m", "3/m", "9/m")]
        assert told == [200, 200, 429, 200, 429, 200]

    def test_the_numbers_hold_and_not_the_text_that_they_differ_from(self) -> None:
        class Half(UserRateThrottle):
            rate = "4/m; 9/h"

            def __init__(self) -> None:
                super().__init__()
                self.num_requests //= 2

        assert statuses(throttled(Half), 3, ANN) == [200, 200, 429]

    def test_none_is_meant(self, caplog: pytest.LogCaptureFixture) -> None:
        class Paid(UserRateThrottle):
            rate, scope = "1/m", "paid"

            def allow_request(self, request: Request, view: Any) -> bool:
                self.rate = None if request.headers.get("x-paid") else "1/m"
                return super().allow_request(request, view)

        assert [ask(throttled(Paid), ANN, headers={"x-paid": "yes"}).status_code for _ in range(2)] == [200, 200]
        assert not caplog.records
        assert statuses(throttled(Paid), 2, ANN) == [200, 429]

    def test_a_limit_above_that_of_a_log_is_counted_by_buckets(self) -> None:
        throttle = rate_of(UserRateThrottle, "100001/d", scope="much")()
        assert asked(throttle) == [True]
        assert throttle.decision.windows[0].window.algorithm == "sliding_window"

    def test_one_that_is_no_rate_is_told(self) -> None:
        class Wrong(UserRateThrottle):
            rate = "4/m"

            def __init__(self) -> None:
                self.num_requests, self.duration = "four", 60  # type: ignore[assignment]

        with pytest.raises(Exception, match=r"user: .*'four' in 60 s"):
            asked(Wrong())
