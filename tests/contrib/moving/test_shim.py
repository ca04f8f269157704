"""Code that imports django-ratelimit's names from the shim is limited as it was, or safer."""

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
from asgiref.sync import iscoroutinefunction
from django.contrib.auth.models import AnonymousUser, User
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, RequestFactory, modify_settings, override_settings
from django.urls import path
from django.utils.decorators import method_decorator
from django.views import View
from rest_framework.response import Response
from rest_framework.views import APIView

import ratewindow
from ratewindow import conf
from ratewindow.conf.in_words import page
from ratewindow.contrib.moving.importers import django_ratelimit
from ratewindow.rules import code_rates
from ratewindow.testing import Rule, fresh_counts, override_rules

SHIM = "ratewindow.contrib.moving.django_ratelimit"
HERE = "tests.contrib.moving.test_shim"
MIDDLEWARE = [f"{SHIM}.middleware.RatelimitMiddleware"]


@pytest.fixture(autouse=True)
def installed() -> Iterator[Any]:
    with modify_settings(INSTALLED_APPS={"append": SHIM}), fresh_counts() as counts:
        yield counts


def of(module: str, name: str) -> Any:
    return getattr(import_module(f"{SHIM}.{module}"), name)


def limit(**arguments: Any) -> Any:
    return of("decorators", "ratelimit")(**arguments)


def sent(method: str = "GET", **meta: Any) -> Any:
    request = RequestFactory().generic(method, "/", **meta)
    request.user = AnonymousUser()
    return request


def is_limited(request: Any) -> bool:
    return bool(request.limited)


def test_a_refusal_is_an_exception_that_django_answers_by_403() -> None:
    view = limit(key="ip", rate="1/m")(lambda request: "passed")
    assert view(sent()) == "passed"
    with pytest.raises(PermissionDenied) as raised:
        view(sent())
    assert type(raised.value) is of("exceptions", "Ratelimited")


# Views, sync and async


def sync_view(request: HttpRequest) -> HttpResponse:
    return HttpResponse("passed")


async def async_view(request: HttpRequest) -> HttpResponse:
    return HttpResponse("passed")


class AsyncView(View):
    async def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("passed")


class OfREST(APIView):
    def get(self, request: Any) -> Response:
        return Response(is_limited(request))

    def handle_exception(self, exc: Exception) -> Response:
        return Response(type(exc).__name__, status=429)


def told(request: HttpRequest, exception: Exception) -> HttpResponse:
    return HttpResponse("slow down", status=429)


async def told_by_async(request: HttpRequest, exception: Exception) -> HttpResponse:
    return told(request, exception)


@pytest.fixture
def urlconf() -> ModuleType:
    once = {"key": "ip", "rate": "1/m"}
    found = ModuleType("urls_of_the_shim")
    by_method: Any = method_decorator(limit(**once), name="get")
    found.urlpatterns = [  # type: ignore[attr-defined]
        path("sync/", limit(**once)(sync_view)),
        path("async/", limit(**once)(async_view)),
        path("method/", by_method(type("Limited", (AsyncView,), {"get": AsyncView.get})).as_view()),
        path("rest/", by_method(type("LimitedOfREST", (OfREST,), {"get": OfREST.get})).as_view()),
    ]
    return found


@pytest.mark.parametrize("view", [told, told_by_async])
@pytest.mark.parametrize("place", ["sync", "async", "method"])
def test_the_middleware_answers_by_the_view_of_the_setting(place: str, view: Any, urlconf: ModuleType) -> None:
    with override_settings(ROOT_URLCONF=urlconf, MIDDLEWARE=MIDDLEWARE, RATELIMIT_VIEW=f"{HERE}.{view.__name__}"):
        answers = [Client().get(f"/{place}/") for _ in range(2)]
    assert [(each.status_code, each.content) for each in answers] == [(200, b"passed"), (429, b"slow down")]


