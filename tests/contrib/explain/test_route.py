"""The route of a refused request."""

import pytest
from django.test import RequestFactory, override_settings
from django.urls import path, re_path, resolve

from ratewindow.contrib.explain.codes import route_of
from ratewindow.counting.sheets import facts_of


def view(request, **_):
    raise AssertionError


urlpatterns = [path("login/", view, name="login"), path("shop/<int:pk>/", view), re_path(r"^old/(\d+)$", view)]


@pytest.mark.parametrize(
    ("method", "url", "route"),
    [
        ("POST", "/login/", "POST /login/"),
        ("HEAD", "/login/", "GET /login/"),
        ("GET", "/shop/7/", "GET /shop/<int:pk>/"),
        ("GET", "/old/7", r"GET /old/(\d+)$"),
        ("BREW", "/shop/7/", "OTHER /shop/<int:pk>/"),
        ("GET", "/nowhere/" + "x" * 1000, "GET no route"),
    ],
)
@override_settings(ROOT_URLCONF=__name__)
def test_the_route_is_method_and_pattern(method, url, route):
    request = RequestFactory().generic(method, url)
    assert route_of(facts_of(request)) == route
    if "no route" not in route:
        request.resolver_match = resolve(url)
        assert route_of(facts_of(request)) == route
