"""Throttles beside the middleware, decorators and blocks: each request is one, and charged once."""

import warnings
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.utils.decorators import method_decorator
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import ratewindow
from ratewindow import RateLimited, ratelimit, signals
from ratewindow.limiter.types import Decision
from ratewindow.middleware import RateWindowMiddleware
from ratewindow.models import Override, RateRule
from ratewindow.rest_framework import RuleThrottle, UserRateThrottle
from tests.support.rest_views import ANN, BOB, BURST, DAY, ExemptsStaff, ask, left, rate_of, request_of, statuses, throttled

pytestmark = pytest.mark.django_db(transaction=True)


class TestBehindTheMiddleware:
    def test_headers_and_counts_are_the_middlewares(self, recorded: list[list[tuple[str, str]]]) -> None:
        RateRule.objects.define("site", "50/m", applies_to="all", mode="enforce")
        site = RateWindowMiddleware(throttled(rate_of(UserRateThrottle, "1/m")))
        passed, refused = ask(site), ask(site)
        assert passed["RateLimit-Policy"].count("site") == passed["RateLimit-Policy"].count("user") == 1
        assert refused.status_code == 429 and refused["Retry-After"]
        assert recorded == [[("site", "passed"), ("user", "passed")], [("site", "other"), ("user", "refused")]]

    def test_a_rule_that_both_meet_is_charged_once(self) -> None:
        RateRule.objects.define("site", "9/m", applies_to="all", key="user_or_ip", mode="enforce")
        assert statuses(RateWindowMiddleware(throttled(RuleThrottle, throttle_rules=["site"])), 2) == [200, 200]
        assert left("site", "ip:127.0.0.1") == 7

    def test_its_decision_is_the_requests(self) -> None:
        request = request_of(ANN)
        RateWindowMiddleware(throttled(BURST, DAY))(request)
        assert {part.rule for part in request.ratewindow.decisions} == {"burst", "day"}  # type: ignore[attr-defined]

    def test_an_exception_of_ours_reaches_it(self) -> None:
        RateRule.objects.define("mail", "0/m", mode="enforce")
        view = throttled(BURST, inside=lambda request: ratewindow.hit("mail", request, raise_exception=True))
        with pytest.raises(RateLimited):
            ask(view)
        request = request_of()
        with pytest.raises(RateLimited) as raised:
            RateWindowMiddleware(view)(request)
        site = RateWindowMiddleware(view)
        assert site.process_exception(request, raised.value).status_code == 429  # type: ignore[union-attr]


class TestBesideTheDecorator:
    def test_around_the_view_it_is_one_request(self, recorded: list[list[tuple[str, str]]]) -> None:
        view = ratelimit("outer", "9/m")(throttled(BURST))
        assert ask(view)["RateLimit-Policy"].count("q=9") == 2
        assert recorded == [[("burst", "passed"), ("outer", "passed")]]

    def test_what_it_did_not_block_the_throttle_of_the_same_rule_does(self) -> None:
        RateRule.objects.define("export", "1/m", mode="enforce")
        view = ratelimit("export", block=False)(throttled(RuleThrottle, throttle_rules=["export"]))
        assert statuses(view, 3) == [200, 429, 429]

    def test_on_a_method_it_sees_their_user_and_djangos_request_knows(self) -> None:
        seen: list[Any] = []

        def get(self: Any, request: Request) -> Response:
            seen.append(request)
            return Response("ok")

        limited = method_decorator(ratelimit("inner", "1/m", key="user", block=False))(get)
        assert statuses(throttled(BURST, get=limited), 2, ANN) == [200, 200]
        decisions = [{part.rule: part.outcome for part in each._request.ratewindow.decisions} for each in seen]
        assert decisions == [
            {"burst": "passed", "inner": "passed"},
            {"burst": "passed", "inner": "refused"},
        ]
        assert [each._request.limited for each in seen] == [False, True]
        assert left("inner") == 0


async def test_calls_by_name_take_their_request_with_the_user_that_it_has() -> None:
    request = Request(request_of(ANN))
    request.user = ANN
    ratelimit("mail", "2/m", key="user")(lambda request: None)
    assert [bool(await ratewindow.ahit("mail", request)) for _ in range(3)] == [True, True, False]
    assert (await ratewindow.apeek("mail", "user:1")).remaining == 0
    assert request.user is ANN