@pytest.mark.parametrize("view", [told, told_by_async])
@pytest.mark.parametrize("place", ["sync", "async", "method"])
async def test_it_does_so_under_asgi(place: str, view: Any, urlconf: ModuleType) -> None:
    with override_settings(ROOT_URLCONF=urlconf, MIDDLEWARE=MIDDLEWARE, RATELIMIT_VIEW=f"{HERE}.{view.__name__}"):
        answers = [await AsyncClient().get(f"/{place}/") for _ in range(2)]
    assert [(each.status_code, each.content) for each in answers] == [(200, b"passed"), (429, b"slow down")]


def test_without_that_setting_a_refusal_is_403(urlconf: ModuleType) -> None:
    with override_settings(ROOT_URLCONF=urlconf, MIDDLEWARE=MIDDLEWARE):
        assert [Client().get("/sync/").status_code for _ in range(2)] == [200, 403]


def test_a_view_of_rest_framework_handles_the_exception(urlconf: ModuleType) -> None:
    with override_settings(ROOT_URLCONF=urlconf):
        answers = [Client().get("/rest/") for _ in range(2)]
    assert [(each.status_code, each.json()) for each in answers] == [(200, False), (429, "Ratelimited")]


def test_an_async_view_is_still_known_as_one() -> None:
    assert iscoroutinefunction(limit(key="ip", rate="1/m")(async_view))
    assert not iscoroutinefunction(limit(key="ip", rate="1/m")(sync_view))


def test_a_limit_that_leaves_it_to_the_view_makes_none_below_it_raise() -> None:
    view = limit(key="ip", rate="0/m", block=False)(limit(key="ip", rate="5/m")(is_limited))
    assert view(sent()) is True


# Groups


def asked_by_group(group: str, request: HttpRequest) -> str:
    return group


def rate_by_group(group: str, request: HttpRequest) -> str | None:
    return {f"{HERE}.by_place": "1/m", "shop": "2/m"}.get(group)


def by_place(request: Any) -> bool:
    return is_limited(request)


@pytest.mark.parametrize("rate", [rate_by_group, f"{HERE}.rate_by_group"])
@pytest.mark.parametrize("key", [asked_by_group, f"{HERE}.asked_by_group"])
def test_functions_are_called_with_the_group_as_it_is_named_there(rate: Any, key: Any) -> None:
    view = limit(key=key, rate=rate, block=False)(by_place)
    assert [view(sent()) for _ in range(2)] == [False, True]
    in_shop = limit(group="shop", key=key, rate=rate, block=False)(is_limited)
    assert [in_shop(sent()) for _ in range(3)] == [False, False, True]


def rate_by_user(group: str, request: Any) -> str:
    return "3/m" if request.user.is_authenticated else "1/m"


@pytest.mark.parametrize("key", ["ip", asked_by_group])
def test_each_rate_that_a_function_gives_has_counts_of_its_own(key: Any) -> None:
    view = limit(key=key, rate=rate_by_user, block=False)(is_limited)
    requests = [sent() for _ in range(6)]
    for request in requests[1:5]:
        request.user = User(pk=1)
    assert [view(request) for request in requests] == [False, False, False, False, True, True]
    usage = of("core", "get_usage")(sent(), group="by user", key=key, rate=rate_by_user, increment=True)
    assert (usage["count"], usage["limit"]) == (1, 1)


def test_one_group_may_have_several_rates_each_with_its_own_counts() -> None:
    often, seldom, posts = (
        limit(group="A shop", key="ip", block=False, **more)(is_limited)
        for more in ({"rate": "2/m"}, {"rate": "1/m"}, {"rate": "1/m", "method": ["POST"]})
    )
    assert [seldom(sent()), seldom(sent()), often(sent()), often(sent()), often(sent())] == [False, True, False, False, True]
    assert [posts(sent("POST")), posts(sent("POST")), posts(sent())] == [False, True, False]
    assert {"a-shop.ip.2-m", "a-shop.ip.1-m", "a-shop.ip.1-m.post"} <= set(code_rates.uses())


