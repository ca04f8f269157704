"""The throttles as REST framework and its users know them."""

import warnings
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings
from rest_framework.decorators import api_view, throttle_classes
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from ratewindow import ratelimit
from ratewindow.rest_framework import (
    AnonRateThrottle,
    RuleThrottle,
    ScopedRateThrottle,
    SimpleRateThrottle,
    UserRateThrottle,
)
from ratewindow.testing import override_rules
from tests.support.rest_views import ANN, BOB, ask, rate_of, request_of, statuses, throttled
from tests.support.throttle_rates import define, rates

pytestmark = pytest.mark.django_db(transaction=True)


class TestRuleThrottle:
    def test_it_holds_the_rules_that_the_view_names(self) -> None:
        define("export", "2/m")
        assert statuses(throttled(RuleThrottle, throttle_rules=["export"]), 3) == [200, 200, 429]

    def test_it_holds_the_rules_that_a_subclass_names_and_those_of_the_view(self) -> None:
        define("api", "5/m")
        define("export", "2/m")
        site: Any = type("SiteThrottle", (RuleThrottle,), {"throttle_rules": "api"})
        assert statuses(throttled(site), 6) == [200] * 5 + [429]
        assert statuses(throttled(site, throttle_rules="export"), 3, REMOTE_ADDR="203.0.113.9") == [200, 200, 429]

    def test_a_function_view_takes_a_subclass(self) -> None:
        define("export", "1/m")

        @api_view(["GET"])
        @throttle_classes([type("Exports", (RuleThrottle,), {"throttle_rules": ["export"]})])
        def export(request: Request) -> Response:
            return Response("ok")

        assert statuses(export, 2) == [200, 429]

    def test_the_user_is_the_one_whom_rest_framework_has_authenticated(self) -> None:
        define("export", "1/m", key="user", on_missing="refuse")
        view = throttled(RuleThrottle, throttle_rules=["export"])
        assert statuses(view, 2, ANN) == [200, 429]
        assert statuses(view, 2, BOB) == [200, 429]
        assert statuses(view, 1) == [429]

    def test_a_rate_that_a_decorator_gives_under_the_name_holds_until_a_row_does(self) -> None:
        ratelimit("export", "1/m")(lambda request: None)
        view = throttled(RuleThrottle, throttle_rules=["export"])
        assert statuses(view, 2) == [200, 429]
        define("export", "2/m")
        assert statuses(view, 3, REMOTE_ADDR="203.0.113.9") == [200, 200, 429]

    def test_a_rule_that_nobody_defined_lets_pass_with_one_warning(self, caplog: pytest.LogCaptureFixture) -> None:
        assert statuses(throttled(RuleThrottle, throttle_rules=["export"]), 3) == [200, 200, 200]
        assert [record.message for record in caplog.records if "export" in record.message] == [
            "ratewindow: code names rule 'export', which nobody has defined: requests pass"
        ]

    @pytest.mark.parametrize(("mode", "expected"), [("off", [200, 200]), ("shadow", [200, 200]), ("enforce", [200, 429])])
    def test_the_mode_of_the_row_holds(self, mode: str, expected: list[int]) -> None:
        define("export", "1/m", mode)
        assert statuses(throttled(RuleThrottle, throttle_rules=["export"]), 2) == expected

    def test_rules_of_other_methods_do_not_hold(self) -> None:
        define("export", "0/m", methods="POST")
        assert statuses(throttled(RuleThrottle, throttle_rules=["export"]), 1) == [200]

    def test_a_name_that_is_none_is_told(self) -> None:
        with pytest.raises(ImproperlyConfigured, match=r"throttle_rules: 'My Export' is not a rule name"):
            ask(throttled(RuleThrottle, throttle_rules=["My Export"]))

    @pytest.mark.parametrize("rules", [None, 5])
    def test_what_is_no_list_of_names_is_told(self, rules: Any) -> None:
        with pytest.raises(ImproperlyConfigured, match=rf"throttle_rules: {rules} is not a list of rules: .* or \[\]"):
            ask(throttled(RuleThrottle, throttle_rules=rules))

    def test_without_rules_everybody_passes(self) -> None:
        assert statuses(throttled(RuleThrottle), 3) == [200, 200, 200]


