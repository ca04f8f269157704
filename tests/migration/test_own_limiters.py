"""Limiters of a site's own fail as docs/migration/own_limiter.md says, and what it has in their place answers as they should."""

import logging
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import wraps
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest
import redis
import time_machine
from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser, User
from django.core.cache import caches
from django.core.exceptions import PermissionDenied
from django.db import connection, models
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden, JsonResponse
from django.test import Client, RequestFactory, override_settings
from django.test.utils import isolate_apps
from django.urls import path
from django.utils import timezone

import ratewindow
from ratewindow.models import Override, RateRule
from ratewindow.rulebook import reading
from ratewindow.rules import code_rates
from ratewindow.testing import fresh_counts
from tests.migration.examples import ReadTogether, example
from tests.support.doors import behind_middleware, get
from tests.support.urlconfs import site

PAGE = "own_limiter.md"
ANN = User(pk=42)
LOCAL = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "of own limiters"}}

pytestmark = pytest.mark.slow


@pytest.fixture
def clock() -> Iterator[Any]:
    """The time that both sides live in: Django's cache of this process, and counts in memory."""
    with override_settings(CACHES=LOCAL), fresh_counts(), time_machine.travel("2026-11-20T12:00:10+00:00", tick=False) as held:
        caches["default"].clear()
        yield held


def a_request(user: Any = None, **extra: Any) -> HttpRequest:
    request = RequestFactory().get("/", **extra)
    request.user = user or AnonymousUser()
    return request


def at_once(call: Callable[[], Any], count: int) -> list[Any]:
    """What so many threads are answered that call together."""
    together = Barrier(count)

    def waiting(_: int) -> Any:
        together.wait()
        return call()

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(waiting, range(count)))


# Both at once, then ours alone


def test_what_differs_is_logged_and_the_site_s_own_code_decides(caplog: pytest.LogCaptureFixture) -> None:
    theirs = iter([False, False, True, *[False] * 4, True])
    both = example(PAGE, "Both at once, then ours alone", 0, too_many=lambda request: next(theirs))
    with caplog.at_level(logging.WARNING, "shop.limits"):
        assert [both["is_refused"](a_request()) for _ in range(8)] == [False, False, True, *[False] * 4, True]
    logged = [record.getMessage() for record in caplog.records]
    assert logged == [f"contact: only {whose} refused 127.0.0.1" for whose in ("yours", "ours", "ours")]


def test_what_was_counted_in_shadow_still_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    both = example(PAGE, "Both at once, then ours alone", 0, too_many=lambda request: False)
    assert not any(both["is_refused"](a_request()) for _ in range(5))
    monkeypatch.setattr(code_rates, "_uses", {})  # the next deploy
    contact = example(PAGE, "cache.add and incr", 1, send_message=lambda request: HttpResponse("sent"))["contact"]
    assert get(contact).status_code == 429


@pytest.mark.django_db
def test_a_middleware_of_the_site_sees_what_a_rule_in_shadow_would_do() -> None:
    RateRule.objects.define("site", "1/m", prefix="/")
    reading.reload()
    seen: list[bool] = []

    def view(request: HttpRequest) -> HttpResponse:
        seen.append(any(each.reason for each in request.ratewindow.decisions))  # type: ignore[attr-defined]
        return HttpResponse("ok")

    with site(path("here/", view)):
        for _ in range(2):
            Client().get("/here/")
    assert seen == [False, True]


# cache.add and incr


def contact(number: int) -> Callable[[HttpRequest], HttpResponse]:
    names = {"cache": caches["default"], "HttpResponse": HttpResponse, "send_message": lambda request: HttpResponse("sent")}
    view: Callable[[HttpRequest], HttpResponse] = example(PAGE, "cache.add and incr", number, **names)["contact"]
    return view


def round_the_end_of_an_hour(view: Callable[[HttpRequest], HttpResponse], clock: Any) -> list[int]:
    statuses = [get(view).status_code]
    for pause_s, count in ((3598, 4), (3, 5)):
        clock.shift(timedelta(seconds=pause_s))
        statuses += [get(view).status_code for _ in range(count)]
    return statuses[1:]


def test_nine_of_five_an_hour_pass_where_the_window_of_a_counter_ends(clock: Any) -> None:
    assert round_the_end_of_an_hour(contact(0), clock) == [200] * 9


