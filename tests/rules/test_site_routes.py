"""The routes of a site as values."""

from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import path, re_path

from ratewindow.rules.rule import Rule
from ratewindow.rules.site_routes import matched_by, routes
from tests.support.urlconfs import site


def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


@pytest.mark.parametrize(
    ("rule", "labels"),
    [
        ({"applies_to": "path", "pattern": "/shop/7/"}, ["order"]),
        ({"applies_to": "path", "pattern": "/about"}, ["about"]),
        ({"applies_to": "prefix", "pattern": "/shop/"}, ["shop", "order"]),
        ({"applies_to": "route", "pattern": "order"}, ["order"]),
        ({"applies_to": "regex", "pattern": "^/shop/[0-9]+/"}, ["order"]),
        ({"applies_to": "all", "methods": frozenset(["POST"])}, ["about", "shop", "order", "/<year>/x/"]),
    ],
)
def test_a_rule_matches_some_of_them(rule: dict[str, Any], labels: list[str]) -> None:
    with site(
        path("about", view, name="about"),
        path("shop/", view, name="shop"),
        path("shop/<int:pk>/", view, name="order"),
        re_path(r"^(?P<year>[0-9]{4})/x/$", view),
    ):
        assert [route.label for route in matched_by(Rule("x", (), mode="off", **rule))] == labels


def test_those_to_which_one_path_leads_are_whole() -> None:
    with site(
        path("a/", view), path("b/<slug:tenant>/", view), re_path("^c/$", view), re_path("^d/", view), re_path("^e/.+", view)
    ):
        assert [route.is_whole for route in routes()] == [True, False, True, False, False]


def test_without_a_urlconf_there_are_no_routes(settings: Any) -> None:
    del settings.ROOT_URLCONF
    assert routes() == ()


def test_another_urlconf_has_other_routes() -> None:
    with site(path("a/", view)):
        assert [each.path for each in routes()] == ["/a/"]
    with override_settings(ROOT_URLCONF="testproject.urls"):
        assert "/login/" in [each.path for each in routes()]
