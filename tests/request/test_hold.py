"""Rules that charge each request first, and refund it if its answer does not count."""

import asyncio
import threading

import pytest
import redis
from asgiref.sync import sync_to_async
from django.contrib.auth import user_login_failed
from django.http import Http404, HttpRequest, HttpResponse
from django.test import RequestFactory

import ratewindow
from ratewindow import ratelimit
from ratewindow.counting.counters import counters
from ratewindow.limiter.types import Check, Window
from ratewindow.models import RateRule
from ratewindow.request import late_charges
from ratewindow.store import stores
from tests.support.count_by_answer import answering, define, used
from tests.support.doors import behind_middleware, get, statuses

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])

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


async def test_a_client_that_goes_away_keeps_its_unit_charged_since_its_login_may_still_fail() -> None:
    await sync_to_async(define)("login", "2/h", "login_failed", prefix="/", hold=True)
    entered = asyncio.Event()

    async def view(request: HttpRequest) -> HttpResponse:
        entered.set()
        await asyncio.Event().wait()
        return HttpResponse("never")

    task = asyncio.ensure_future(behind_middleware(view)(RequestFactory().get("/")))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await ratewindow.apeek("login", "ip:127.0.0.1")).remaining == 1


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


def test_a_rule_that_always_counts_cannot_hold() -> None:
    with pytest.raises(ValueError, match="every request counts, so nothing is refunded or forgiven: write what counts"):
        RateRule.objects.define("login", "5/h", hold=True)


@pytest.mark.parametrize(("error", "left"), [(redis.ConnectionError("away"), 1), (redis.ResponseError("WRONGTYPE"), 0)], ids=str)
def test_a_refund_that_was_missed_is_tried_again_only_if_the_server_was_away(
    error: Exception, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    late_charges.missed.extend([(Check("login", (Window(5, 60_000),), ("rw:s:x:{y}",)), [1])])
    monkeypatch.setattr(stores.store(), "refund", fail)
    try:
        with pytest.raises(redis.RedisError):
            late_charges.refund_missed()
        assert len(late_charges.missed) == left
    finally:
        late_charges.missed.clear()