def test_a_view_within_a_view_is_one_request(recorded: list[list[tuple[str, str]]]) -> None:
    inner = throttled(rate_of(UserRateThrottle, "9/m", scope="inner"))
    outer = throttled(BURST, inside=lambda request: inner(request._request).data)
    ask(outer)
    assert recorded == [[("burst", "passed"), ("inner", "passed")]]


def test_who_listens_to_refusals_hears_of_those_of_throttles_once() -> None:
    heard: list[Decision] = []

    def listen(decision: Decision, **_: Any) -> None:
        heard.append(decision)

    signals.throttled.connect(listen)
    try:
        assert statuses(throttled(DAY, BURST), 4) == [200, 200, 429, 429]
    finally:
        signals.throttled.disconnect(listen)
    assert [decision.rule for decision in heard] == ["day", "day"]


def test_one_view_that_is_used_again_tells_of_the_request_that_it_has() -> None:
    class Shop(APIView):
        authentication_classes = []
        throttle_classes = [rate_of(UserRateThrottle, "3/m")]

        def get(self, request: Request) -> Response:
            return Response("ok")

    view = Shop()
    assert [view.dispatch(request_of())["X-RateLimit-Remaining"] for _ in range(3)] == ["2", "1", "0"]


class TestBlocksAndExemptions:
    def test_they_hold_for_the_user_whom_rest_framework_knows(self) -> None:
        view = throttled(rate_of(UserRateThrottle, "1/m"))
        Override.objects.create(action="block", identity="user:1", reason="abuse")
        Override.objects.create(action="allow", identity="user:2")
        blocked = ask(view, ANN)
        assert blocked.status_code == 429
        assert blocked.data == {"detail": "Access is blocked. Waiting does not help."}
        assert statuses(view, 3, BOB) == [200, 200, 200]
        assert statuses(view, 2) == [200, 429]

    def test_another_rate_takes_the_place_of_the_throttles(self) -> None:
        Override.objects.create(action="rate", identity="user:1", rate="3/m", rule="user")
        view = throttled(rate_of(UserRateThrottle, "1/m"), RuleThrottle)
        assert statuses(view, 4, ANN) == [200, 200, 200, 429]
        assert statuses(view, 2, BOB) == [200, 429]

    def test_one_that_is_blocked_costs_no_throttle_anything(self, recorded: list[list[tuple[str, str]]]) -> None:
        Override.objects.create(action="block", identity="user:1")
        RateRule.objects.define("burst", "9/m", key="user_or_ip", mode="enforce")
        for throttles in ((BURST, ExemptsStaff), (ExemptsStaff, BURST)):
            assert ask(throttled(*throttles), ANN).status_code == 429
        Override.objects.all().delete()
        assert left("burst") == 9


class TestDecoratorsOnTheirViews:
    def test_on_a_class(self) -> None:
        class Shop(APIView):
            authentication_classes = []
            throttle_classes = [BURST]

            def get(self, request: Request) -> Response:
                return Response([part.rule for part in request.ratewindow.decisions])

        view: Any = ratelimit("outer", "1/m")(Shop).as_view()
        passed, refused = ask(view), ask(view)
        assert (passed.data, refused.status_code) == (["outer", "burst"], 429)

    def test_inside_a_function_view_it_sees_their_user(self) -> None:
        def shop(request: Request) -> Response:
            return Response("ok")

        view = api_view(["GET"])(ratelimit("inner", "1/m", key="user")(shop))
        assert statuses(view, 2, ANN) == [200, 429]
        assert statuses(view, 2, BOB) == [200, 429]

    def test_inside_an_async_function_view_it_sees_their_user(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from adrf.decorators import api_view as async_api_view

        async def shop(request: Request) -> Response:
            return Response("ok")

        view = async_to_sync(async_api_view(["GET"])(ratelimit("inner", "1/m", key="user")(shop)))
        assert statuses(view, 2, ANN) == [200, 429]
        assert statuses(view, 2, BOB) == [200, 429]
