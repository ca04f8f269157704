"""Where a limit applies, and under which name."""

import pytest
from django.test import override_settings
from django.urls import include, path

from ratewindow.contrib.moving.importers.limits import Found, Limit, translated
from ratewindow.rules.site_routes import Route, routes
from tests.support.other_limits_urls import plain

inner = [path("one/", plain, name="one"), path("two/<int:pk>/", plain, name="two")]
urlpatterns = [
    path("shop/", include((inner, "shop"))),
    path("api/a/", plain),
    path("api/b/", plain),
    path("far/", plain, name="far"),
    path("same/1/", plain, name="same"),
    path("same/2/", plain, name="same"),
]


@pytest.fixture(autouse=True)
def site() -> object:
    with override_settings(ROOT_URLCONF=__name__):
        yield


def of(*paths: str) -> tuple[Route, ...]:
    return tuple(route for route in routes() if route.path in paths)


@pytest.mark.parametrize(
    ("paths", "place"),
    [
        (["/shop/one/"], ("route", "shop:one")),
        (["/shop/one/", "/shop/two/<int:pk>/"], ("route", "shop")),
        (["/api/a/", "/api/b/"], ("prefix", "/api/")),
        (["/api/a/"], ("path", "/api/a/")),
        (["/same/1/", "/same/2/"], ("route", "same")),
        (["/same/1/"], ("path", "/same/1/")),
    ],
)
def test_a_place_has_the_routes_of_the_limit_and_no_other(paths: list[str], place: tuple[str, str]) -> None:
    (rule,) = translated(Found([Limit("x", "5/m", "ip", of(*paths))])).rules
    assert rule.fields[place[0]] == place[1]


def test_routes_that_have_no_place_together_are_a_rule_each() -> None:
    found = translated(Found([Limit("x", "5/m", "ip", of("/far/", "/shop/one/"))]))
    assert [(rule.name, rule.fields["route"]) for rule in found.rules] == [("x.far", "far"), ("x.shop-one", "shop:one")]
    assert [name for name, _ in found.notes] == ["x.shop-one", "x.far"]


def test_names_are_names_of_rules_and_occur_once() -> None:
    limits = [Limit(name, "5/m", "ip", of("/far/")) for name in ("Shop:Búy now", "shop:b y now", "", "blocks", "x" * 99)]
    assert [rule.name for rule in translated(Found(limits)).rules] == [
        "blocks-2",
        "rule",
        "shop-b-y-now",
        "shop-b-y-now-2",
        "x" * 60,
    ]
