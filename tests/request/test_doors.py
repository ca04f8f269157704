"""The two doors, middleware and decorator, alone and together, sync and async."""

from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, RequestFactory, override_settings
from django.urls import path
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache

from ratewindow import RateLimited, ratelimit
from ratewindow.limiter.types import Decision, RuleDecision
from ratewindow.middleware import RateWindowMiddleware
from ratewindow.models import RateRule
from ratewindow.request.doors import PathDoor, ViewDoor, doors_of
from tests.support.doors import answer, behind_middleware, decorated, get, plain, statuses
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def define(name: str, rate: str, mode: str = "enforce", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, mode=mode, overwrite=True, **fields)[0]


@is_async
def test_a_rate_in_code_refuses_above_it(is_async: bool) -> None:
    view = decorated(is_async, "login", "2/m")
    assert statuses(view, 4) == [200, 200, 429, 429]


@is_async
def test_a_rate_without_a_name_refuses_above_it(is_async: bool) -> None:
    assert statuses(decorated(is_async, rate="1/m"), 2) == [200, 429]


def test_stacked_rates_without_names_are_several_rules() -> None:
    seen: list[HttpRequest] = []
    view = ratelimit(rate="3/m")(ratelimit(rate="10/h")(plain(False, seen)))
    assert statuses(view, 5) == [200, 200, 200, 429, 429]
    names = {decision.rule for decision in seen[0].ratewindow.decisions}  # type: ignore[attr-defined]
    assert len(names) == 2


@is_async
def test_a_named_rule_is_followed_where_code_names_it_and_nowhere_else(is_async: bool) -> None:
    define("login", "1/m")
    view = decorated(is_async, "login")
    assert statuses(view, 2) == [200, 429]
    assert statuses(behind_middleware(plain(is_async)), 3) == [200, 200, 200]