class TestTheirNames:
    def test_anonymous_clients_are_limited_by_address_and_users_are_not(self) -> None:
        view = throttled(rate_of(AnonRateThrottle, "2/m"))
        assert statuses(view, 3) == [200, 200, 429]
        assert statuses(view, 1, REMOTE_ADDR="203.0.113.9") == [200]
        assert statuses(view, 4, ANN) == [200] * 4

    def test_users_are_limited_each_wherever_they_come_from_and_others_by_address(self) -> None:
        view = throttled(rate_of(UserRateThrottle, "2/m"))
        assert [ask(view, ANN, REMOTE_ADDR=f"203.0.113.{host}").status_code for host in (1, 2, 3)] == [200, 200, 429]
        assert statuses(view, 3, BOB) == [200, 200, 429]
        assert statuses(view, 3) == [200, 200, 429]

    def test_scopes_are_limited_apart_and_views_without_one_are_not(self) -> None:
        with rates(contacts="1/m", uploads="2/m"):
            assert statuses(throttled(ScopedRateThrottle, throttle_scope="contacts"), 2, ANN) == [200, 429]
            assert statuses(throttled(ScopedRateThrottle, throttle_scope="uploads"), 3, ANN) == [200, 200, 429]
            assert statuses(throttled(ScopedRateThrottle), 3, ANN) == [200, 200, 200]

    def test_views_of_one_scope_share_its_count(self) -> None:
        with rates(contacts="1/m"):
            one, other = (throttled(ScopedRateThrottle, throttle_scope="contacts") for _ in range(2))
            assert [statuses(one, 1), statuses(other, 1)] == [[200], [429]]

    def test_the_rates_of_the_setting_are_read_when_they_are_needed(self) -> None:
        view = throttled(AnonRateThrottle, UserRateThrottle)
        with rates(anon="1/m", user="2/m"):
            assert statuses(view, 2) == [200, 429]
            assert statuses(view, 3, ANN) == [200, 200, 429]
        assert statuses(view, 1) == [200]

    @pytest.mark.parametrize(
        "rate", ["2/s", "2/sec", "2/second", "2/m", "2/min", "2/minute", "2/h", "2/hour", "2/d", "2/day", "2/days"]
    )
    def test_the_units_of_rest_framework_are_understood(self, rate: str) -> None:
        with override_rules():
            pass
        assert rate_of(UserRateThrottle, rate)().num_requests == 2

    def test_rates_that_rest_framework_does_not_know_are_understood_too(self) -> None:
        throttle = rate_of(UserRateThrottle, "2/10m; 5/d")()
        assert (throttle.num_requests, throttle.duration) == (2, 600)

    @pytest.mark.parametrize(
        ("rate", "remedy"),
        [("10/month", "write 30d"), ("10/parsec", "use ms, s, m, h, d or w"), ("ten/m", "write 5/m"), (" ", "limits nothing")],
    )
    def test_a_rate_that_is_none_names_the_remedy(self, rate: str, remedy: str) -> None:
        with rates(user=rate), pytest.raises(ImproperlyConfigured, match=f"UserRateThrottle: .*{remedy}"):
            UserRateThrottle()
        with pytest.raises(ImproperlyConfigured, match=remedy):
            rate_of(AnonRateThrottle, rate)()

    def test_a_throttle_without_rate_and_scope_says_what_it_needs(self) -> None:
        with pytest.raises(ImproperlyConfigured, match="must set either"):
            SimpleRateThrottle()

    def test_a_scope_that_is_no_rule_name_is_told_one(self) -> None:
        with rates(**{"Log in": "5/m"}), pytest.raises(ImproperlyConfigured, match="is not a rule name"):
            ask(throttled(ScopedRateThrottle, throttle_scope="Log in"))


class TestARowNamedLikeTheScope:
    @pytest.mark.parametrize(
        ("mode", "expected"), [("enforce", [200, 429, 429]), ("off", [200, 200, 200]), ("shadow", [200, 200, 429])]
    )
    def test_it_takes_the_place_of_the_rate_once_it_is_enforced_or_off(self, mode: str, expected: list[int]) -> None:
        define("contacts", "1/m", mode)
        with rates(contacts="2/m"):
            assert statuses(throttled(ScopedRateThrottle, throttle_scope="contacts"), 3) == expected

    def test_in_shadow_it_is_tried_beside_the_rate(self) -> None:
        define("user", "1/m", "shadow", key="user_or_ip")
        seen: list[Request] = []
        view = throttled(rate_of(UserRateThrottle, "5/m"), inside=seen.append)
        assert statuses(view, 2, ANN) == [200, 200]
        outcomes = {(part.mode, part.outcome) for part in seen[1].ratewindow.decisions}
        assert outcomes == {("enforce", "passed"), ("shadow", "would_refuse")}

    def test_it_alone_is_enough(self) -> None:
        define("contacts", "1/m", key="user")
        view = throttled(ScopedRateThrottle, throttle_scope="contacts")
        assert statuses(view, 2, ANN) == [200, 429]
        assert statuses(view, 2, BOB) == [200, 429]

    def test_whom_the_throttle_exempts_it_does_not_limit(self) -> None:
        define("anon", "1/m")
        view = throttled(rate_of(AnonRateThrottle, "5/m"))
        assert statuses(view, 3, ANN) == [200, 200, 200]
        assert statuses(view, 2) == [200, 429]

    def test_a_scope_with_neither_rate_nor_row_lets_pass_with_one_warning(self, caplog: pytest.LogCaptureFixture) -> None:
        view = throttled(ScopedRateThrottle, throttle_scope="contacts")
        assert statuses(view, 3) == [200, 200, 200]
        assert [record.message for record in caplog.records if "nobody" in record.message] == [
            "ratewindow: code names rule 'contacts', which nobody has defined: requests pass"
        ]

    def test_a_rate_of_none_is_meant(self, caplog: pytest.LogCaptureFixture) -> None:
        with rates(user=None):
            assert statuses(throttled(UserRateThrottle), 3) == [200, 200, 200]
        assert not [record for record in caplog.records if "nobody" in record.message]


