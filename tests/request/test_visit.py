"""What is kept of a request that passes a guard more than once, and of a rule that it meets more than once."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

import ratewindow
from ratewindow import RateLimited, ratelimit
from ratewindow.counting.counters import counters
from ratewindow.models import RateRule
from tests.support.doors import answer, behind_middleware, get, plain

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def define(name: str, rate: str, **fields: Any) -> None:
    RateRule.objects.define(name, rate, mode="enforce", overwrite=True, **fields)


def counted(rule: str) -> int:
    """How often the report counts it, whatever became of it."""
    return sum(sum(sums[rule].numbers[:3]) for sums in counters.held().values() if rule in sums)


def left(rule: str) -> int | None:
    return ratewindow.peek(rule, "ip:127.0.0.1").remaining


@is_async
def test_a_request_that_is_sent_again_is_charged_again(is_async: bool, rf: RequestFactory) -> None:
    seen: list[HttpRequest] = []
    view, request = ratelimit("login", "2/m")(plain(is_async, seen)), rf.get("/")
    assert [answer(view, request).status_code for _ in range(4)] == [200, 200, 429, 429]
    assert counted("login") == 4
    assert len(request.ratewindow.decisions) == 1  # type: ignore[attr-defined]


def test_a_request_that_is_sent_again_has_not_been_limited_yet(rf: RequestFactory) -> None:
    define("login", "1/m")
    seen: list[bool] = []
    view: Callable[..., Any] = ratelimit("login", block=False)(
        lambda request: seen.append(request.limited) or HttpResponse()  # type: ignore[func-returns-value]
    )
    request = rf.get("/")
    view(request)
    view(request)
    ratewindow.reset("login", request)
    view(request)
    assert seen == [False, True, False]


def test_leaving_a_guard_inside_does_not_end_what_the_one_outside_writes(rf: RequestFactory) -> None:
    inner = ratelimit("inner", "5/m")(plain(False))
    define("work", "7/m")

    def view(request: HttpRequest) -> HttpResponse:
        inner(request)
        ratewindow.hit("work", request)
        return HttpResponse("ok")

    response = get(ratelimit("outer", "9/m")(view))
    assert response["RateLimit"] == '"outer";r=8;t=60, "inner";r=4;t=60, "work";r=6;t=60'
    assert [counted(name) for name in ("outer", "inner", "work")] == [1, 1, 1]


def test_what_is_hit_while_the_body_is_streamed_is_counted_quiet_log() -> None:
    define("site", "9/m", prefix="/")
    define("chunks", "5/m")

    def body(request: HttpRequest) -> Iterator[str]:
        for _ in range(3):
            ratewindow.hit("chunks", request)
            request.ratewindow.charge(2)  # type: ignore[attr-defined]
            yield "more"

    response: Any = get(behind_middleware(lambda request: StreamingHttpResponse(body(request))))
    assert counted("chunks") == 0
    assert response.getvalue() == b"moremoremore"
    assert (counted("site"), counted("chunks")) == (1, 3)
    assert (left("site"), left("chunks")) == (2, 2)


@pytest.mark.parametrize("place", ["view", "middleware"])
def test_a_rule_that_code_asks_about_once_more_is_told_once(place: str) -> None:
    define("api", "10/m", **({"prefix": "/"} if place == "middleware" else {}))
    told = []

    def view(request: HttpRequest) -> HttpResponse:
        told.append(ratewindow.hit("api", request))
        told.append(ratewindow.hit("api", request, cost=4))
        told.append(request.ratewindow)  # type: ignore[attr-defined]
        return HttpResponse("ok")

    response = get(behind_middleware(view))
    first, second, whole = told
    remaining = 4 if place == "middleware" else 5
    assert response["RateLimit"] == f'"api";r={remaining};t=60'
    assert [part.rule for part in whole.decisions] == ["api"]
    assert (first.remaining, second.remaining) == (remaining + 4, remaining)
    assert counted("api") == 1


def test_a_refund_gives_back_all_that_a_rule_was_charged_by_several_hits() -> None:
    define("api", "20/m", prefix="/")

    def view(request: HttpRequest) -> HttpResponse:
        decision: Any = request.ratewindow  # type: ignore[attr-defined]
        decision.charge(2)
        ratewindow.hit("api", request, cost=4)
        ratewindow.hit("api", request, cost=5)
        decision = request.ratewindow  # type: ignore[attr-defined]
        decision.charge(1)
        assert left("api") == 7
        decision.refund(8)
        assert left("api") == 15
        decision.refund(100)
        return HttpResponse("ok")

    assert get(behind_middleware(view))["RateLimit"] == '"api";r=20;t=60'
    assert left("api") == 20


@is_async
def test_what_counts_by_the_answer_is_charged_beside_what_the_view_has_hit(is_async: bool) -> None:
    define("login", "10/m", prefix="/", count_when="2xx")

    def view(request: HttpRequest) -> HttpResponse:
        ratewindow.hit("login", request, cost=3)
        return HttpResponse("ok")

    async def aview(request: HttpRequest) -> HttpResponse:
        await ratewindow.ahit("login", request, cost=3)
        return HttpResponse("ok")

    assert get(behind_middleware(aview if is_async else view))["RateLimit"] == '"login";r=6;t=60'
    assert left("login") == 6


def test_a_request_that_a_hit_refuses_counts_nowhere_by_its_answer() -> None:
    define("login", "10/m", prefix="/", count_when="4xx")
    define("mail", "0/m")

    def view(request: HttpRequest) -> HttpResponse:
        ratewindow.hit("login", request, cost=3)
        try:
            ratewindow.hit("mail", request, raise_exception=True)
        except RateLimited as error:
            return middleware.process_exception(request, error)  # type: ignore[no-any-return]
        raise NotImplementedError

    middleware: Any = behind_middleware(view)
    assert get(middleware).status_code == 429
    assert left("login") == 7
