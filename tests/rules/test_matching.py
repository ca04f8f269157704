"""The index finds what trying every rule would find."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory, override_settings
from django.urls import include, path, re_path
from hypothesis import given, strategies as st

from ratewindow.limiter.types import Window
from ratewindow.rules.matching import Index
from ratewindow.rules.rule import Rule

REGEXES = ["^/a", "b/?$", "a.*b", "é", "^/$"]
METHODS = ["GET", "HEAD", "POST", "PURGE"]
paths = st.lists(st.sampled_from(["a", "b", "ab", "é", ""]), max_size=4).map(lambda parts: "/" + "/".join(parts))
places = st.one_of(
    st.tuples(st.sampled_from(["named", "all", "path", "prefix"]), paths),
    st.tuples(st.just("regex"), st.sampled_from(REGEXES)),
)
rules = st.builds(
    lambda place, **fields: Rule("x", applies_to=place[0], pattern=place[1], **fields),
    places,
    windows=st.sampled_from([(), (Window(5, 60_000),)]),
    mode=st.sampled_from(["off", "shadow", "enforce"]),
    methods=st.frozensets(st.sampled_from(METHODS), max_size=2),
)


def meets(rule: Rule, method: str | None, path: str) -> bool:
    """The same said naively."""
    where = {
        "all": True,
        "path": path == rule.pattern,
        "prefix": path.startswith(rule.pattern),
        "named": False,
        "regex": rule.applies_to == "regex" and bool(re.search(rule.pattern, path)),
    }
    asked = {method, "GET"} if method == "HEAD" else {method}
    return (
        rule.mode != "off" and bool(rule.windows) and where[rule.applies_to] and (not rule.methods or bool(rule.methods & asked))
    )


def asked(path: str, method: str | None = "GET") -> Any:
    return SimpleNamespace(method=method, path_info=path, resolver_match=None)


@given(st.lists(rules, max_size=20), st.sampled_from([*METHODS, "PUT", None]), paths)
def test_the_index_equals_a_loop_over_all_rules(some: list[Rule], method: str | None, path: str) -> None:
    numbered = [Rule(**{**vars(rule), "name": f"rule-{number}"}) for number, rule in enumerate(some)]
    found = [rule.name for rule in Index(numbered).match(asked(path, method))]
    assert sorted(found) == sorted(rule.name for rule in numbered if meets(rule, method, path))


def rule(name: str = "rule", **fields: str) -> Rule:
    return Rule(name, (Window(5, 60_000),), **fields)  # type: ignore[arg-type]


def test_a_path_is_one_path_and_a_prefix_is_how_it_starts() -> None:
    index = Index([rule(applies_to="path", pattern="/api/")])
    assert [bool(index.match(asked(path))) for path in ("/api/", "/api", "/api/x", "/API/")] == [True, False, False, False]
    index = Index([rule(applies_to="prefix", pattern="/api/")])
    assert [bool(index.match(asked(path))) for path in ("/api/", "/api", "/api/x", "/")] == [True, False, True, False]


def test_a_thousand_prefixes_of_one_length_are_one_look() -> None:
    index = Index([Rule(f"rule-{n}", (Window(5, 1000),), applies_to="prefix", pattern=f"/{n:04}/") for n in range(1000)])
    assert index._by_text._lengths == [6]
    assert [found.name for found in index.match(asked("/0042/x"))] == ["rule-42"]


def test_a_thousand_regular_expressions_are_one_look() -> None:
    index = Index([rule(f"rule-{n}", applies_to="regex", pattern=f"^/{n:04}/[a-z]+$") for n in range(1000)])
    assert [found.name for found in index.match(asked("/0042/x"))] == ["rule-42"]
    assert index.match(asked("/0042/X")) == []


def test_two_rules_for_one_regular_expression_both_apply() -> None:
    index = Index([rule(name, applies_to="regex", pattern="x") for name in ("one", "two")])
    assert {found.name for found in index.match(asked("/x"))} == {"one", "two"}


def test_bytes_that_are_no_utf8_find_what_stands_around_them() -> None:
    index = Index([rule(applies_to="regex", pattern="^/a.b$")])
    assert index.match(asked("/a\udce9b"))


def view(request: Any, **_: Any) -> HttpResponse:
    return HttpResponse()


urlpatterns = [
    path("login/", view, name="login"),
    path("item/<int:pk>/", view, name="item"),
    path("text/<slug:name>/", view, name="text"),
    re_path("^search", view, name="search"),
    re_path("^maybe/?$", view, name="maybe"),
    re_path("(?i)^loud/$", view, name="loud"),
    re_path("^(?i:quiet)/(?P<page>[a-zA-Z]+)/$", view, name="quiet"),
    path("shop/", include(([path("cart/", view, name="cart"), path("deep/", include(([path("x/", view)], "deep")))], "shop"))),
    re_path("^app/.*$", view, name="app"),
    re_path("", view, name="anything"),
]


def met(pattern: str, *requested: str, applies_to: str = "path") -> list[str]:
    """Which of the requested paths a rule meets."""
    index = Index([rule(applies_to=applies_to, pattern=pattern)])
    with override_settings(ROOT_URLCONF=__name__):
        return [path for path in requested if index.match(RequestFactory().generic("GET", path))]


@pytest.mark.parametrize(
    "pattern, spellings",
    [
        ("/search", ["/search", "/searchX", "/search/", "/search%0A", "/search//"]),
        ("/maybe/", ["/maybe/", "/maybe"]),
        ("/loud/", ["/loud/", "/LOUD/", "/lOuD/"]),
        ("/quiet/page/", ["/quiet/page/", "/QUIET/page/", "/quiet/PAGE/"]),
        ("/item/7/", ["/item/7/", "/item/07/", "/item/0000007/"]),
    ],
)
def test_every_spelling_that_reaches_the_view_of_a_path_meets_its_rule(pattern: str, spellings: list[str]) -> None:
    assert met(pattern, *spellings) == spellings


def test_other_arguments_are_another_page() -> None:
    assert met("/item/7/", "/item/8/", "/item/70/") == []
    assert met("/text/a/", "/text/a/", "/text/b/") == ["/text/a/"]


def test_a_route_that_takes_any_page_leaves_a_rule_to_its_text() -> None:
    assert met("/app/one/", "/app/one/", "/app/two/", "/app/one") == ["/app/one/"]
    assert met("/pricing/", "/pricing/", "/about/", "/") == ["/pricing/"]
    assert met("/", "/", "/about/") == ["/"]


def test_prefixes_ignore_case_where_the_urlconf_has_routes_that_do() -> None:
    assert met("/loud", "/loud/", "/LOUD/", "/L\u0131d/", applies_to="prefix") == ["/loud/", "/LOUD/"]


def test_a_request_of_two_rules_by_two_spellings_meets_each_once() -> None:
    index = Index([rule("a", applies_to="path", pattern="/loud/"), rule("b", applies_to="prefix", pattern="/loud")])
    with override_settings(ROOT_URLCONF=__name__):
        for path_ in ("/loud/", "/LOUD/"):
            assert sorted(each.name for each in index.match(RequestFactory().get(path_))) == ["a", "b"]


def test_plain_routes_are_not_resolved_a_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved: list[Any] = []
    monkeypatch.setattr("ratewindow.rules.matching.match_of", resolved.append)
    index = Index([rule(applies_to="path", pattern="/api/orders/"), rule(applies_to="prefix", pattern="/login/")])
    for requested in ("/login/", "/api/orders/", "/other/"):
        index.match(RequestFactory().get(requested))  # on the routes of the demo site
    assert resolved == []


@pytest.mark.parametrize(
    "pattern, found",
    [
        ("login", ["/login/"]),
        ("item", ["/item/1/", "/item/2/"]),
        ("shop", ["/shop/cart/", "/shop/deep/x/"]),
        ("shop:cart", ["/shop/cart/"]),
        ("shop:deep", ["/shop/deep/x/"]),
        ("cart", []),
        (f"{__name__}.view", []),
    ],
)
def test_a_route_is_a_name_or_a_namespace(pattern: str, found: list[str]) -> None:
    requested = ["/login/", "/item/1/", "/item/2/", "/shop/cart/", "/shop/deep/x/"]
    assert met(pattern, *requested, applies_to="route") == found


def test_a_request_may_have_a_urlconf_of_its_own() -> None:
    index = Index([rule(applies_to="route", pattern="login"), rule("loud", applies_to="path", pattern="/loud/")])
    for requested in ("/login/", "/LOUD/"):
        request = RequestFactory().get(requested)
        request.urlconf = __name__  # type: ignore[attr-defined]
        assert index.match(request), requested


def test_spellings_are_those_of_the_routes_that_a_test_sets() -> None:
    index = Index([rule(applies_to="path", pattern="/loud/")])
    told = [bool(list(index.match(RequestFactory().get("/LOUD/"))))]
    with override_settings(ROOT_URLCONF=__name__):
        told.append(bool(list(index.match(RequestFactory().get("/LOUD/")))))
    told.append(bool(list(index.match(RequestFactory().get("/LOUD/")))))
    assert told == [False, True, False]
