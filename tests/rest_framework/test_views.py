"""What is known of throttles before a request meets one: in the checks, the list of rules, and for the cleaner."""

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from django.core.checks import run_checks
from django.test import override_settings
from django.urls import include, path
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSet

from ratewindow.checks.rows import check_rules
from ratewindow.rest_framework import AnonRateThrottle, RuleThrottle, ScopedRateThrottle, UserRateThrottle
from ratewindow.rules import code_rates
from tests.support.rest_views import rate_of, throttled

pytestmark = pytest.mark.django_db


class Shop(ViewSet):
    throttle_classes = [rate_of(UserRateThrottle, "100/h", scope="shop")]
    throttle_scope = None

    def list(self, request: Request) -> Response:
        return Response("ok")

    @action(detail=False, throttle_classes=[ScopedRateThrottle], throttle_scope="shop.export")
    def export(self, request: Request) -> Response:
        return Response("ok")


@pytest.fixture(autouse=True)
def _nothing_in_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_rates, "_uses", {})


@pytest.fixture
def views(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Addresses of a site; it is read after the test has filled it."""
    site: Any = ModuleType("tests.rest_framework.made_urls")
    site.urlpatterns = []
    monkeypatch.setitem(sys.modules, site.__name__, site)
    with override_settings(ROOT_URLCONF=site.__name__):
        yield site.urlpatterns


def found() -> dict[str, str]:
    messages = [*run_checks(tags=["ratewindow"]), *check_rules()]
    return {each.id: f"{each.msg} {each.hint or ''}".strip() for each in messages}


@pytest.mark.parametrize("listed", [property(lambda view: view.request.user.throttles), None])
def test_a_view_that_lists_its_throttles_only_in_a_request_hides_none_of_the_others(views: list[Any], listed: Any) -> None:
    view = type("View", (Shop,), {"throttle_classes": listed})
    views += [path("dynamic/", view.as_view({"get": "list"})), path("shop/", Shop.as_view({"get": "list"}))]
    assert found() == {}
    assert "shop" in code_rates.load_names()


def test_rates_and_names_of_throttles_are_known_before_the_first_request(views: list[Any]) -> None:
    router = SimpleRouter()
    router.register("shop", Shop, basename="shop")
    views += [path("api/", include(router.urls)), path("x/", throttled(RuleThrottle, throttle_rules=["named"]))]
    with override_settings(REST_FRAMEWORK={"DEFAULT_THROTTLE_RATES": {"shop.export": "2/h"}}):
        assert code_rates.load_names() == {"shop", "shop.export"}
    assert set(code_rates.uses()) == {"shop", "shop.export", "named"}
    assert {use.words for use in code_rates.uses()["shop.export"]} == {"2/h"}


def test_a_rate_of_none_names_nothing(views: list[Any]) -> None:
    views.append(path("x/", throttled(AnonRateThrottle, UserRateThrottle)))
    with override_settings(REST_FRAMEWORK={"DEFAULT_THROTTLE_RATES": {"anon": None, "user": None}}):
        code_rates.load_names()
    assert code_rates.uses() == {}


def test_a_rate_that_is_none_is_an_error_that_names_the_remedy(views: list[Any]) -> None:
    views += [path("x/", throttled(UserRateThrottle)), path("y/", throttled(UserRateThrottle))]
    with override_settings(REST_FRAMEWORK={"DEFAULT_THROTTLE_RATES": {"user": "10/month"}}):
        told = [message for message in run_checks(tags=["ratewindow"]) if message.id == "ratewindow.E010"]
    assert len(told) == 1
    assert told[0].msg.startswith("UserRateThrottle: rate '10/month': 'month' has no fixed length: write 30d; ")
    assert "rest_views.throttled.<locals>.Shop" in str(told[0].hint)


def test_a_scope_that_is_no_rule_name_is_an_error(views: list[Any]) -> None:
    views.append(path("x/", throttled(ScopedRateThrottle, throttle_scope="Log in")))
    with override_settings(REST_FRAMEWORK={"DEFAULT_THROTTLE_RATES": {"Log in": "5/m"}}):
        assert "'Log in' is not a rule name" in found()["ratewindow.E010"]


def test_a_rule_that_nobody_defined_is_a_warning(views: list[Any]) -> None:
    views.append(path("x/", throttled(RuleThrottle, throttle_rules=["nobodys"])))
    assert "Code names rule 'nobodys', which is not defined" in found()["ratewindow.W001"]


def test_rates_that_a_class_of_the_sites_reads_are_none_of_ours(views: list[Any]) -> None:
    views.append(path("x/", throttled(rate_of(UserRateThrottle, "1/d"))))
    with override_settings(REST_FRAMEWORK={"DEFAULT_THROTTLE_RATES": {"listed": ["3/m", "9/h"]}}):
        assert "ratewindow.E010" not in found()


def test_a_rate_that_code_makes_is_listed_as_that(views: list[Any]) -> None:
    class Dearer(UserRateThrottle):
        rate, scope = "9/m", "dearer"

        def get_rate(self) -> str:
            return "3/m"

        def __init__(self) -> None:
            super().__init__()
            self.num_requests = 2

    views.append(path("x/", throttled(Dearer)))
    found()
    assert [use.words for use in code_rates.uses()["dearer"]] == ["a rate by a function"]


def test_two_rates_of_one_scope_are_a_warning_as_rest_framework_allows_them(views: list[Any]) -> None:
    views += [path("x/", throttled(rate_of(UserRateThrottle, rate))) for rate in ("1/d", "100/h")]
    told = found()
    rates = "1/d per user_or_ip, algorithm='sliding_log', 100/h per user_or_ip"
    assert f"Code gives the name 'user' two rates: {rates}" in told["ratewindow.W010"]
    assert "ratewindow.E003" not in told


def test_a_rate_read_in_a_classes_own_way_is_called_a_function(views: list[Any]) -> None:
    class Pairs(UserRateThrottle):
        rate = "2 in 60"

        def parse_rate(self, rate: str | None) -> tuple[int, int]:
            return 2, 60

    views.append(path("x/", throttled(Pairs)))
    assert code_rates.load_names() == {"user"}
    assert code_rates.rule("user") is None
    assert found() == {}


def test_what_can_only_be_made_for_a_request_breaks_neither_lists_nor_checks(views: list[Any]) -> None:
    class Moody(UserRateThrottle):
        def __init__(self) -> None:
            raise LookupError("no request")

    class Shop(APIView):
        throttle_classes = [Moody, rate_of(UserRateThrottle, "5/m", scope="known")]

        def __init__(self, **options: Any) -> None:
            raise LookupError("no request")

    views.append(path("x/", Shop.as_view()))
    assert code_rates.load_names() == {"known"}
    assert found() == {}


def test_a_default_class_that_is_not_there_is_rest_frameworks_to_tell(views: list[Any]) -> None:
    wrong = {"DEFAULT_THROTTLE_CLASSES": ["ratewindow.rest_framework.NoSuchThrottle"], "NUM_PROXIES": 1}
    with override_settings(REST_FRAMEWORK=wrong):
        assert found() == {}