def test_no_hour_holds_more_than_the_decorator_allows(clock: Any) -> None:
    assert round_the_end_of_an_hour(contact(1), clock) == [200] * 4 + [200] + [429] * 4


def test_a_counter_that_ends_between_its_two_calls_is_an_error() -> None:
    ended = SimpleNamespace(add=lambda *arguments, **options: True, incr=caches["default"].incr)
    view = example(PAGE, "cache.add and incr", 0, cache=ended, HttpResponse=HttpResponse)["contact"]
    with override_settings(CACHES=LOCAL), pytest.raises(ValueError, match="not found"):
        get(view)


def test_the_refused_get_the_same_answer_as_before(clock: Any) -> None:
    before, after = contact(0), contact(1)
    for view in (before, after):
        refused = [get(view) for _ in range(6)][-1]
        assert (refused.status_code, refused.content.decode().strip()) == (429, "Please try again later.")


def test_of_many_at_once_the_limit_passes() -> None:
    view = contact(1)
    assert sorted(at_once(lambda: get(view).status_code, 20)) == [200] * 5 + [429] * 15


def test_while_the_cache_is_away_the_counter_is_an_error_and_the_decorator_is_not() -> None:
    away = "redis://127.0.0.1:1/0"
    cache = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": away}}
    with override_settings(CACHES=cache), pytest.raises(redis.ConnectionError):
        get(contact(0))
    sms = example(PAGE, "A list of times", 1)["SMS"]
    with override_settings(RATEWINDOW={"REDIS": away}):
        assert get(contact(1)).status_code == 200
        assert sms.hit("user:42")
    with override_settings(RATEWINDOW={"REDIS": away, "ON_ERROR": "refuse"}):
        assert get(contact(1)).status_code == 503
        assert not sms.hit("user:42")


# A row with F()


@pytest.fixture
def spend_before(transactional_db: None) -> Iterator[tuple[Callable[[int], bool], Any]]:
    with isolate_apps("tests.migration"):

        class Quota(models.Model):  # noqa: DJ008
            user = models.IntegerField()
            day = models.DateField()
            calls = models.IntegerField(default=0)

            class Meta:
                app_label = "migration"

    with connection.schema_editor() as editor:
        editor.create_model(Quota)
    yield example(PAGE, "A row with F()", 0, Quota=Quota, F=models.F, timezone=timezone)["spend_call"], Quota
    with connection.schema_editor() as editor:
        editor.delete_model(Quota)


