"""Limits on methods of classes: each class has a count of its own, whose name is known before any request."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import Group
from django.contrib.syndication.views import Feed
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import include, path
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework.views import APIView

from ratewindow import ratelimit
from ratewindow.checks.site import check_code
from ratewindow.management.subcommands.rules import listing
from ratewindow.rules import code_rates
from tests.support.doors import decorated, get, statuses

pytestmark = pytest.mark.django_db(transaction=True)
HERE = "tests.rules.test_decorated_methods"


class Page(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")


@method_decorator(ratelimit(rate="100/m"), name="dispatch")
class Wide(Page):
    pass


@method_decorator(ratelimit(rate="3/m"), name="dispatch")
class Narrow(Page):
    pass


class AlsoNarrow(Narrow):
    pass


@method_decorator([ratelimit(rate="9/h"), csrf_exempt, ratelimit(rate="4/m")], name="dispatch")
@method_decorator(ratelimit(rate="99/d"), name="dispatch")
class Stacked(Narrow):
    pass


class ByMethod(View):
    @method_decorator(ratelimit(rate="2/m"))
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")

    @method_decorator(ratelimit(rate="5/m"))
    def post(self, request: HttpRequest) -> HttpResponse:
        raise NotImplementedError


def limited(view: Callable[..., Any]) -> Callable[..., Any]:
    """A site's own decorator, which makes ours anew each time that it is called."""
    return login_not_required(ratelimit(rate="6/m")(view))


@method_decorator(limited, name="dispatch")
class ByOwnDecorator(Page):
    pass


shared = method_decorator(ratelimit(rate="7/m"), name="dispatch")


@shared
class One(Page):
    pass


@shared
class Two(Page):
    async def get(self, request: HttpRequest) -> HttpResponse:  # type: ignore[override]
        return HttpResponse("ok")


@method_decorator(ratelimit(rate="8/m"), name="initial")
class Api(APIView):
    pass


class GroupAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    @method_decorator(ratelimit(rate="11/m"))
    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        raise NotImplementedError


@method_decorator(ratelimit(rate="12/m"), name="__call__")
class News(Feed):  # type: ignore[type-arg]
    title, link, description = "News", "/", "What is new."

    def items(self) -> Iterator[str]:
        yield from ()


VIEWS: list[type[View]] = [Wide, Narrow, AlsoNarrow, Stacked, ByMethod, ByOwnDecorator, One, Two, Api]
urlpatterns = [
    *(path(f"{view.__name__.lower()}/", csrf_exempt(view.as_view())) for view in VIEWS),
    path("groups/", include((GroupAdmin(Group, admin.site).urls, "groups"))),
    path("news/", News()),
]

KNOWN = {
    "wide": "100/m",
    "narrow": "3/m",
    "stacked": "99/d",
    "stacked-2": "9/h",
    "stacked-3": "4/m",
    "by-method.get": "2/m",
    "by-method.post": "5/m",
    "by-own-decorator": "6/m",
    "one": "7/m",
    "two": "7/m",
    "api.initial": "8/m",
    "group-admin.changelist_view": "11/m",
    "news": "12/m",
}

here = override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[])


@pytest.fixture(autouse=True)
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[code_rates.CodeRate]]:
    """The names in code that this test gives."""
    names: dict[str, set[code_rates.CodeRate]] = {}
    monkeypatch.setattr(code_rates, "_uses", names)
    return names


@here
def test_the_names_are_known_before_any_request() -> None:
    assert code_rates.load_names() == {f"{HERE}.{name}" for name in KNOWN}
    assert {name: use.rate for name, uses in code_rates.uses().items() for use in uses} == {
        f"{HERE}.{name}": rate for name, rate in KNOWN.items()
    }
    assert [*check_code()] == []
    assert f"{HERE}.narrow" in listing()


@here
@pytest.mark.parametrize("view", [view for view in VIEWS if view is not Api], ids=lambda view: view.__name__)
def test_they_are_the_same_when_a_request_comes(view: type[View], given: dict[str, set[code_rates.CodeRate]]) -> None:
    assert Client().get(f"/{view.__name__.lower()}/").status_code == 200
    met = code_rates.uses()
    assert met
    code_rates.load_names()
    assert met == {name: uses for name, uses in code_rates.uses().items() if name in met}


@here
def test_views_that_are_decorated_apart_count_apart() -> None:
    client = Client()
    assert [client.get("/wide/").status_code for _ in range(6)] == [200] * 6
    assert [client.get("/narrow/").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert [client.get("/one/").status_code for _ in range(7)] == [200] * 7
    assert client.get("/two/").status_code == 200


@here
def test_views_that_inherit_a_limit_share_its_count() -> None:
    client = Client()
    assert [client.get(f"/{each}/").status_code for each in ("narrow", "alsonarrow", "narrow", "alsonarrow")] == [200] * 3 + [429]


@here
def test_stacked_limits_of_one_method_are_several_rules_and_clients_read_their_names() -> None:
    client = Client()
    response = client.get("/stacked/")
    policies = [each.partition(";")[0].strip('" ') for each in response["RateLimit-Policy"].split(",")]
    assert policies == [f"{HERE}.{name}" for name in ("stacked-2", "stacked-3", "stacked", "narrow")]


@here
def test_a_decorator_of_the_sites_own_counts_each_class_apart_too() -> None:
    client = Client()
    assert [client.get("/byowndecorator/").status_code for _ in range(7)] == [200] * 6 + [429]


def test_one_that_hides_what_it_decorates_counts_by_the_class_that_runs() -> None:
    def made_anew(view: Callable[..., Any]) -> Callable[..., Any]:
        return ratelimit(rate="2/m", cost=lambda request: 1)(view)

    first = method_decorator(made_anew, name="dispatch")(type("First", (Page,), {}))
    second = method_decorator(made_anew, name="dispatch")(type("Second", (Page,), {}))
    assert statuses(first.as_view(), 3) == [200, 200, 429]
    assert statuses(second.as_view(), 3) == [200, 200, 429]


def test_one_view_on_two_paths_is_one_view() -> None:
    def view(request: HttpRequest) -> HttpResponse:
        raise NotImplementedError

    for _ in range(2):
        ratelimit(rate="5/m")(view)
    assert [*check_code()] == []


def test_a_view_of_an_app_has_the_apps_label_and_its_own_name(given: dict[str, set[code_rates.CodeRate]]) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")

    view.__module__, view.__qualname__, view.__name__ = "django.contrib.auth.views.more", "SignUp", "SignUp"
    response = get(ratelimit(rate="5/m")(view))
    assert set(given) == {"auth.more.sign-up"}
    assert response["RateLimit"] == '"auth.more.sign-up";r=4;t=60'


def test_a_name_that_is_given_is_not_made() -> None:
    decorated(False, "search", "5/m")
    assert set(code_rates.uses()) == {"search"}


def test_a_limited_method_of_a_model_is_known_before_any_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of some sites are models that serve themselves."""

    class Pages:
        @method_decorator(ratelimit(rate="5/m"))
        def serve(self, request: HttpRequest) -> HttpResponse:
            raise NotImplementedError

    monkeypatch.setattr("ratewindow.rules.site_routes.apps.get_models", lambda: [type("FrontPage", (Pages,), {})])
    code_rates.load_names()
    assert [use.place for uses in code_rates.uses().values() for use in uses if use.place.endswith("Pages.serve")]