def test_views_of_one_group_share_its_count_with_the_functions() -> None:
    arguments = {"group": "shared", "key": "ip", "rate": "3/m"}
    first, second = (limit(**arguments, block=False)(lambda request: is_limited(request)) for _ in range(2))
    assert not first(sent())
    assert not second(sent())
    is_ratelimited, get_usage = of("core", "is_ratelimited"), of("core", "get_usage")
    assert get_usage(sent(), **arguments)["count"] == 2
    assert not is_ratelimited(sent(), **arguments, increment=True)
    assert is_ratelimited(sent(), **arguments, increment=True)
    assert first(sent())


def test_the_functions_know_the_count_of_a_view() -> None:
    view = limit(key="ip", rate="2/m", block=False)(by_place)
    get_usage = of("core", "get_usage")
    view(sent())
    for fn in (view, by_place):
        usage = get_usage(sent(), fn=fn, key="ip", rate="2/m")
        assert (usage["count"], usage["limit"], usage["should_limit"]) == (1, 2, False)
        assert 0 < usage["time_left"] <= 60


def test_a_rule_of_the_admin_takes_the_place_of_a_rate() -> None:
    view = limit(group="edited", key="ip", rate="1/m", block=False)(is_limited)
    with override_rules(Rule("edited.ip.1-m", "3/m")):
        assert [view(sent()) for _ in range(4)] == [False, False, False, True]


def test_a_block_refuses_without_a_count() -> None:
    assert of("core", "get_usage")(sent(), group="none", key="ip", rate=None) is None
    assert of("core", "get_usage")(sent(), group="none", key="ip", rate="5/m", method="POST") is None
    assert of("core", "get_usage")(sent(), group="none", key="ip", rate=lambda group, request: None) is None


def test_a_rate_that_would_be_misread_is_an_error() -> None:
    assert of("core", "_split_rate")("3/2h") == (3, 7200)
    for rate, remedy in (("10/month", "write 30d"), ("5/10", "write 5/m")):
        with pytest.raises(ValueError, match=remedy):
            limit(key="ip", rate=rate)(is_limited)


def test_clients_without_a_field_do_not_share_a_count() -> None:
    view = limit(key="header:x-missing", rate="1/m", block=False)(is_limited)
    assert [view(sent(REMOTE_ADDR=f"198.51.100.{number}")) for number in (1, 2, 1)] == [False, False, True]


# Settings


def test_limits_are_off_by_the_setting() -> None:
    view = limit(key="ip", rate="0/m", block=False)(is_limited)
    with override_settings(RATELIMIT_ENABLE=False):
        assert not view(sent())
        assert not of("core", "is_ratelimited")(sent(), group="off", key="ip", rate="0/m")
    assert view(sent())


def proxied(request: HttpRequest) -> str:
    return str(request.META["HTTP_X_CLIENT"])


@pytest.mark.parametrize("where", ["HTTP_X_CLIENT", proxied, f"{HERE}.proxied"])
@pytest.mark.parametrize("key", ["ip", "user_or_ip"])
def test_the_address_is_where_the_setting_says(where: Any, key: str) -> None:
    with override_settings(RATELIMIT_IP_META_KEY=where, RATEWINDOW={"REDIS": "memory://"}):
        view = limit(key=key, rate="1/m", block=False)(is_limited)
        assert [view(sent(HTTP_X_CLIENT=f"198.51.100.{number}")) for number in (1, 2, 1)] == [False, False, True]
        assert of("core", "_get_ip")(sent(HTTP_X_CLIENT="2001:db8:1:2:3::4")) == "2001:db8:1:2::"
    with override_settings(RATELIMIT_IP_META_KEY=where, RATEWINDOW={"REDIS": "memory://", "TRUSTED_PROXIES": []}):
        view = limit(key=key, rate="1/m", block=False)(is_limited)
        assert [view(sent(HTTP_X_CLIENT=f"198.51.100.{number}")) for number in (1, 2)] == [False, True]


def test_users_count_by_themselves_where_a_setting_says_the_address() -> None:
    with override_settings(RATELIMIT_IP_META_KEY="HTTP_X_CLIENT", RATEWINDOW={"REDIS": "memory://"}):
        view = limit(key="user_or_ip", rate="1/m", block=False)(is_limited)
        requests = [sent(HTTP_X_CLIENT="198.51.100.1") for _ in range(3)]
        requests[0].user, requests[1].user = User(pk=1), User(pk=2)
        assert [view(request) for request in requests] == [False, False, False]