def test_a_row_lets_pass_all_who_have_read_it_before_one_writes(spend_before: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spend, quota = spend_before
    assert all(spend(42) for _ in range(99))
    together = ReadTogether(quota.objects.get_or_create, more=19)
    monkeypatch.setattr(quota.objects, "get_or_create", together)
    assert together.run(lambda: spend(42)) == [True] * 20
    assert quota.objects.get().calls == 119


def test_one_by_one_a_quota_by_the_calendar_is_spent_as_the_row_was(spend_before: Any, clock: Any) -> None:
    before, _ = spend_before
    names = example(PAGE, "A row with F()", 1)
    for _ in range(3):
        for _ in range(110):
            assert before(42) == names["spend_call"](ANN)
            clock.shift(timedelta(minutes=1))
        clock.move_to(timezone.now() + timedelta(hours=22))
    assert names["CALLS"].peek("user:42").remaining == 100


def test_the_limit_of_a_plan_takes_the_place_of_the_usual_one(clock: Any) -> None:
    calls = example(PAGE, "A row with F()", 1)["CALLS"]
    assert [bool(calls.hit("user:42", rate="2/d")) for _ in range(3)] == [True, True, False]


def test_the_unit_of_a_view_that_failed_is_given_back(clock: Any) -> None:
    names = example(PAGE, "A row with F()", 1)
    assert names["spend_call"](ANN)
    ratewindow.refund("api-calls", "user:42")
    assert names["CALLS"].peek("user:42").remaining == 100


# A list of times


def test_a_list_lets_pass_all_who_have_read_it_before_one_writes(clock: Any) -> None:
    cache = caches["default"]
    together = ReadTogether(cache.get, more=19)

    may_send = example(PAGE, "A list of times", 0, cache=SimpleNamespace(get=together, set=cache.set), time=time)["may_send"]
    assert together.run(lambda: may_send(ANN)) == [True] * 20
    assert len(cache.get("sms:42")) == 1


@pytest.mark.parametrize("seed", range(3))
def test_one_by_one_a_declared_limit_decides_as_the_list_did(seed: int, clock: Any) -> None:

    chance, refused = random.Random(seed), 0
    before = example(PAGE, "A list of times", 0, cache=caches["default"], time=time)["may_send"]
    after = example(PAGE, "A list of times", 1)["may_send"]
    for number in range(500):
        clock.shift(timedelta(milliseconds=round(1000 * chance.expovariate(1 / 900))))
        user = User(pk=chance.randint(1, 2))
        expected = before(user)
        assert after(user) == expected, number
        refused += not expected
    assert 50 < refused < 450


def test_of_many_at_once_a_declared_limit_lets_its_number_pass() -> None:
    may_send = example(PAGE, "A list of times", 1)["may_send"]
    assert sum(at_once(lambda: may_send(ANN), 20)) == 3


# A wrapper of views


def wrapper(number: int) -> Callable[..., Any]:
    def is_over(key: str, times: int, seconds: int) -> bool:
        caches["default"].add(key, 0, seconds)
        return caches["default"].incr(key) > times

    given = {"is_over": is_over, "wraps": wraps, "JsonResponse": JsonResponse}
    throttled: Callable[..., Any] = example(PAGE, "A wrapper of views", number, **given)["throttled"]
    return throttled


def ok(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


@pytest.mark.parametrize(("number", "expected"), [(0, [200] * 6), (1, [200, 200] + [429] * 4)])
def test_an_address_that_the_client_makes_up(clock: Any, number: int, expected: list[int]) -> None:
    view = wrapper(number)("search", 2, 60)(ok)
    requests = [a_request(headers={"x-forwarded-for": f"192.0.2.{host}"}) for host in range(6)]
    assert [view(request).status_code for request in requests] == expected


def test_users_and_addresses_are_limited_as_before(clock: Any) -> None:
    before, after = (wrapper(number)("search", 2, 60)(ok) for number in (0, 1))
    for request in [a_request(), a_request(ANN), a_request(REMOTE_ADDR="192.0.2.1")] * 4:
        assert after(request).status_code == before(request).status_code


async def async_view(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


def test_an_async_view_below_the_wrapper_is_an_error(clock: Any) -> None:
    limited, begun = wrapper(0)("search", 2, 60)(async_view), list[Any]()

    def noting(request: HttpRequest) -> Any:
        begun.append(limited(request))
        return begun[-1]

    with site(path("here/", noting)), pytest.raises(ValueError, match="unawaited coroutine"):
        Client().get("/here/")
    begun[0].close()


def test_an_async_view_below_the_decorator_is_limited(clock: Any) -> None:
    with site(path("here/", wrapper(1)("search", 2, 60)(async_view))):
        assert [Client().get("/here/").status_code for _ in range(3)] == [200, 200, 429]


def test_a_page_of_refusals_answers_as_the_wrapper_did(clock: Any) -> None:
    handler429 = example(PAGE, "A wrapper of views", 2, JsonResponse=JsonResponse)["handler429"]
    answers = []
    for number in (0, 1):
        with site(path("here/", wrapper(number)("search", 2, 60)(ok)), handler429=handler429):
            answers.append([Client().get("/here/") for _ in range(3)][-1])
    before, after = answers
    assert (before.status_code, before.json()) == (after.status_code, after.json()) == (429, {"error": "Too many requests"})
    assert int(after["Retry-After"]) == 60


# A wrapper of authenticate()


def log_in(authenticate: Callable[..., Any], cache: Any) -> Callable[..., Any]:
    names = {"authenticate": authenticate, "cache": cache, "PermissionDenied": PermissionDenied}
    wrapped: Callable[..., Any] = example(PAGE, "A wrapper of authenticate()", 0, **names)["log_in"]
    return wrapped


def test_guesses_that_come_at_once_are_all_checked_by_a_wrapper(clock: Any) -> None:
    checked: list[str] = []
    cache = caches["default"]
    together = ReadTogether(cache.get, more=19)

    def authenticate(request: HttpRequest, username: str, password: str) -> None:
        checked.append(username)

    wrapped = log_in(authenticate, SimpleNamespace(get=together, set=cache.set, delete=cache.delete))
    assert together.run(lambda: wrapped(a_request(), "ann", "wrong")) == [None] * 20
    assert len(checked) == 20


def test_a_wrapper_counts_each_spelling_of_a_name_apart(clock: Any) -> None:
    wrapped = log_in(lambda *arguments, **options: None, caches["default"])
    for _ in range(5):
        wrapped(a_request(), "ann", "wrong")
    with pytest.raises(PermissionDenied):
        wrapped(a_request(), "ann", "wrong")
    assert wrapped(a_request(), "Ann", "wrong") is None


@pytest.mark.skipif(not apps.is_installed("ratewindow.contrib.logins"), reason="rules about logins need their room")
def test_the_gate_of_logins_refuses_as_the_wrapper_did(transactional_db: None) -> None:
    get_user_model().objects.create_user("ann", password="right")
    given = {"INSTALLED_APPS": [], "AUTHENTICATION_BACKENDS": ["django.contrib.auth.backends.ModelBackend"]}
    backends = example(PAGE, "A wrapper of authenticate()", 1, **given)["AUTHENTICATION_BACKENDS"]
    example(PAGE, "A wrapper of authenticate()", 2)

    def tried(name: str, password: str) -> Any:
        return Client().post("/login/", {"username": name, "password": password})

    def compared(name: str) -> list[str]:
        logged: list[str] = []
        logger = SimpleNamespace(warning=logged.append)
        example(PAGE, "A wrapper of authenticate()", 3, ratewindow=ratewindow, name=name, logger=logger)
        return logged

    with override_settings(AUTHENTICATION_BACKENDS=backends):
        assert [tried("ann", "wrong").status_code for _ in range(4)] == [200] * 4  # in shadow
        assert compared("ann") == compared("ANN") == ["only the wrapper refused a login"]
        assert [tried("ann", "wrong").status_code for _ in range(2)] == [200] * 2
        assert compared("ann") == compared("ANN") == []
        RateRule.objects.update(mode="enforce")
        reading.reload()
        refused = tried("ANN", "right")
    assert (refused.status_code, refused.content.decode().strip()) == (403, "Too many failures.")


# A middleware with a block key


HERE = "203.0.113.9"


def visits(handler: Callable[..., Any], count: int) -> list[int]:
    return [get(handler, REMOTE_ADDR=HERE).status_code for _ in range(count)]


def block_middleware() -> Callable[..., Any]:
    names = {"cache": caches["default"], "HttpResponseForbidden": HttpResponseForbidden}
    middleware: Callable[..., Any] = example(PAGE, "A middleware with a block key", 0, **names)["BlockMiddleware"](ok)
    return middleware


def test_a_block_key_never_ends_and_goes_with_the_cache(clock: Any) -> None:
    middleware = block_middleware()
    assert visits(middleware, 102) == [200] * 100 + [403] * 2
    clock.shift(timedelta(days=1000))
    assert visits(middleware, 1) == [403]
    caches["default"].clear()
    assert visits(middleware, 1) == [200]


@pytest.mark.django_db
def test_a_penalty_refuses_alike_and_ends(clock: Any) -> None:
    example(PAGE, "A middleware with a block key", 1)
    RateRule.objects.update(mode="enforce")
    reading.reload()
    middleware = behind_middleware(ok)
    assert visits(middleware, 102) == [200] * 100 + [403] * 2
    assert get(middleware, REMOTE_ADDR=HERE).content.decode().strip() == "Blocked."
    clock.shift(timedelta(hours=23, minutes=59))
    assert visits(middleware, 1) == [403]
    clock.shift(timedelta(minutes=2))
    assert visits(middleware, 1) == [200]


@pytest.mark.django_db
def test_who_is_blocked_already_becomes_a_block_that_ends(redis_url: str) -> None:
    with override_settings(CACHES={"default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": redis_url}}):
        caches["default"].set(f"blocked:{HERE}", True, timeout=None)
        example(PAGE, "A middleware with a block key", 2, cache=caches["default"])
        caches["default"].close()
    reading.reload()
    assert visits(behind_middleware(ok), 1) == [429]
    [block] = Override.objects.in_force()
    assert (block.identity, block.reason) == (f"ip:{HERE}", "Blocked by BlockMiddleware")
    assert (block.expires_at - timezone.now()).days in (29, 30)
