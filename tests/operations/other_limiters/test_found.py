"""Where a limit applies, and under which name."""

from typing import Any

import pytest
from django.test import override_settings
from django.urls import include, path

from ratewindow.operations.other_limiters.found import Found, Limit, rate_in, translated
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
    assert (rule["applies_to"], rule["pattern"]) == place


def test_routes_that_have_no_place_together_are_a_rule_each() -> None:
    found = translated(Found([Limit("x", "5/m", "ip", of("/far/", "/shop/one/"))]))
    assert [(rule["name"], rule["pattern"]) for rule in found.rules] == [("x.far", "far"), ("x.shop-one", "shop:one")]
    assert [name for name, _ in found.notes] == ["x.shop-one", "x.far"]


def test_names_are_names_of_rules_and_occur_once() -> None:
    limits = [Limit(name, "5/m", "ip", of("/far/")) for name in ("Shop:Búy now", "shop:b y now", "", "blocks", "x" * 99)]
    assert [rule["name"] for rule in translated(Found(limits)).rules] == [
        "blocks-2",
        "rule",
        "shop-b-y-now",
        "shop-b-y-now-2",
        "x" * 60,
    ]


def halves(text: str) -> tuple[str, int]:
    limit, _, unit = text.partition("/")
    return limit, {"m": 60, "h": 3600}[unit[:1]]


@pytest.mark.parametrize(
    "written",
    [
        "5/m,20/h",
        "5/m; 20/h",
        "5 per minute | 20 per hour",
        "5/m/user,20 per hour per get:q",
        ["5/m", "20/h"],
        ("5/m", "20 per hour"),
        [(5, 60), "20/h"],
        [["5/m"], [(20, 3600)]],
    ],
    ids=str,
)
def test_several_limits_are_read_as_others_write_them(written: Any) -> None:
    assert rate_in(written, halves, "user", "query:q") == "5/60s; 20/3600s"


@pytest.mark.parametrize("written", ["20/m/ip", (20, 60), [20, 60], ["20/m"]], ids=str)
def test_one_limit_may_be_a_pair_or_name_its_key(written: Any) -> None:
    assert rate_in(written, halves, "ip") == "20/60s"


@pytest.mark.parametrize("written", ["20/m/ip", "5/m,20/h/ip", ["5/m", "20/h/ip"], "20/m/ip/x", "20 per m per nobody"], ids=str)
@pytest.mark.parametrize("key", ["user", "user_or_ip", "header:ip", ""])
def test_a_limit_that_names_another_key_is_an_error(written: Any, key: str) -> None:
    with pytest.raises(ValueError, match=r"its rate '.*' names the key '(ip|ip/x|nobody)', .*write the rate without it"):
        rate_in(written, halves, *filter(None, [key]))


@pytest.mark.parametrize("written", ["", [], None, 5, "5/m,6/m", [5], [None, "5/m"]], ids=str)
def test_what_is_no_rate_is_an_error_and_nothing_else(written: Any) -> None:
    with pytest.raises(ValueError, match=r"no rate that can be read|two limits"):
        rate_in(written, halves)
