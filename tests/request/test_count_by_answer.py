"""Rules that count by the answer: failed logins, and statuses."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import authenticate, user_login_failed
from django.contrib.auth.models import User
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import AsyncClient, Client, RequestFactory, override_settings

import ratewindow
from ratewindow import ratelimit
from ratewindow.models import RateRule
from ratewindow.reporting import counters
from ratewindow.request import count_by_answer
from tests.support.doors import answer, behind_middleware, get, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@pytest.fixture(autouse=True)
def _quick_passwords() -> Any:
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture
def ann() -> User:
    return User.objects.create_superuser("ann", password="right")


def define(name: str, rate: str, count_when: str, mode: str = "enforce", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, count_when=count_when, mode=mode, overwrite=True, **fields)[0]


def left(rule: str = "login", who: str = "ip:127.0.0.1") -> int | None:
    return ratewindow.peek(rule, who).remaining


def used(limit: int, rule: str = "login") -> int:
    return limit - (left(rule) or 0)


def answering(status: int, is_async: bool = False) -> Callable[..., Any]:
    if is_async:

        async def aview(request: HttpRequest) -> HttpResponse:
            return HttpResponse("ok", status=status)

        return aview

    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok", status=status)

    return view


@pytest.mark.usefixtures("ann")
@pytest.mark.parametrize("path", ["/login/", "/admin/login/"])
def test_of_three_wrong_one_right_and_two_wrong_logins_five_count(path: str) -> None:
    """A wrong password in the admin answers 200, a right one 302: statuses could not tell them."""
    define("login", "5/h", "login_failed", path=path, methods="POST")
    client = Client()

    def log_in(password: str) -> int:
        return client.post(path, {"username": "ann", "password": password}).status_code

    told = [log_in(password) for password in ("wrong", "wrong", "wrong", "right", "wrong", "wrong")]
    assert told == [200, 200, 200, 302, 200, 200]
    assert used(5) == 5
    assert [log_in("wrong"), log_in("right")] == [429, 429]
    assert Client().get(path).status_code == 200


@pytest.mark.usefixtures("ann")
async def test_the_same_through_asgi() -> None:
    await sync_to_async(define)("login", "5/h", "login_failed", path="/login/")
    client = AsyncClient()
    told = []
    for password in ("wrong", "wrong", "wrong", "right", "wrong", "wrong", "wrong"):
        response = await client.post("/login/", {"username": "ann", "password": password})
        told.append((response.status_code, response["X-RateLimit-Remaining"]))
    assert told == [(200, "4"), (200, "3"), (200, "2"), (302, "2"), (200, "1"), (200, "0"), (429, "0")]


@is_async
@pytest.mark.parametrize(
    ("count_when", "status", "counts"),
    [
        ("401,403,5xx", 401, True),
        ("401,403,5xx", 403, True),
        ("401,403,5xx", 404, False),
        ("401,403,5xx", 200, False),
        ("401,403,5xx", 503, True),
        ("2xx", 204, True),
        ("login_failed", 401, False),
    ],
)
def test_statuses_count_as_the_rule_says(is_async: bool, count_when: str, status: int, counts: bool) -> None:
    define("login", "2/h", count_when, prefix="/")
    site = behind_middleware(answering(status, is_async))
    assert statuses(site, 4) == ([status, status, 429, 429] if counts else [status] * 4)
    assert used(2) == (2 if counts else 0)


@is_async
def test_headers_tell_what_is_left_after_the_answer_has_counted(is_async: bool) -> None:
    define("login", "2/h", "401", prefix="/")
    site = behind_middleware(answering(401, is_async))
    told = [get(site) for _ in range(3)]
    assert [each["RateLimit"].partition(";t")[0] for each in told] == ['"login";r=1', '"login";r=0', '"login";r=0']
    assert [each["X-RateLimit-Remaining"] for each in told] == ["1", "0", "0"]
    assert ["Retry-After" in each for each in told] == [False, False, True]


@is_async
def test_a_decorated_view_counts_by_its_own_answer_without_the_middleware(is_async: bool) -> None:
    define("login", "2/h", "401")
    view = ratelimit("login")(answering(401, is_async))
    assert statuses(view, 3) == [401, 401, 429]


@is_async
def test_through_two_doors_it_counts_once(is_async: bool) -> None:
    define("login", "3/h", "401", path="/login/")
    site = behind_middleware(ratelimit("login")(answering(401, is_async)))
    assert statuses(site, 4, "/login/") == [401, 401, 401, 429]


def test_what_an_inner_guard_looks_at_the_outermost_counts_by_the_answer_that_leaves() -> None:
    define("login", "3/h", "5xx")

    def middleware_of_the_site(request: HttpRequest) -> HttpResponse:
        ratelimit("login")(answering(200))(request)
        return HttpResponse("broken", status=500)

    assert statuses(behind_middleware(middleware_of_the_site), 4) == [500] * 4
    assert used(3) == 3


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Http404(), 404),
        (PermissionDenied(), 403),
        (SuspiciousOperation(), 400),
        (BadRequest(), 400),
        (ValueError(), 500),
        (ratewindow.RateLimited(ratewindow.Decision(allowed=False)), None),
        (asyncio.CancelledError(), None),
    ],
    ids=str,
)
def test_an_exception_counts_as_the_status_that_django_makes_of_it(error: BaseException, status: int | None) -> None:
    assert count_by_answer.status_of(error) == status


@is_async
def test_a_view_that_breaks_counts_as_5xx_and_django_gets_its_error(is_async: bool) -> None:
    define("login", "2/h", "5xx")

    def broken(request: HttpRequest) -> HttpResponse:
        raise ZeroDivisionError

    async def abroken(request: HttpRequest) -> HttpResponse:
        raise ZeroDivisionError

    view = ratelimit("login")(abroken if is_async else broken)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            get(view)
    assert get(view).status_code == 429


@is_async
def test_who_waits_for_a_streamed_body_is_counted_by_the_status_before_it(is_async: bool) -> None:
    define("login", "2/h", "401", prefix="/")

    def view(request: HttpRequest) -> StreamingHttpResponse:
        return StreamingHttpResponse(iter([b"a", b"b"]), status=401)

    async def aview(request: HttpRequest) -> StreamingHttpResponse:
        return view(request)

    response = get(behind_middleware(aview if is_async else view))
    assert used(2) == 1
    assert response["X-RateLimit-Remaining"] == "1"
    assert b"".join(response) == b"ab"  # type: ignore[call-overload]


@pytest.mark.usefixtures("ann")
def test_a_login_that_fails_while_the_body_is_streamed_counts_at_that_moment() -> None:
    define("login", "2/h", "login_failed", prefix="/")

    def view(request: HttpRequest) -> StreamingHttpResponse:
        def body() -> Any:
            yield b"a"
            authenticate(request, username="ann", password="wrong")
            yield b"b"

        return StreamingHttpResponse(body())

    response = get(behind_middleware(view))
    assert used(2) == 0
    assert b"".join(response) == b"ab"  # type: ignore[call-overload]
    assert used(2) == 1


@pytest.mark.usefixtures("ann")
@pytest.mark.parametrize("signal_has", ["request", "none", "another"])
def test_a_failed_login_finds_its_request(signal_has: str) -> None:
    define("login", "2/h", "login_failed", prefix="/")

    def view(request: HttpRequest) -> HttpResponse:
        given = {"request": request, "none": None, "another": HttpRequest()}[signal_has]
        authenticate(given, username="ann", password="wrong")
        return HttpResponse("Try again")

    assert statuses(behind_middleware(view), 3) == [200, 200, 429]


async def test_a_failed_login_without_a_request_finds_it_in_a_thread_of_an_async_view() -> None:
    await sync_to_async(define)("login", "2/h", "login_failed", prefix="/")

    async def view(request: HttpRequest) -> HttpResponse:
        await sync_to_async(user_login_failed.send)(sender="test", credentials={}, request=None)
        return HttpResponse("Try again")

    site = behind_middleware(view)
    told = [(await site(RequestFactory().get("/"))).status_code for _ in range(3)]
    assert told == [200, 200, 429]


def test_a_failed_login_outside_of_requests_concerns_nobody() -> None:
    define("login", "2/h", "login_failed", prefix="/")
    statuses(behind_middleware(plain(False)), 1)
    user_login_failed.send(sender="test", credentials={}, request=None)
    assert used(2) == 0


def test_a_login_that_failed_in_a_middleware_before_ours_counts() -> None:
    define("login", "2/h", "login_failed", prefix="/")
    site = behind_middleware(plain(False))
    request = RequestFactory().get("/")
    user_login_failed.send(sender="test", credentials={}, request=request)
    answer(site, request)
    assert used(2) == 1


async def test_a_client_that_goes_away_does_not_get_its_failed_login_for_free() -> None:
    await sync_to_async(define)("login", "2/h", "login_failed", prefix="/")
    entered = asyncio.Event()

    async def view(request: HttpRequest) -> HttpResponse:
        await user_login_failed.asend(sender="test", credentials={}, request=request)
        entered.set()
        await asyncio.Event().wait()
        return HttpResponse("never")

    task = asyncio.ensure_future(behind_middleware(view)(RequestFactory().get("/")))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await ratewindow.apeek("login", "ip:127.0.0.1")).remaining == 1


def test_a_request_that_another_rule_refuses_counts_nowhere() -> None:
    define("seen", "9/h", "4xx", prefix="/")
    RateRule.objects.define("tight", "1/h", prefix="/", mode="enforce")
    assert statuses(behind_middleware(answering(404)), 3) == [404, 429, 429]
    assert used(9, "seen") == 1


def test_nor_does_one_that_is_refused_further_in() -> None:
    define("seen", "9/h", "429,404", prefix="/")
    site = behind_middleware(ratelimit("tight", "1/h")(answering(404)))
    assert statuses(site, 3) == [404, 429, 429]
    assert used(9, "seen") == 1


def test_several_rules_count_each_what_it_is_about() -> None:
    define("missing", "9/h", "404", prefix="/")
    define("errors", "9/h", "4xx,5xx", prefix="/")
    define("login", "9/h", "login_failed", prefix="/")
    statuses(behind_middleware(answering(404)), 3)
    assert (used(9, "missing"), used(9, "errors"), used(9, "login")) == (3, 3, 0)


def test_a_rule_in_shadow_counts_by_the_answer_too_and_refuses_nobody() -> None:
    define("login", "2/h", "401", "shadow", prefix="/")
    seen: list[HttpRequest] = []

    def view(request: HttpRequest) -> HttpResponse:
        seen.append(request)
        return HttpResponse(status=401)

    assert statuses(behind_middleware(view), 4) == [401] * 4
    told = [request.ratewindow.decisions[0].outcome for request in seen]  # type: ignore[attr-defined]
    assert told == ["passed", "passed", "would_refuse", "would_refuse"]


def test_with_a_penalty_the_look_that_refuses_locks_out() -> None:
    define("login", "2/s", "401", prefix="/", penalty="15m")
    site = behind_middleware(answering(401))
    assert statuses(site, 3) == [401, 401, 429]
    told = ratewindow.peek("login", "ip:127.0.0.1")
    assert (told.reason, told.retry_after is not None and told.retry_after > 890) == ("penalty", True)


def test_cost_is_what_an_answer_counts() -> None:
    define("login", "10/h", "401", prefix="/", cost=4)
    site = behind_middleware(answering(401))
    assert statuses(site, 3) == [401, 401, 429]
    assert used(10) == 8


def test_without_block_what_passed_counts_and_what_was_refused_does_not() -> None:
    define("login", "2/h", "401")
    view = ratelimit("login", block=False)(answering(401))
    assert statuses(view, 5) == [401] * 5
    assert used(2) == 2


def test_code_that_charges_it_by_name_charges_at_once() -> None:
    define("login", "2/h", "login_failed")
    assert [ratewindow.hit("login", "user:42").allowed for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize("together", [2, 8])
def test_wrong_logins_at_the_same_moment_pass_the_limit_by_those_in_flight_and_no_more(together: int) -> None:
    define("login", "5/h", "401", prefix="/")
    barrier = threading.Barrier(together)
    told: list[int] = []

    def view(request: HttpRequest) -> HttpResponse:
        barrier.wait(30)  # all have been looked at before one is counted
        return HttpResponse(status=401)

    site = behind_middleware(view)
    statuses(behind_middleware(answering(401)), 4)  # one is left

    def ask() -> None:
        told.append(get(site).status_code)

    threads = [threading.Thread(target=ask) for _ in range(together)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [401] * together
    assert get(site).status_code == 429
    fifth = RateRule.objects.get(name="login").windows.get()
    fifth.limit = 4 + together
    fifth.save()
    assert left() == 0  # each of them was counted, beyond the limit too


@pytest.mark.usefixtures("ann")
@is_async
def test_while_redis_is_away_the_charge_is_no_error_and_counted_as_decided_without_it(is_async: bool) -> None:
    define("login", "5/h", "401", prefix="/")
    view = answering(401, is_async)
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        assert statuses(behind_middleware(view), 3) == [401] * 3
    (sums,) = counters.held().values()
    assert (sums["login"].passed, sums["login"].fallback) == (3, 3)


def test_a_redis_that_goes_away_during_the_request_is_no_error_either() -> None:
    define("login", "5/h", "401", prefix="/")

    def view(request: HttpRequest) -> HttpResponse:
        override.enable()
        return HttpResponse(status=401)

    override = override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"})
    try:
        response = get(behind_middleware(view))
    finally:
        override.disable()
    assert (response.status_code, response["X-RateLimit-Remaining"]) == (401, "5")
    sums = next(iter(counters.held().values()))["login"]
    assert (sums.passed, sums.fallback, sums.reasons) == (1, 1, {"store:connection": 1})


def test_a_site_without_such_rules_has_nothing_to_remember() -> None:
    RateRule.objects.define("login", "5/h", prefix="/", mode="enforce")
    seen: list[HttpRequest] = []
    statuses(behind_middleware(plain(False, seen)), 1)
    assert not hasattr(seen[0], "_ratewindow_waiting")
    assert count_by_answer._asking.get() is None


def test_a_request_leaves_nothing_behind_in_its_context() -> None:
    define("login", "5/h", "401", prefix="/")
    get(behind_middleware(answering(200)))
    assert count_by_answer._asking.get() is None


@is_async
@pytest.mark.parametrize("on_error", ["local", "refuse"])
def test_what_a_rule_says_of_errors_holds_for_its_look_and_its_charge(is_async: bool, on_error: str) -> None:
    define("login", "2/h", "401", prefix="/", on_error=on_error)
    site = behind_middleware(answering(401, is_async))
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        assert statuses(site, 3) == ([401, 401, 429] if on_error == "local" else [503] * 3)


def test_what_was_looked_at_without_redis_is_charged_if_it_is_back_with_the_answer() -> None:
    define("login", "2/h", "401", prefix="/")
    away = override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"})

    def view(request: HttpRequest) -> HttpResponse:
        away.disable()
        return HttpResponse(status=401)

    away.enable()
    assert get(behind_middleware(view)).status_code == 401
    assert used(2) == 1


CROWD = 150


@pytest.mark.parametrize("door", ["middleware", "decorator"])
def test_of_150_attempts_at_once_a_rule_that_holds_lets_exactly_its_limit_reach_the_view(door: str) -> None:
    """On one event loop, where whoever attacks chooses how many are in flight."""
    define("login", "5/h", "401", prefix="/", hold=True)
    reached: list[HttpRequest] = []
    refused = 0
    all_others_refused = asyncio.Event()

    async def view(request: HttpRequest) -> HttpResponse:
        reached.append(request)
        await all_others_refused.wait()  # nobody's answer is there before everybody has asked
        return HttpResponse(status=401)

    site = behind_middleware(view) if door == "middleware" else ratelimit("login")(view)

    async def ask() -> int:
        nonlocal refused
        status: int = (await site(RequestFactory().post("/"))).status_code
        refused += status == 429
        if refused == CROWD - 5:
            all_others_refused.set()
        return status

    async def crowd() -> list[int]:
        return await asyncio.wait_for(asyncio.gather(*(ask() for _ in range(CROWD))), 60)

    told = asyncio.run(crowd())
    assert (told.count(401), told.count(429), len(reached)) == (5, CROWD - 5, 5)
    assert used(5) == 5


def test_so_it_is_in_threads() -> None:
    define("login", "5/h", "login_failed", prefix="/", hold=True)
    told: list[int] = []
    reached: list[HttpRequest] = []
    all_others_refused = threading.Event()

    def view(request: HttpRequest) -> HttpResponse:
        reached.append(request)
        assert all_others_refused.wait(60)
        user_login_failed.send(sender=None, request=request, credentials={})
        return HttpResponse()

    site = behind_middleware(view)

    def ask() -> None:
        told.append(get(site).status_code)
        if told.count(429) == 25:
            all_others_refused.set()

    threads = [threading.Thread(target=ask) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (told.count(200), told.count(429), len(reached)) == (5, 25, 5)
    assert used(5) == 5


@is_async
def test_what_was_held_is_refunded_when_the_answer_does_not_count(is_async: bool) -> None:
    define("login", "2/h", "401", prefix="/", hold=True)
    right, wrong = behind_middleware(answering(200, is_async)), behind_middleware(answering(401, is_async))
    told = [get(right) for _ in range(5)]
    assert [(answer.status_code, answer["X-RateLimit-Remaining"]) for answer in told] == [(200, "2")] * 5
    assert used(2) == 0
    answer = get(wrong)
    assert (answer.status_code, answer["X-RateLimit-Remaining"]) == (401, "1")
    assert [get(wrong).status_code, get(right).status_code] == [401, 429]
    assert used(2) == 2


@is_async
def test_a_view_that_raises_refunds_what_was_held_unless_its_status_counts(is_async: bool) -> None:
    define("login", "5/h", "5xx", prefix="/", hold=True)
    for error, counted in ((Http404(), 0), (RuntimeError(), 1)):

        def raises(request: HttpRequest, error: Exception = error) -> HttpResponse:
            raise error

        async def araises(request: HttpRequest, error: Exception = error) -> HttpResponse:
            raise error

        with pytest.raises(type(error)):
            get(behind_middleware(araises if is_async else raises))
        assert used(5) == counted


def test_what_was_held_is_refunded_once_where_another_rule_or_code_refuses_after_it() -> None:
    define("login", "5/h", "401", prefix="/", hold=True)
    define("inner", "0/h", "always")
    assert statuses(behind_middleware(ratelimit("inner")(answering(401))), 3) == [429] * 3
    assert used(5) == 0

    def view(request: HttpRequest) -> HttpResponse:
        ratewindow.hit("inner", request, raise_exception=True)
        return HttpResponse(status=401)

    with pytest.raises(ratewindow.RateLimited):
        get(behind_middleware(view))
    assert used(5) == 0


def test_a_login_that_fails_after_its_answer_counts_though_what_was_held_is_refunded_by_then() -> None:
    define("login", "5/h", "login_failed", prefix="/", hold=True)

    def view(request: HttpRequest) -> StreamingHttpResponse:
        def body() -> Any:
            user_login_failed.send(sender=None, request=request, credentials={})
            yield b"late"

        return StreamingHttpResponse(body())

    response = get(behind_middleware(view))
    assert used(5) == 0
    assert b"".join(response.streaming_content) == b"late"  # type: ignore[attr-defined]
    assert used(5) == 1


def test_in_shadow_it_holds_and_refunds_too_and_refuses_nobody() -> None:
    define("login", "2/h", "401", mode="shadow", prefix="/", hold=True)
    assert statuses(behind_middleware(answering(200)), 3) == [200] * 3
    assert statuses(behind_middleware(answering(401)), 3) == [401] * 3
    sums = next(iter(counters.held().values()))["login"]
    assert (sums.passed, sums.would_refuse) == (6, 1)


def test_a_view_charges_and_refunds_what_is_held_only_by_name() -> None:
    define("login", "5/h", "401", prefix="/", hold=True)

    def view(request: HttpRequest) -> HttpResponse:
        request.ratewindow.charge(2)  # type: ignore[attr-defined]
        request.ratewindow.refund(3)  # type: ignore[attr-defined]
        return HttpResponse(status=401)

    get(behind_middleware(view))
    assert used(5) == 1


@is_async
def test_what_was_counted_in_this_process_while_redis_is_away_stays_counted_once(is_async: bool) -> None:
    define("login", "2/h", "401", prefix="/", hold=True, on_error="local")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        assert statuses(behind_middleware(answering(401, is_async)), 3) == [401, 401, 429]


def test_a_rule_that_always_counts_cannot_hold() -> None:
    with pytest.raises(ValueError, match="what always counts is charged at once: say what counts, such as login_failed"):
        RateRule.objects.define("login", "5/h", hold=True)