@is_async
def test_a_name_that_nobody_defined_lets_pass_with_one_warning(is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    assert statuses(decorated(is_async, "nobody.defined"), 3) == [200, 200, 200]
    assert [record.message for record in caplog.records] == [
        "ratewindow: code names rule 'nobody.defined', which nobody has defined: requests pass"
    ]


@is_async
@pytest.mark.parametrize(
    ("mode", "expected"), [("enforce", [200, 429, 429]), ("off", [200, 200, 200]), ("shadow", [200, 200, 429])]
)
def test_a_row_takes_the_place_of_the_rate_in_code_once_it_is_enforced_or_off(
    is_async: bool, mode: str, expected: list[int]
) -> None:
    define("login", "1/m", mode)
    assert statuses(decorated(is_async, "login", "2/m"), 3) == expected


def test_a_shadow_row_is_tried_beside_the_rate_in_code() -> None:
    define("login", "1/m", "shadow")
    seen: list[HttpRequest] = []
    view = decorated(False, "login", "2/m", seen=seen)
    statuses(view, 2)
    told = [[(part.mode, part.outcome) for part in request.ratewindow.decisions] for request in seen]  # type: ignore[attr-defined]
    assert told == [[("enforce", "passed"), ("shadow", "passed")], [("enforce", "passed"), ("shadow", "would_refuse")]]


def test_a_row_that_takes_over_from_code_keeps_the_counts() -> None:
    view = decorated(False, "login", "3/m")
    statuses(view, 2)
    define("login", "3/m", "shadow")
    statuses(view, 0)
    define("login", "3/m", "enforce")
    assert statuses(view, 2) == [200, 429]


@is_async
def test_the_middleware_enforces_rules_by_path(is_async: bool) -> None:
    define("login", "2/m", path="/login/")
    site = behind_middleware(plain(is_async))
    assert statuses(site, 3, "/login/") == [200, 200, 429]
    assert statuses(site, 3, "/other/") == [200, 200, 200]


@is_async
def test_every_rule_that_matches_applies_and_a_refused_request_costs_nothing(is_async: bool) -> None:
    define("all", "10/m", applies_to="all")
    define("api", "4/m", prefix="/api/")
    define("orders", "2/m", path="/api/orders/")
    site = behind_middleware(plain(is_async))
    assert statuses(site, 5, "/api/orders/") == [200, 200, 429, 429, 429]
    assert statuses(site, 3, "/api/other/") == [200, 200, 429]
    assert statuses(site, 7, "/") == [200] * 6 + [429]


def test_methods_narrow_a_rule_and_head_counts_as_get() -> None:
    define("posts", "1/m", path="/form/", methods="POST")
    define("reads", "1/m", path="/form/", methods="GET")
    site = behind_middleware(plain(False))
    assert [get(site, "/form/", method).status_code for method in ("POST", "POST", "HEAD", "GET", "PUT")] == [
        200,
        429,
        200,
        429,
        200,
    ]


def test_an_unknown_method_counts_for_a_rule_of_all_methods() -> None:
    define("form", "1/m", path="/form/")
    site = behind_middleware(plain(False))
    assert [get(site, "/form/", "BREW").status_code for _ in range(2)] == [200, 429]


@is_async
def test_a_rule_met_at_both_doors_is_charged_once(is_async: bool) -> None:
    define("login", "3/m", path="/login/")
    site = behind_middleware(decorated(is_async, "login"))
    assert statuses(site, 4, "/login/") == [200, 200, 200, 429]


def test_a_rate_in_code_is_not_met_twice_beside_its_row_in_shadow() -> None:
    define("login", "3/m", "shadow", path="/login/")
    site = behind_middleware(decorated(False, "login", "2/m"))
    assert statuses(site, 3, "/login/") == [200, 200, 429]


def test_shadow_rules_refuse_nobody_and_send_no_headers() -> None:
    define("login", "1/m", "shadow", path="/login/")
    site = behind_middleware(plain(False))
    answers = [get(site, "/login/") for _ in range(3)]
    assert [each.status_code for each in answers] == [200] * 3
    assert not [name for each in answers for name in each.headers if "limit" in name.lower()]


@is_async
def test_without_block_the_view_decides(is_async: bool) -> None:
    seen: list[HttpRequest] = []
    view = decorated(is_async, rate="1/m", block=False, seen=seen)
    assert statuses(view, 2) == [200, 200]
    assert [request.ratewindow.allowed for request in seen] == [True, False]  # type: ignore[attr-defined]
    assert "Retry-After" not in get(view)


def test_a_view_can_ask_how_much_is_left() -> None:
    define("all", "10/m", applies_to="all")
    seen: list[HttpRequest] = []
    get(behind_middleware(decorated(False, rate="2/m", seen=seen)))
    decision: Decision = seen[0].ratewindow  # type: ignore[attr-defined]
    assert (decision.allowed, decision.limit, decision.remaining, decision.window) == (True, 2, 1, "2/m")
    assert {part.rule: part.remaining for part in decision.decisions if part.rule == "all"} == {"all": 9}


@is_async
def test_a_request_that_no_rule_meets_has_a_decision_too(is_async: bool) -> None:
    seen: list[HttpRequest] = []
    get(behind_middleware(plain(is_async, seen)))
    decision: Decision = seen[0].ratewindow  # type: ignore[attr-defined]
    assert decision.allowed
    assert decision.decisions == ()


@is_async
def test_cost_and_rate_may_be_functions_of_the_request(is_async: bool) -> None:
    view = decorated(
        is_async,
        "export",
        lambda request: None if request.META.get("HTTP_X_FREE") else "10/m",
        cost=lambda request: int(request.META["HTTP_X_COST"]),
    )
    assert [get(view, headers={"x-cost": cost}).status_code for cost in ("6", "5", "4", "1")] == [200, 429, 200, 429]
    assert get(view, headers={"x-cost": "9", "x-free": "1"}).status_code == 200


def test_clients_are_told_apart_by_the_key() -> None:
    view = decorated(False, rate="1/m", key="header:X-API-Key")
    assert [get(view, headers={"x-api-key": key}).status_code for key in "aabb"] == [200, 429, 200, 429]


@pytest.mark.parametrize(
    ("on_missing", "expected"), [("ip", [200, 429, 429]), ("allow", [200, 200, 200]), ("refuse", [429, 429, 429])]
)
def test_a_missing_key_does_as_the_rule_says(on_missing: str, expected: list[int]) -> None:
    define("api", "1/m", key="header:x-api-key", on_missing=on_missing)
    view = decorated(False, "api")
    assert statuses(view, 3) == expected
    assert get(view, headers={"x-api-key": "one"}).status_code == 200


def test_a_request_refused_for_a_missing_key_costs_nothing_elsewhere() -> None:
    define("all", "2/m", applies_to="all")
    define("api", "9/m", applies_to="all", key="header:x-api-key", on_missing="refuse")
    site = behind_middleware(plain(False))
    assert statuses(site, 5) == [429] * 5
    assert statuses(site, 3, headers={"x-api-key": "one"}) == [200, 200, 429]


def test_users_count_on_their_own_and_strangers_by_address() -> None:
    define("user", "1/m", key="user")
    view = decorated(False, "user")

    def status(user: Any, address: str = "203.0.113.9") -> int:
        request = RequestFactory().get("/", REMOTE_ADDR=address)
        request.user = user
        return answer(view, request).status_code

    one, two = User(pk=1), User(pk=2)
    assert [status(one), status(one), status(two), status(two, "203.0.113.10")] == [200, 429, 200, 429]
    assert [status(AnonymousUser()), status(AnonymousUser()), status(AnonymousUser(), "203.0.113.10")] == [200, 429, 200]


async def test_a_user_rule_under_asgi_does_not_touch_the_database_from_the_loop() -> None:
    user = await User.objects.acreate(username="ann")
    await RateRule.objects.aget_or_create(name="unused")
    client = AsyncClient()
    await client.aforce_login(user)
    from asgiref.sync import sync_to_async

    await sync_to_async(define)("user", "2/m", key="user", applies_to="path", pattern="/slow/")
    assert [(await client.get("/slow/")).status_code for _ in range(3)] == [200, 200, 429]


def test_the_whole_site_answers_the_sixth_request_with_429() -> None:
    client = Client(raise_request_exception=True)
    answers = [client.get("/limited/") for _ in range(6)]
    assert [each.status_code for each in answers] == [200] * 5 + [429]
    assert [each.headers["X-RateLimit-Remaining"] for each in answers] == ["4", "3", "2", "1", "0", "0"]
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 61
    assert len({each.headers["X-RateLimit-Reset"] for each in answers}) == 1


def test_methods_of_classes_and_whole_classes_are_limited() -> None:
    @ratelimit("whole.class", "2/m")
    class Whole(View):
        def get(self, request: HttpRequest) -> HttpResponse:
            return HttpResponse("ok")

        async_get = None

    assert statuses(Whole.as_view(), 3) == [200, 200, 429]


def test_an_async_class_is_limited() -> None:
    @ratelimit("async.class", "1/m")
    class Whole(View):
        async def get(self, request: HttpRequest) -> HttpResponse:
            return HttpResponse("ok")

    assert statuses(Whole.as_view(), 2) == [200, 429]


def test_one_method_of_a_class_is_limited_through_method_decorator() -> None:
    from django.utils.decorators import method_decorator

    class Part(View):
        @method_decorator(ratelimit("part.post", "1/m"))
        def post(self, request: HttpRequest) -> HttpResponse:
            return HttpResponse("ok")

        def get(self, request: HttpRequest) -> HttpResponse:
            return HttpResponse("ok")

    view = Part.as_view()
    assert [get(view, method=method).status_code for method in ("POST", "POST", "GET", "GET")] == [200, 429, 200, 200]


def test_an_exception_of_the_view_passes_through_and_the_request_counts() -> None:
    def broken(request: HttpRequest) -> HttpResponse:
        raise RuntimeError("the view's own")

    view = ratelimit("broken", "1/m")(broken)
    with pytest.raises(RuntimeError, match="the view's own"):
        get(view)
    assert get(view).status_code == 429


def test_a_view_that_raises_rate_limited_is_answered_by_the_middleware() -> None:
    middleware = RateWindowMiddleware(plain(False))
    refused = RuleDecision(allowed=False, rule="own", retry_after=2.5, reason="limit", id="abcde")
    told = middleware.process_exception(RequestFactory().get("/"), RateLimited(refused))
    assert told is not None
    assert (told.status_code, told.headers["Retry-After"]) == (429, "3")
    assert middleware.process_exception(RequestFactory().get("/"), ValueError("another")) is None


@is_async
@override_settings(RATEWINDOW={"REDIS": "memory://", "ENABLED": False})
def test_the_kill_switch_lets_everything_pass(is_async: bool) -> None:
    seen: list[HttpRequest] = []
    assert statuses(decorated(is_async, rate="1/m", seen=seen), 3) == [200, 200, 200]
    assert seen[-1].ratewindow.allowed  # type: ignore[attr-defined]


@is_async
@override_settings(RATEWINDOW={"REDIS": "memory://"})
def test_one_process_can_count_for_itself_without_redis(is_async: bool) -> None:
    assert statuses(decorated(is_async, "in.memory", "2/m"), 3) == [200, 200, 429]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "needs a rule's name, a rate, or both"),
        ({"name": "No Such"}, "'No Such' is not a rule name"),
        ({"rate": "10/parsec"}, "'parsec' is not a unit of time"),
        ({"rate": "10/month"}, "write 30d"),
        ({"rate": ""}, "limits nothing"),
        ({"rate": "5/m", "key": "shoe_size"}, "'shoe_size' is not a key: choose from"),
        ({"rate": "5/m", "methods": "P0ST"}, "'P0ST' is not a registered HTTP method"),
        ({"rate": "5/m", "cost": -1}, "cost -1"),
    ],
)
def test_a_mistake_in_the_decorator_is_named_at_import(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ratelimit(**arguments)


def of(view: Any, method: str = "GET") -> list[str]:
    """The names of the rules at the doors of a view, the outermost first."""
    with site(path("page/", view)):
        return [door.name for door in doors_of(RequestFactory().generic(method, "/page/")) if isinstance(door, ViewDoor)]


class Base(View):
    @method_decorator(ratelimit("doors.get", "5/m"))
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse()


@ratelimit("doors.outer", "5/m")
@ratelimit("doors.inner", "5/m")
class Stacked(Base):
    pass


def test_the_doors_of_a_request_are_found_from_the_outermost_to_the_innermost() -> None:
    view = ratelimit("doors.a", "5/m")(never_cache(ratelimit("doors.b", "5/m", block=False)(plain(False))))
    assert of(view) == ["doors.a", "doors.b"]
    assert of(never_cache(partial(view))) == ["doors.a", "doors.b"]


def test_those_of_a_class_are_at_its_dispatch_and_at_the_method_that_answers() -> None:
    assert of(Base.as_view()) == of(Base.as_view(), "HEAD") == ["doors.get"]
    assert of(Base.as_view(), "POST") == []
    assert of(Stacked.as_view()) == ["doors.outer", "doors.inner", "doors.get"]
    assert of(ratelimit("doors.around", "5/m")(Stacked.as_view()), "POST") == ["doors.around", "doors.outer", "doors.inner"]


def test_the_middleware_is_the_first_door_where_it_is_installed() -> None:
    request = RequestFactory().get("/nothing/")
    assert [type(door) for door in doors_of(request)] == [PathDoor]
    with override_settings(MIDDLEWARE=[]):
        assert doors_of(request) == []
