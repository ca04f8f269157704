"""Routes: which view a request is for, before Django has said so."""

import types
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory, override_settings
from django.urls import URLResolver, include, path, re_path

from ratewindow.identity import request_attributes as routes
from ratewindow.identity.request_attributes import match_of, route


def view(request: HttpRequest, **_: Any) -> HttpResponse:
    return HttpResponse(str(route(request)))


def urls(*patterns: Any) -> Any:
    """A URLconf, as `request.urlconf` may name one."""
    made = types.ModuleType("made_urls")
    made.urlpatterns = patterns  # type: ignore[attr-defined]
    return made


SHOP = urls(
    path("login/", view, name="login"),
    path("orders/<int:number>/", view, name="order"),
    path("shop/", include(([path("<slug:what>/", view, name="checkout")], "shop"))),
    path("unnamed/", view),
    re_path("(?i)^search", view, name="search"),
)


def at(where: str, urlconf: Any = SHOP) -> HttpRequest:
    request = RequestFactory().get("/")
    request.path_info = where
    request.urlconf = urlconf
    return request


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("/login/", "login"),
        ("/orders/1/", "order"),
        ("/orders/2/", "order"),
        ("/shop/pay/", "shop:checkout"),
        ("/unnamed/", "tests.identity.test_routes.view"),
        ("/search", "search"),
        ("/searchX", "search"),
        ("/SEARCH/more", "search"),
    ],
)
def test_a_route_is_the_name_of_the_view_whatever_was_typed(where: str, expected: str) -> None:
    assert route(at(where)) == f"route:{expected}"


@pytest.mark.parametrize("where", ["/nowhere/", "/login", "//login/", "/orders/x/", "", "/\x00", "/\udcff", "/" * 9000])
def test_what_no_pattern_matches_has_no_route(where: str) -> None:
    assert route(at(where)) is None


def test_a_route_is_looked_up_once_for_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[str] = []
    resolve = URLResolver.resolve
    monkeypatch.setattr(URLResolver, "resolve", lambda self, where: looked_up.append(where) or resolve(self, where))
    for where in ("/login/", "/nowhere/"):
        request = at(where)
        assert match_of(request) is match_of(request)
    assert [where for where in looked_up if where.startswith("/")] == ["/login/", "/nowhere/"]


def test_a_request_that_is_given_another_urlconf_or_path_is_looked_up_again() -> None:
    request = at("/login/")
    assert route(request) == "route:login"
    request.urlconf = urls(path("login/", view, name="elsewhere"))
    assert route(request) == "route:elsewhere"
    request.path_info = "/logout/"
    assert route(request) is None


def test_what_django_has_resolved_is_not_resolved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    request = at("/login/")
    request.resolver_match = match_of(at("/orders/1/"))
    monkeypatch.setattr(routes, "get_resolver", None)
    assert route(request) == "route:order"


@override_settings(ROOT_URLCONF=SHOP, MIDDLEWARE=[])
def test_before_and_behind_the_middleware_the_route_is_the_same() -> None:
    assert Client().get("/shop/pay/").content == b"route:shop:checkout"
    assert route(at("/shop/pay/", None)) == "route:shop:checkout"


def test_a_script_name_that_a_client_sends_changes_no_route() -> None:
    request = RequestFactory().get("/login/", SCRIPT_NAME="/shop")
    request.urlconf = SHOP  # type: ignore[attr-defined]
    assert request.path == "/shop/login/"
    assert route(request) == "route:login"