class TestByHand:
    """As tests of sites call a throttle, and views that ask one themselves."""

    @pytest.mark.parametrize("view", [None, {}, APIView()], ids=["none", "dict", "view"])
    def test_each_call_counts_and_the_wait_is_told(self, view: Any) -> None:
        throttle, request = rate_of(UserRateThrottle, "2/m")(), Request(request_of(ANN))
        assert throttle.wait() is None
        assert [throttle.allow_request(request, view) for _ in range(3)] == [True, True, False]
        assert 0 < throttle.wait() <= 61

    def test_a_new_throttle_each_time_counts_with_the_others(self) -> None:
        request, made = Request(request_of(ANN)), rate_of(UserRateThrottle, "2/m")
        assert [made().allow_request(request, None) for _ in range(3)] == [True, True, False]

    def test_a_request_of_django_will_do(self) -> None:
        request: Any = request_of()
        request.user = ANN
        throttle = rate_of(AnonRateThrottle, "1/m")()
        assert [throttle.allow_request(request, None) for _ in range(3)] == [True, True, True]

    def test_one_request_sent_several_times_counts_each_time(self) -> None:
        view, request = throttled(rate_of(UserRateThrottle, "2/m")), request_of()
        assert [view(request).status_code for _ in range(3)] == [200, 200, 429]

    def test_a_limit_that_is_never_lifted_has_no_wait(self) -> None:
        throttle = rate_of(UserRateThrottle, "0/m")()
        assert not throttle.allow_request(Request(request_of()), None)
        assert throttle.wait() is None


def test_the_default_classes_may_name_ours() -> None:
    paths = {"DEFAULT_THROTTLE_CLASSES": ["ratewindow.rest_framework.RuleThrottle"], "DEFAULT_THROTTLE_RATES": {}}
    with override_settings(REST_FRAMEWORK=paths):
        assert [RuleThrottle] == api_settings.DEFAULT_THROTTLE_CLASSES


def test_an_exception_handler_of_the_sites_own_sees_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Throttled] = []

    def handler(error: Exception, context: dict[str, Any]) -> Response:
        assert isinstance(error, Throttled)
        seen.append(error)
        return Response({"wait": error.wait}, status=error.status_code)

    view = throttled(rate_of(UserRateThrottle, "1/m"), get_exception_handler=lambda self: handler)
    ask(view)
    response = ask(view)
    assert (response.status_code, response.data) == (429, {"wait": seen[0].wait})
    assert response["Retry-After"] == str(seen[0].wait)


def test_rules_of_a_test_hold_for_throttles_too() -> None:
    view = throttled(rate_of(UserRateThrottle, "1/m"))
    with override_rules():
        assert statuses(view, 3, ANN) == [200, 200, 200]
    with override_rules(user="2/m") as rules:
        assert statuses(view, 3, ANN) == [200, 200, 429]
        assert statuses(view, 3, BOB) == [200, 200, 429]
        rules.travel("61s")
        assert statuses(view, 3, ANN) == [200, 200, 429]


@override_settings(RATEWINDOW={"ENABLED": False})
def test_switched_off_nobody_is_limited() -> None:
    assert statuses(throttled(rate_of(UserRateThrottle, "0/m")), 2) == [200, 200]


def test_an_async_view_is_limited_as_well() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from adrf.views import APIView as AsyncAPIView
    from asgiref.sync import async_to_sync

    class Shop(AsyncAPIView):
        authentication_classes = []
        throttle_classes = [rate_of(UserRateThrottle, "2/m")]

        async def get(self, request: Request) -> Response:
            return Response({"allowed": request.ratewindow.allowed})

    view: Any = async_to_sync(Shop.as_view())
    told = [view(request_of(ANN)) for _ in range(3)]
    assert [response.status_code for response in told] == [200, 200, 429]
    assert told[0]["X-RateLimit-Remaining"] == "1" and told[2]["Retry-After"]
