"""What a limit may be given to: classes, their methods, objects and parts of functions, sync and async."""

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from django.contrib.syndication.views import Feed
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, RequestFactory, override_settings
from django.urls import ResolverMatch, path
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from ratewindow import ratelimit
from ratewindow.checks.site import check_code
from ratewindow.models import RateRule
from ratewindow.rules import code_rates
from tests.support.doors import plain

pytestmark = pytest.mark.django_db(transaction=True)


class Base(View):
    """A class that leaves its methods to others."""


class Shop(Base):
    async def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")


@method_decorator(ratelimit("dispatched", "2/m"), name="dispatch")
class ByDispatch(Shop):
    pass


@method_decorator([ratelimit("outside", "2/m"), csrf_exempt, ratelimit("inside", "3/m")], name="dispatch")
class Behind(Shop):
    pass


@ratelimit("inherited", "2/m")
class Limited(View):
    pass


class Inheriting(Limited):
    async def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")


class InheritingSync(Limited):
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")


class Asked:
    """What is no function, but called as one."""

    async def __call__(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")


@method_decorator(ratelimit("failures", "9/m"), name="dispatch")
class Counted(Shop):
    pass


VIEWS: dict[str, Any] = {
    "method_decorator": ByDispatch.as_view(),
    "behind-another-decorator": Behind.as_view(),
    "class-of-a-decorated-class": Inheriting.as_view(),
    "sync-class-of-a-decorated-class": InheritingSync.as_view(),
    "called-object": ratelimit("asked", "2/m")(Asked()),
    "counted": Counted.as_view(),
    "plain": ratelimit("plain", "2/m")(plain(False)),
}
urlpatterns = [path(f"{name}/", view) for name, view in VIEWS.items()]


def answers(is_asgi: bool, name: str, count: int) -> list[Any]:
    if is_asgi:
        return [asyncio.run(AsyncClient().get(f"/{name}/")) for _ in range(count)]
    return [Client().get(f"/{name}/") for _ in range(count)]


@override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[])
@pytest.mark.parametrize("is_asgi", [False, True], ids=["wsgi", "asgi"])
@pytest.mark.parametrize("name", [name for name in VIEWS if name != "counted"])
def test_a_limit_holds_whatever_kind_of_view_it_is_given_to(name: str, is_asgi: bool) -> None:
    told = answers(is_asgi, name, 3)
    assert [each.status_code for each in told] == [200, 200, 429]
    assert all("RateLimit" in each.headers for each in told)


@override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[])
def test_a_rule_that_counts_by_the_answer_sees_that_of_an_async_dispatch() -> None:
    RateRule.objects.define("failures", "2/m", count_when="2xx", mode="enforce")
    assert [each.status_code for each in answers(True, "counted", 3)] == [200, 200, 429]


class Office:
    """As ``admin.site`` is, whose login a site may limit."""

    def login(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")


def test_a_bound_method_is_a_view_like_any_other() -> None:
    login = ratelimit(rate="2/m")(Office().login)
    assert [login(RequestFactory().get("/")).status_code for _ in range(3)] == [200, 200, 429]


class News(Feed):  # type: ignore[type-arg]
    title, link, description = "News", "/", "What is new."

    def items(self) -> Iterator[str]:
        yield from ()


@api_view(["GET"])
def search(request: Request) -> Response:
    return Response("found")


@api_view(["GET"])
def export(request: Request) -> Response:
    return Response("all")


def page(request: HttpRequest, text: str) -> HttpResponse:
    return HttpResponse(text)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[code_rates.CodeRate]]:
    """The names in code that this test gives."""
    names: dict[str, set[code_rates.CodeRate]] = {}
    monkeypatch.setattr(code_rates, "_uses", names)
    return names


@pytest.mark.parametrize(
    ("view", "name"),
    [
        (Inheriting.as_view(), "inheriting"),
        (Shop.as_view(), "shop"),
        (search, "search"),
        (export, "export"),
        (News(), "news"),
        (partial(page, text="hello"), "page"),
        (partial(Base.as_view(), text="hello"), "base"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_view_without_a_name_of_its_own_has_that_of_what_it_was_made_of(
    view: Any, name: str, given: dict[str, set[code_rates.CodeRate]]
) -> None:
    ratelimit(rate="5/m")(view)
    assert list(given) == [f"tests.request.test_handlers.{name}"]


def test_a_limited_class_whose_view_is_limited_once_more_has_two_rules(given: dict[str, set[code_rates.CodeRate]]) -> None:
    limited: Any = ratelimit(rate="5/m")(type("Cart", (Base,), {"__module__": __name__}))
    ratelimit(rate="9/m")(limited.as_view())
    assert list(given) == ["tests.request.test_handlers.cart", "tests.request.test_handlers.cart-2"]


@pytest.mark.usefixtures("given")
def test_views_of_several_classes_and_functions_are_several_rules() -> None:
    for view, rate in ((Base.as_view(), "1/m"), (Shop.as_view(), "2/m"), (search, "3/m"), (export, "4/m")):
        ratelimit(rate=rate)(view)
    assert [*check_code()] == []


def test_objects_and_parts_of_functions_are_limited(rf: RequestFactory) -> None:
    for view in (News(), partial(page, text="hello")):
        limited: Any = ratelimit(rate="2/m")(view)
        assert [limited(rf.get("/")).status_code for _ in range(3)] == [200, 200, 429]
        assert ResolverMatch(limited, (), {}).view_name in (f"{__name__}.News", f"{__name__}.page")
