"""Several throttles at one request, beside middleware and decorators, and what of it reaches the client and the report."""

import warnings
from collections.abc import Iterable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import RequestFactory
from django.utils.decorators import method_decorator
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

import ratewindow
from ratewindow import RateLimited, ratelimit, signals
from ratewindow.limiter.types import Decision
from ratewindow.middleware import RateWindowMiddleware
from ratewindow.models import Override, RateRule
from ratewindow.request import guard
from ratewindow.rest_framework import AnonRateThrottle, RuleThrottle, ScopedRateThrottle, UserRateThrottle
from ratewindow.signals import throttled as throttled_signal
from tests.support.rest_views import ANN, BOB, ask, rate_of, request_of, statuses, throttled

pytestmark = pytest.mark.django_db(transaction=True)

BURST = rate_of(UserRateThrottle, "9/m", scope="burst")
DAY = rate_of(UserRateThrottle, "2/d", scope="day")


class ExemptsStaff(UserRateThrottle):
    """As sites write them: whom it exempts, it must not charge."""

    rate, scope = "1/m", "careful"

    def allow_request(self, request: Request, view: Any) -> bool:
        return request.query_params.get("staff") == "1" or super().allow_request(request, view)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[str, str]]]:
    """Rule and outcome of all decisions that are counted for the report, a list for each request."""
    told: list[list[tuple[str, str]]] = []

    def record(decisions: Iterable[Decision], stats: bool, who: object) -> None:
        told.append(sorted((each.rule, each.outcome) for each in decisions))

    monkeypatch.setattr(guard.counters, "record", record)
    return told


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The rules of each question that the gate is asked."""
    asked: list[list[str]] = []
    decide = guard.decide.decide

    def counting(question: Any, *arguments: Any) -> Decision:
        asked.append(sorted(check.rule for check in question.checks))
        return decide(question, *arguments)

    monkeypatch.setattr(guard.decide, "decide", counting)
    return asked


def left(name: str, user: str = "user:1") -> int | None:
    return ratewindow.peek(name, user).remaining


@pytest.fixture
def _rows() -> None:
    for name, rate in (("burst", "9/m"), ("day", "2/d"), ("careful", "1/m")):
        RateRule.objects.define(name, rate, key="user_or_ip", mode="enforce")


@pytest.mark.parametrize("throttles", [(BURST, DAY), (DAY, BURST)], ids=["refused-by-second", "refused-by-first"])
@pytest.mark.usefixtures("_rows")
def test_a_request_that_one_throttle_refuses_is_charged_by_none(throttles: Any) -> None:
    assert statuses(throttled(*throttles), 5, ANN) == [200, 200, 429, 429, 429]
    assert left("burst") == 7


@pytest.mark.usefixtures("_rows")
def test_a_request_that_a_throttle_refuses_is_not_charged_by_the_middleware() -> None:
    RateRule.objects.define("site", "9/m", prefix="/", mode="enforce")
    assert statuses(RateWindowMiddleware(throttled(DAY)), 5, ANN) == [200, 200, 429, 429, 429]
    assert left("site", "ip:127.0.0.1") == 7


def test_all_throttles_of_a_view_are_one_call(calls: list[list[str]]) -> None:
    RateRule.objects.define("export", "9/m", mode="enforce")
    view = throttled(BURST, DAY, ScopedRateThrottle, RuleThrottle, AnonRateThrottle, throttle_rules=["export"])
    assert statuses(view, 2, ANN) == [200, 200]
    assert calls == [["burst", "day", "export"]] * 2


def test_the_longest_wait_is_told() -> None:
    view = throttled(rate_of(UserRateThrottle, "1/m", scope="short"), rate_of(UserRateThrottle, "1/h", scope="long"))
    statuses(view, 1, ANN)
    assert 3500 < int(ask(view, ANN)["Retry-After"]) <= 3660


@pytest.mark.usefixtures("_rows")
def test_one_class_listed_twice_charges_once() -> None:
    statuses(throttled(BURST, BURST), 2, ANN)
    assert left("burst") == 7


def test_two_throttles_of_one_scope_hold_both() -> None:
    view = throttled(rate_of(UserRateThrottle, "9/m"), rate_of(UserRateThrottle, "2/d"))
    assert statuses(view, 3, ANN) == [200, 200, 429]


@pytest.mark.parametrize("throttles", [(BURST, ExemptsStaff), (ExemptsStaff, BURST)], ids=["last", "first"])
class TestAThrottleWithAnAllowRequestOfItsOwn:
    @pytest.mark.usefixtures("_rows")
    def test_it_does_not_charge_whom_it_exempts(self, throttles: Any) -> None:
        view: Any = throttled(*throttles)
        for _ in range(3):
            request = RequestFactory().get("/", {"staff": "1"})
            assert view(request).status_code == 200
        assert left("careful", "ip:127.0.0.1") == 1
        assert left("burst", "ip:127.0.0.1") == 6

    @pytest.mark.usefixtures("_rows")
    def test_what_it_refuses_costs_nothing_elsewhere(self, throttles: Any) -> None:
        assert statuses(throttled(*throttles), 4, ANN) == [200, 429, 429, 429]
        assert (left("burst"), left("careful")) == (8, 0)

    @pytest.mark.usefixtures("_rows")
    def test_what_the_others_refuse_costs_nothing_there(self, throttles: Any) -> None:
        RateRule.objects.define("burst", "0/m", key="user_or_ip", mode="enforce", overwrite=True)
        assert statuses(throttled(*throttles), 2, ANN) == [429, 429]
        assert left("careful") == 1


def test_throttles_of_others_are_asked_as_ever() -> None:
    class Closed(BaseThrottle):
        def allow_request(self, request: Request, view: Any) -> bool:
            return False

        def wait(self) -> float:
            return 7.2

    response = ask(throttled(Closed, BURST))
    assert (response.status_code, response["Retry-After"]) == (429, "8")


@pytest.mark.usefixtures("_rows")
def test_a_throttle_that_a_view_asks_by_itself_asks_for_no_other() -> None:
    told: list[bool] = []

    def inside(request: Request) -> str:
        told.append(ExemptsStaff().allow_request(request, request.parser_context["view"]))
        return "ok"

    assert statuses(throttled(BURST, inside=inside), 2, ANN) == [200, 200]
    assert (told, left("burst")) == ([True, False], 7)


class TestWithoutAnyGuardAround:
    def test_the_response_carries_the_headers(self) -> None:
        view = throttled(rate_of(UserRateThrottle, "2/m"))
        passed, _, refused = (ask(view) for _ in range(3))
        assert passed["RateLimit"] == '"user";r=1;t=60' and passed["X-RateLimit-Remaining"] == "1"
        assert "Retry-After" not in passed
        assert refused["RateLimit"] == f'"user";r=0;t={refused["Retry-After"]}'
        assert refused["Cache-Control"] == "no-store"

    def test_the_views_own_headers_win(self) -> None:
        view = throttled(
            rate_of(UserRateThrottle, "2/m"), inside=lambda request: Response("ok", headers={"X-RateLimit-Limit": "mine"})
        )
        assert ask(view)["X-RateLimit-Limit"] == "mine"

    def test_a_limit_met_in_the_view_is_in_the_headers_as_well(self) -> None:
        RateRule.objects.define("mail", "1/m", key="user_or_ip", mode="enforce")
        view = throttled(BURST, inside=lambda request: bool(ratewindow.hit("mail", request)))
        response = ask(view, ANN)
        assert '"mail";r=0' in response["RateLimit"] and '"burst";r=8' in response["RateLimit"]

    def test_requests_are_counted_for_the_report(self, recorded: list[list[tuple[str, str]]]) -> None:
        statuses(throttled(BURST, rate_of(UserRateThrottle, "1/m")), 2)
        assert recorded == [[("burst", "passed"), ("user", "passed")], [("burst", "other"), ("user", "refused")]]

    def test_a_view_that_fails_was_counted_all_the_same(self, recorded: list[list[tuple[str, str]]]) -> None:
        with pytest.raises(ZeroDivisionError):
            ask(throttled(BURST, inside=lambda request: 1 // 0))
        assert recorded == [[("burst", "passed")]]

    def test_the_rules_own_status_and_message_are_told(self) -> None:
        RateRule.objects.define("export", "0/m", mode="enforce", response_status=403, message="Exports are closed.")
        response = ask(throttled(RuleThrottle, throttle_rules=["export"]))
        assert (response.status_code, response.data) == (403, {"detail": "Exports are closed."})

    def test_whoever_listens_is_told_of_a_refusal(self) -> None:
        heard: list[str] = []

        def listener(decision: Decision, **_: Any) -> None:
            heard.append(decision.rule)

        throttled_signal.connect(listener)
        try:
            statuses(throttled(rate_of(UserRateThrottle, "1/m")), 3)
        finally:
            throttled_signal.disconnect(listener)
        assert heard == ["user", "user"]

    @pytest.mark.parametrize("fails", [False, True], ids=["passes", "fails"])
    def test_a_rule_that_counts_by_the_answer_is_charged_after_it(self, fails: bool) -> None:
        RateRule.objects.define("errors", "9/m", key="user_or_ip", mode="enforce", count_when="5xx,201")

        def inside(request: Request) -> Response:
            return Response(status=201 if request.query_params.get("made") else 200) if not fails else 1 // 0

        view: Any = throttled(RuleThrottle, throttle_rules=["errors"], inside=inside)
        for query in ("", "?made=1"):
            try:
                view(RequestFactory().get(f"/{query}"))
            except ZeroDivisionError:
                assert fails
        assert left("errors", "ip:127.0.0.1") == (7 if fails else 8)

    def test_a_refusal_is_logged_with_its_code(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level("INFO", "ratewindow.refusals")
        statuses(throttled(rate_of(UserRateThrottle, "1/m")), 2)
        assert [record.getMessage().split()[2:] for record in caplog.records if record.name == "ratewindow.refusals"] == [
            ["by", "rule", "user:", "limit"]
        ]

    @pytest.mark.parametrize(("on_error", "status", "wait"), [("allow", 200, None), ("refuse", 503, "2")])
    def test_while_redis_is_away_what_the_setting_says_holds(
        self, settings: Any, on_error: str, status: int, wait: str | None
    ) -> None:
        settings.RATEWINDOW = {"REDIS": "redis://127.0.0.1:1/0", "ON_ERROR": on_error}
        told = [ask(throttled(rate_of(UserRateThrottle, "1/m"))) for _ in range(5)]
        assert [(response.status_code, response.get("Retry-After")) for response in told] == [(status, wait)] * 5
        if status == 503:
            assert told[0].data == {"detail": "The service is busy. Try again in 2 seconds."}


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
