"""The decorator on classes and methods, and what it leaves of them."""

from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory, override_settings
from django.urls import path
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from ratewindow import coderules, ratelimit, rulebook
from ratewindow.checks import check_code

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_code_rules_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    rulebook.code_names()  # imports the site's views, whose names would be lost if this were the first time
    monkeypatch.setattr(coderules, "_uses", {})


@ratelimit(rate="5/m")
@method_decorator(csrf_exempt, name="dispatch")
class Hook(View):
    def post(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")


urlpatterns = [path("hook/", Hook.as_view())]


@override_settings(ROOT_URLCONF=__name__)
def test_a_limited_class_stays_exempt_from_csrf() -> None:
    assert Client(enforce_csrf_checks=True).post("/hook/").status_code == 200


def test_stacked_rates_on_a_class_are_several_rules() -> None:
    class Shop(View):
        def get(self, request: HttpRequest) -> HttpResponse:
            return HttpResponse("ok")

    view: Any = ratelimit(rate="2/m")(ratelimit(rate="10/h")(Shop)).as_view()
    request = RequestFactory().get("/")
    view(request)
    assert len(request.ratewindow.decisions) == 2  # type: ignore[attr-defined]
    assert check_code(None) == []


def test_methods_with_rates_of_their_own_are_not_one_name_with_two_rates() -> None:
    class Shop(View):
        @method_decorator(ratelimit(rate="2/m"))
        def get(self, request: HttpRequest) -> HttpResponse:
            return HttpResponse("ok")

        @method_decorator(ratelimit(rate="9/m"))
        def post(self, request: HttpRequest) -> HttpResponse:
            return HttpResponse("ok")

    view: Any = Shop.as_view()
    assert [view(RequestFactory().get("/")).status_code for _ in range(3)] == [200, 200, 429]
    assert view(RequestFactory().post("/")).status_code == 200
    assert check_code(None) == []


def test_a_method_whose_rule_nobody_defined_is_warned_of_once_and_known_before_its_first_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Shop(View):
        @method_decorator(ratelimit("nobody.defined"))
        def get(self, request: HttpRequest) -> HttpResponse:
            return HttpResponse("ok")

    assert {use.place for use in coderules.uses()["nobody.defined"]} == {"a method of a class"}
    view: Any = Shop.as_view()
    for _ in range(3):
        assert view(RequestFactory().get("/")).status_code == 200
    assert len(caplog.records) == 1


@pytest.mark.parametrize("key", [None, ["ip"], lambda request: "x"])
def test_a_key_that_is_no_text_is_named_at_import(key: Any) -> None:
    with pytest.raises(ValueError, match="is no key: write text such as ip"):
        ratelimit(rate="5/m", key=key)


@pytest.mark.parametrize("rate", [5, ["5/m"], 0.5])
def test_a_rate_that_is_neither_text_nor_a_function_is_named_at_import(rate: Any) -> None:
    with pytest.raises(ValueError, match="is no rate: write text such as 5/m"):
        ratelimit(rate=rate)


def test_without_parentheses_the_decorator_says_what_it_needs() -> None:
    with pytest.raises(ValueError, match="is no rule name"):
        ratelimit(lambda request: None)  # type: ignore[arg-type]
