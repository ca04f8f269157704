"""Several throttles at one request, and what of it reaches the client and the report."""

from typing import Any, ClassVar

import pytest
from django.test import RequestFactory
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle

import ratewindow
from ratewindow.limiter.types import Decision
from ratewindow.middleware import RateWindowMiddleware
from ratewindow.models import RateRule
from ratewindow.request import guard
from ratewindow.rest_framework import AnonRateThrottle, RuleThrottle, ScopedRateThrottle, UserRateThrottle
from ratewindow.signals import throttled as throttled_signal
from tests.support.rest_views import ANN, BURST, DAY, ExemptsStaff, ask, left, rate_of, statuses, throttled

pytestmark = pytest.mark.django_db(transaction=True)


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


class Blames(UserRateThrottle):
    """As sites write them: whom it refuses, it reports."""

    rate, scope = "3/m", "blames"
    blamed: ClassVar[list[str]] = []

    def throttle_failure(self) -> bool:
        self.blamed.append(self.key)
        return super().throttle_failure()


class TestAThrottleWithCodeOfItsOwnForTheVerdict:
    @pytest.mark.parametrize("throttles", [(Blames, DAY), (DAY, Blames)], ids=["first", "last"])
    def test_it_is_told_of_its_own_refusals_alone(self, throttles: Any) -> None:
        Blames.blamed.clear()
        assert statuses(throttled(*throttles), 4, ANN) == [200, 200, 429, 429]
        assert Blames.blamed == []
        assert statuses(throttled(Blames), 2, ANN) == [200, 429]
        assert Blames.blamed == ["throttle_blames_1"]

    def test_the_others_still_decide_in_one_call(self, calls: list[list[str]]) -> None:
        assert statuses(throttled(Blames, BURST, ExemptsStaff, DAY), 1, ANN) == [200]
        assert calls == [["blames"], ["burst", "day"], ["careful"]]

    def test_rules_of_its_own_leave_the_verdict_to_all(self, calls: list[list[str]]) -> None:
        class OfMethod(RuleThrottle):
            def rules(self, book: Any, request: Request, view: Any) -> Any:
                return book.named(f"export-{request.method}".lower(), None, request.method, warn=False)

        RateRule.objects.define("export-get", "1/m", mode="enforce")
        assert statuses(throttled(OfMethod, BURST), 2, ANN) == [200, 429]
        assert calls == [["burst", "export-get"]] * 2

    def test_the_view_is_asked_for_its_throttles_no_more_often_than_by_rest_framework(self) -> None:
        asked: list[str] = []

        def get_throttles(view: Any) -> list[Any]:
            asked.append("once")
            return [ExemptsStaff()]

        assert statuses(throttled(get_throttles=get_throttles), 1, ANN) == [200]
        assert asked == ["once"]

    @pytest.mark.parametrize("scopes", [("minute", "hour"), ("both", "both")], ids=["two-scopes", "one-scope"])
    def test_each_of_several_of_one_class_decides_by_its_own_rate(self, scopes: tuple[str, str]) -> None:
        class OfRate(ExemptsStaff):
            def __init__(self, rate: str, scope: str) -> None:
                self.rate, self.scope = rate, scope
                super().__init__()

        rates = ("9/m", "2/h")
        view = throttled(get_throttles=lambda self: [OfRate(*each) for each in zip(rates, scopes, strict=True)])
        assert statuses(view, 3, ANN) == [200, 200, 429]
        assert statuses(RateWindowMiddleware(view), 1, ANN) == [429]

    @pytest.mark.parametrize("around", [lambda view: view, RateWindowMiddleware], ids=["alone", "middleware"])
    def test_one_that_asks_ours_for_each_of_its_rates_holds_all(self, around: Any) -> None:
        class Each(UserRateThrottle):
            scope = "each"

            def allow_request(self, request: Request, view: Any) -> bool:
                return all(self.holds(rate) and UserRateThrottle.allow_request(self, request, view) for rate in ("9/m", "2/h"))

            def holds(self, rate: str) -> bool:
                self.rate = rate
                self.num_requests, self.duration = self.parse_rate(rate)
                return True

            def get_rate(self) -> str:
                return "9/m"

        assert statuses(around(throttled(Each)), 3, ANN) == [200, 200, 429]

    @pytest.mark.usefixtures("_rows")
    def test_a_rule_that_the_middleware_has_met_is_charged_once(self) -> None:
        RateRule.objects.define("careful", "9/m", applies_to="all", key="user_or_ip", mode="enforce", overwrite=True)
        assert statuses(RateWindowMiddleware(throttled(ExemptsStaff)), 2) == [200, 200]
        assert left("careful", "ip:127.0.0.1") == 7


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


@pytest.mark.usefixtures("_rows")
def test_a_view_that_calls_another_with_its_request_is_charged_once() -> None:
    inner: Any = throttled(BURST)
    view = throttled(BURST, inside=lambda request: inner(request._request))
    assert statuses(view, 2, ANN) == [200, 200]
    assert left("burst") == 7


def test_a_view_has_its_own_methods_back_after_an_error_that_nobody_handles() -> None:
    views: list[Any] = []

    def inside(request: Request) -> None:
        views.append(request.parser_context["view"])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ask(throttled(BURST, inside=inside))
    assert views[0].finalize_response.__func__ is type(views[0]).finalize_response
    assert views[0].handle_exception.__func__ is type(views[0]).handle_exception


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
