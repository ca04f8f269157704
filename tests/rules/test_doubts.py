"""What limits nobody or refuses everybody."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views import View

from ratewindow.limiter.types import Window
from ratewindow.rules.rule import Rule
from ratewindow.rules.site_routes import doubts
from tests.support.urlconfs import site

LIMIT = Window(5, 60_000)


@pytest.fixture(autouse=True)
def _three_routes() -> Iterator[None]:
    admin = ([path("", View.as_view(), name="index")], "admin")
    with site(
        path("login/", LoginView.as_view(), name="login"), path("search/", page, name="search"), path("admin/", include(admin))
    ):
        yield


def page(request: HttpRequest) -> HttpResponse:
    raise NotImplementedError


def kinds(*windows: Window, **fields: Any) -> list[str]:
    rule = Rule("x", windows or (LIMIT,), **{"applies_to": "path", "pattern": "/login/", **fields})
    return [each.kind for each in doubts(rule)]


def test_a_good_rule_has_none() -> None:
    assert kinds() == []
    assert kinds(applies_to="route", pattern="admin") == []  # a namespace
    assert kinds(applies_to="prefix", pattern="/nothing/") == []  # of pages that may not exist
    assert kinds(methods=frozenset(["POST"]), cost=5) == []


@pytest.mark.parametrize(
    ("windows", "fields", "kind"),
    [
        ((), {"pattern": "/lojin/"}, "nowhere"),
        ((), {"applies_to": "route", "pattern": "lojin"}, "nowhere"),
        ((), {"applies_to": "named", "pattern": ""}, "unnamed"),
        ((), {"cost": 6}, "cost"),
        ((LIMIT, Window(3, 1000)), {"cost": 4}, "cost"),
        ((Window(100, 60_000, "leaky_bucket"),), {"cost": 2}, "cost"),  # one at once
        ((Window(0, 60_000),), {}, "zero"),
    ],
)
def test_a_rule_without_effect_or_with_too_much_has_one(windows: Any, fields: dict[str, Any], kind: str) -> None:
    assert kinds(*windows, **fields) == [kind]


def test_a_burst_makes_room_for_a_cost_above_the_limit() -> None:
    assert kinds(Window(5, 60_000, "token_bucket", burst=20), cost=10) == []


def test_a_limit_of_zero_lets_what_costs_nothing_look() -> None:
    assert kinds(Window(0, 60_000), cost=0) == []