@pytest.mark.parametrize(
    ("theirs", "ours", "read"),
    [
        ({"RATELIMIT_USE_CACHE": "other"}, {"REDIS": "redis://one"}, ("redis", "other", "redis://one")),
        ({"RATELIMIT_CACHE_PREFIX": "shop:"}, {"KEY_PREFIX": "mine"}, ("key_prefix", "shop", "mine")),
        ({"RATELIMIT_IPV4_MASK": 24}, {"IPV4_PREFIX": 16}, ("ipv4_prefix", 24, 16)),
        ({"RATELIMIT_IPV6_MASK": 48}, {"IPV6_PREFIX": 56}, ("ipv6_prefix", 48, 56)),
    ],
)
def test_a_setting_says_what_ratewindow_leaves_unsaid(theirs: Any, ours: Any, read: Any) -> None:
    field, by_theirs, by_ours = read
    with override_settings(**theirs, RATEWINDOW={}):
        assert getattr(conf.current(), field) == by_theirs
        with override_settings(RATEWINDOW=ours):
            assert getattr(conf.current(), field) == by_ours


def test_a_prefix_that_ours_cannot_have_is_an_error_of_the_checks() -> None:
    with override_settings(RATELIMIT_CACHE_PREFIX="a shop with a long name:", RATEWINDOW={}):
        [problem] = conf.written()[1]
    assert "KEY_PREFIX" in problem.message


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ({}, True),
        ({"RATELIMIT_FAIL_OPEN": True}, False),
        ({"RATELIMIT_FAIL_OPEN": True, "RATEWINDOW": {"ON_ERROR": "refuse"}}, True),
        ({"RATEWINDOW": {"ON_ERROR": "allow"}}, False),
    ],
)
def test_what_happens_without_redis_is_as_the_settings_say(settings: Any, refused: bool) -> None:
    given = {"RATEWINDOW": {}, **settings}
    given["RATEWINDOW"] |= {"REDIS": "redis://127.0.0.1:1"}
    with override_settings(**given):
        view = limit(key="ip", rate="5/m", block=False)(is_limited)
        assert view(sent()) is refused
        usage = of("core", "get_usage")(sent(), group="outage", key="ip", rate="5/m", increment=True)
    assert usage == ({"count": 0, "limit": 0, "should_limit": True, "time_left": -1} if refused else None)


# Mistakes, and what is said


def test_mistakes_are_said() -> None:
    view = limit(rate="5/m")(is_limited)
    with pytest.raises(ImproperlyConfigured, match="key must be specified"):
        view(sent())
    with pytest.raises(ImproperlyConfigured, match="`group` or `fn`"):
        of("core", "get_usage")(sent(), key="ip", rate="5/m")


def test_what_became_safer_is_said_by_a_check() -> None:
    [message] = [each for each in run_checks(tags=["ratewindow"]) if each.id == "ratewindow.I001"]
    assert message.hint is not None
    assert message.hint.endswith(f"See {page('migration/django_ratelimit.md')}.")


def test_a_site_can_import_it_before_its_apps_are_loaded() -> None:
    code = f"from {SHIM}.core import get_header; from {SHIM}.decorators import ratelimit; ratelimit(key='ip', rate='5/m')"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_counts_here_already_is_not_moved_again(urlconf: ModuleType) -> None:
    with override_settings(ROOT_URLCONF=urlconf):
        found = django_ratelimit.find()
    assert not found.limits
    assert len(found.left_out) == 4
    assert found.left_out[0].startswith(f"{HERE}.sync_view: its limit is ours already.")


def test_the_site_s_own_doors_go_on_beside_it() -> None:
    view = ratewindow.ratelimit("beside", "1/m")(limit(key="ip", rate="5/m")(sync_view))
    assert [view(sent()).status_code for _ in range(2)] == [200, 429]
