"""Which routes a rule meets, may meet and never meets, in odd URLconfs."""

from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings
from django.urls import converters, include, path, re_path, register_converter
from django.utils.decorators import method_decorator
from django.views.generic import TemplateView, View

from ratewindow import ratelimit
from ratewindow.limiter.types import Window
from ratewindow.rules import code_rates
from ratewindow.rules.coverage import Covered, coverage
from ratewindow.rules.matching import Index
from ratewindow.rules.rule import Rule
from ratewindow.rules.site_routes import routes
from tests.support.urlconfs import site


class FromDatabase(converters.StringConverter):
    """One of a site that finds a row for each text."""

    regex = "[A-Z]{3}"

    def to_python(self, value: str) -> Any:
        raise AssertionError("a preview must not run converters, which may query the database")


class Unguessable(converters.StringConverter):
    regex = "(?=zzz-)[^/]{40}"


register_converter(FromDatabase, "row")
register_converter(Unguessable, "unguessable")


def view(request: HttpRequest, **arguments: Any) -> HttpResponse:
    return HttpResponse()


class Cart(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    def post(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse()


@method_decorator(ratelimit("shop.add", "5/m"), name="post")  # with a rate, or checks of other tests would report it
class LimitedCart(Cart):
    pass


def met(applies_to: str, pattern: str = "", methods: str = "") -> tuple[list[str], list[str]]:
    """The routes that a rule meets, and those that it may meet."""
    rule = Rule("x", (Window(1, 1000),), applies_to=applies_to, pattern=pattern, methods=frozenset(methods.split()))
    found = coverage([rule])
    return [each.route.label for each in found if each.meets], [each.route.label for each in found if each.may_meet]


def test_a_plain_path_is_met_by_its_text_alone() -> None:
    with site(path("", view, name="home"), path("login/", view, name="login"), path("login/help/", view, name="help")):
        assert met("path", "/login/") == (["login"], [])
        assert met("prefix", "/login/") == (["login", "help"], [])
        assert met("regex", "^/login/$") == (["login"], [])
        assert met("regex", "help") == (["help"], [])
        assert met("all") == (["home", "login", "help"], [])
        assert met("path", "/nothing/") == ([], [])
        assert met("named") == ([], [])


def test_a_parameter_leaves_open_whether_a_path_is_met() -> None:
    with site(path("shop/<int:pk>/", view, name="item"), path("shop/<slug:name>/edit/", view, name="edit")):
        assert met("path", "/shop/7/") == ([], ["item"])
        assert met("path", "/shop/x/") == ([], [])
        assert met("prefix", "/shop/") == (["item", "edit"], [])
        assert met("prefix", "/shop/7") == ([], ["item", "edit"])
        assert met("prefix", "/about/") == ([], [])
        assert met("regex", "^/shop/") == (["item", "edit"], [])
        assert met("regex", "^/shop/[0-9]+/$") == ([], ["item", "edit"])
        assert met("regex", "/edit/$") == ([], ["item", "edit"])  # an end alone does not exclude the first
        assert met("regex", r"\.json$") == ([], [])
        assert met("route", "item") == (["item"], [])


def test_of_what_is_open_the_routes_come_first_that_a_tried_path_meets() -> None:
    with site(path("<str:page>/", view, name="page"), path("x/<int:pk>/", view, name="x")):
        (page, x) = coverage([Rule("r", (Window(1, 1000),), applies_to="regex", pattern="^/[a-z]/[0-9]+/$")])
        assert (page.may_meet, page.likely) == ({"r"}, set())
        assert (x.may_meet, x.likely) == ({"r"}, {"r"})


def test_expressions_with_lookaheads_optional_groups_and_choices_are_tried_by_paths_of_their_own() -> None:
    odd = [
        re_path(r"^(?!admin)(?P<page>[a-z]+)/$", view, name="page"),
        re_path(r"^year/(?P<year>[0-9]{4})(?:/(?P<month>[0-9]{2}))?/$", view, name="year"),
        re_path(r"^(?:de|fr)/start/$", view, name="start"),
        re_path(r"^file/(.*)\.(css|js)$", view, name="file"),
        re_path(r"^log-in/?$", view, name="login"),
        re_path(r"search", view, name="search"),
    ]
    with site(*odd):
        assert met("regex", "^/year/2024/$") == ([], ["year"])
        assert met("regex", "^/year/[0-9]+/$")[1] == ["page", "year", "start", "search"]  # nothing excludes the others
        assert met("prefix", "/year/") == (["year"], ["page", "start", "search"])
        assert met("path", "/year/2024/12/") == ([], ["year"])
        assert met("path", "/de/start/") == ([], ["start"])
        assert met("prefix", "/file/")[0] == ["file"]
        assert met("path", "/log-in/") == (["login"], [])  # /log-in, too
        assert met("path", "/admin/") == ([], [])
        assert met("path", "/page/") == ([], ["page"])
        assert met("route", "search") == (["search"], [])
        assert [each.path for each in routes()][1:3] == ["/year/<year>/<month>/", "/de|fr/start/"]


def test_a_site_s_converters_are_never_called() -> None:
    with site(path("a/<row:code>/", view, name="row"), path("b/<unguessable:code>/", view, name="unguessable")):
        assert met("regex", "^/a/[A-Z]+/$") == ([], ["row"])
        assert met("prefix", "/b/") == (["unguessable"], [])
        assert met("regex", "^/b/x/$") == ([], [])
        assert met("regex", "^/b/[x-z]+") == ([], ["unguessable"])  # of which no path is known
        assert met("route", "unguessable") == (["unguessable"], [])


def test_includes_are_followed_with_their_namespaces_and_parameters() -> None:
    inner = ([path("cart/", view, name="cart"), path("<int:pk>/", view, name="item")], "shop")
    with site(path("<slug:tenant>/shop/", include(inner)), path("b2b/", include(inner, namespace="b2b"))):
        assert [(each.name, each.path) for each in routes()] == [
            ("shop:cart", "/<slug:tenant>/shop/cart/"),
            ("shop:item", "/<slug:tenant>/shop/<int:pk>/"),
            ("b2b:cart", "/b2b/cart/"),
            ("b2b:item", "/b2b/<int:pk>/"),
        ]
        assert met("route", "shop") == (["shop:cart", "shop:item"], [])
        assert met("path", "/acme/shop/cart/") == ([], ["shop:cart"])
        assert met("prefix", "/b2b/") == (["b2b:cart", "b2b:item"], ["shop:cart", "shop:item"])


@override_settings(LANGUAGES=[("en", "English"), ("de", "German"), ("fr", "French")], LANGUAGE_CODE="en", USE_I18N=True)
def test_a_route_in_several_languages_is_met_if_it_is_met_in_all() -> None:
    with site(*i18n_patterns(path("account/", view, name="account"), path("shop/<int:pk>/", view, name="item"))):
        assert [each.path for each in routes()] == ["/en/account/", "/en/shop/<int:pk>/"]
        assert met("path", "/de/account/") == (["account"], [])
        assert met("prefix", "/de/") == ([], ["account", "item"])
        assert met("prefix", "/fr/shop/") == (["item"], [])  # which meets it in every language
        assert met("regex", "^/de/account/$") == ([], ["account"])
        assert met("regex", "^/[a-z]+/account/$") == (["account"], ["item"])  # "item" cannot be excluded by its ends


def test_a_method_that_no_view_answers_is_said_apart() -> None:
    patterns = (path("about/", TemplateView.as_view(), name="about"), path("cart/", Cart.as_view(), name="cart"))
    with site(*patterns, path("f/", view, name="f")):
        assert [sorted(each.methods) for each in routes()] == [
            ["GET", "HEAD", "OPTIONS"],
            ["GET", "HEAD", "OPTIONS", "POST"],
            [],
        ]
        found = coverage([Rule("x", (Window(1, 1000),), applies_to="all", methods=frozenset(["POST"]))])
        assert [sorted(each.meets) for each in found] == [[], ["x"], ["x"]]
        assert [sorted(each.unanswered) for each in found] == [["x"], [], []]


def test_what_code_names_is_met_where_it_names_it() -> None:
    limited = ratelimit("by-code")(view)
    patterns = (path("a/", limited, name="a"), path("b/", Cart.as_view(), name="b"), path("c/", LimitedCart.as_view(), name="c"))
    with site(*patterns):
        code_rates.names()
        found = coverage([Rule("by-code", (Window(1, 1000),))], ["shop.add"])
        assert {each.route.name: sorted(each.meets) for each in found}["c"] == ["shop.add"]
        assert {each.route.name: sorted(each.meets) for each in found}["b"] == []
        assert "by-code" in {each.route.name: each.meets for each in found}["a"]


def test_views_of_rest_framework_say_their_methods_and_the_rules_that_their_throttles_name() -> None:
    from rest_framework.decorators import api_view
    from rest_framework.routers import DefaultRouter
    from rest_framework.viewsets import ViewSet

    from ratewindow.rest_framework import RuleThrottle

    class Orders(ViewSet):
        throttle_classes = [RuleThrottle]
        throttle_rules = ["orders"]

        def list(self, request: Any) -> Any: ...
        def create(self, request: Any) -> Any: ...
        def destroy(self, request: Any, pk: Any) -> Any: ...

    @api_view(["POST"])
    def pay(request: Any) -> Any: ...

    router = DefaultRouter()
    router.register("orders", Orders, basename="order")
    with site(path("api/", include(router.urls)), path("pay/", pay, name="pay")):
        found: dict[str, Covered] = {each.route.path: each for each in coverage([], ["orders"])}
        assert found["/api/orders/"].route.methods == {"GET", "HEAD", "OPTIONS", "POST"}
        assert found["/api/orders/<pk>/"].route.methods == {"DELETE", "OPTIONS"}
        assert found["/pay/"].route.methods == {"OPTIONS", "POST"}
        assert {path for path, each in found.items() if each.meets} >= {"/api/orders/", "/api/orders/<pk>/"}
        assert not found["/pay/"].meets
        assert met("prefix", "/api/orders/")[0][:1] == ["order-list"]


@pytest.mark.parametrize("applies_to", ["path", "prefix", "regex", "route", "all"])
def test_what_it_says_is_what_requests_meet(applies_to: str) -> None:
    """Every path that was tried agrees with a real request of that path, and none that is never met is met."""
    patterns = {"path": "/shop/7/", "prefix": "/shop/", "regex": "^/shop/[0-9]+/$", "route": "item", "all": ""}
    rule = Rule("x", (Window(1, 1000),), applies_to=applies_to, pattern=patterns[applies_to])
    urls = [path("shop/<int:pk>/", view, name="item"), path("shop/", view, name="shop"), re_path("^a(/b)?$", view, name="a")]
    with site(*urls):
        index = Index([rule])
        for each in coverage([rule]):
            for visit in each.route.visits:
                real = bool(index.match(RequestFactory().get(visit.path_info)))
                assert real or not each.meets, visit.path_info
                assert not real or each.meets or each.may_meet, visit.path_info
