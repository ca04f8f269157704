"""One request waits for a silent Redis once, however many questions it has. The causes are asserted: what is sent."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

import ratewindow
from ratewindow import ratelimit
from ratewindow.counting.counters import counters
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Decision, RuleDecision
from ratewindow.request import prepare
from ratewindow.rulebook import current
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rule import Rule, parse_count_when
from ratewindow.store import outage
from tests.faults.proxy import Proxy
from tests.faults.site import site_on
from tests.support.doors import answer, behind_middleware

TIMEOUT = "100ms"
is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])

Acts = list[tuple[str, tuple[Any, ...]]]


def doing(is_async: bool, acts: Acts, before: Callable[[], object] = lambda: None) -> Callable[..., Any]:
    """A view that hits rules by name, and charges and refunds its request."""

    def of(request: HttpRequest, word: str) -> Any:
        where = request.ratewindow if word.endswith(("charge", "refund")) else ratewindow  # type: ignore[attr-defined]
        return getattr(where, f"a{word}" if is_async else word)

    if is_async:

        async def aview(request: HttpRequest) -> HttpResponse:
            before()
            for word, arguments in acts:
                await of(request, word)(*(request if each is HttpRequest else each for each in arguments))
            return HttpResponse("ok", status=404)

        return aview

    def view(request: HttpRequest) -> HttpResponse:
        before()
        for word, arguments in acts:
            of(request, word)(*(request if each is HttpRequest else each for each in arguments))
        return HttpResponse("ok", status=404)

    return view


def twice_decorated(is_async: bool) -> Callable[..., Any]:
    return ratelimit("one", "10/h")(ratelimit("two", "10/h", key="global")(doing(is_async, [])))


def with_a_row(is_async: bool) -> Callable[..., Any]:
    current._held.book = Rulebook([Rule("row", parse_rates("10/h"), applies_to="all")])
    return behind_middleware(ratelimit("one", "10/h")(doing(is_async, [])))


def hit_and_charged(is_async: bool) -> Callable[..., Any]:
    current._held.book = Rulebook([Rule("row", parse_rates("10/h"))])
    acts: Acts = [*[("hit", ("row", HttpRequest))] * 3, ("charge", (2,)), ("peek", ("row", HttpRequest)), ("refund", (1,))]
    return ratelimit("one", "10/h")(doing(is_async, acts))


def counted_by_the_answer(is_async: bool) -> Callable[..., Any]:
    count_when = parse_count_when("404")
    current._held.book = Rulebook([Rule("row", parse_rates("10/h"), applies_to="all", count_when=count_when)])
    return behind_middleware(doing(is_async, []))


def request() -> HttpRequest:
    made = RequestFactory().get("/")
    made.user = AnonymousUser()
    return made


@is_async
@pytest.mark.parametrize("made", [twice_decorated, with_a_row, hit_and_charged, counted_by_the_answer])
def test_what_a_silent_redis_is_asked_about_one_request_is_one_question(
    proxy: Proxy, is_async: bool, made: Callable[[bool], Callable[..., Any]]
) -> None:
    with site_on(f"redis://127.0.0.1:{proxy.port}/0", TIMEOUT):
        view = made(is_async)
        with proxy.black_hole():
            before = proxy.calls
            asked = request()
            assert answer(view, asked).status_code == 404
            assert proxy.calls == before + 1
        told: Decision = asked.ratewindow  # type: ignore[attr-defined]
        assert {part.cause for part in told.decisions} == {"store:timeout"}
        assert counters.causes() == {"store:timeout": len(told.decisions)}
        assert not outage.breaker.open


@is_async
@pytest.mark.parametrize("first", ["charge", "refund"])
def test_so_it_is_where_redis_falls_silent_in_the_middle(proxy: Proxy, is_async: bool, first: str) -> None:
    with site_on(f"redis://127.0.0.1:{proxy.port}/0", TIMEOUT):
        hole = proxy.black_hole()
        acts: Acts = [(first, (1,)), ("refund", (1,)), ("charge", (1,)), ("hit", ("two", HttpRequest))]
        current._held.book = Rulebook([Rule("two", parse_rates("10/h"))])
        calls: list[int] = []

        def begin() -> None:
            hole.__enter__()
            calls.append(proxy.calls)

        try:
            answer(ratelimit("one", "10/h", cost=3)(doing(is_async, acts, begin)), request())
            assert proxy.calls == calls[0] + 1
        finally:
            hole.__exit__(None, None, None)


@is_async
def test_an_error_that_comes_at_once_keeps_no_other_rule_from_being_counted(
    proxy: Proxy, is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "LONG", 1.0)  # a machine may be busy for that long
    with site_on(f"redis://127.0.0.1:{proxy.port}/0", "5s"):
        view, hole = twice_decorated(is_async), proxy.answers(b"-OOM command not allowed\r\n")
        asked = request()
        with hole:
            before = proxy.calls
            answer(view, asked)
            assert proxy.calls == before + 2


def test_a_fault_of_one_client_keeps_nobody_from_asking() -> None:
    for cause in ("store:wrongtype", "store:script", "store:internal"):
        assert prepare.waited(RuleDecision(rule="one", reason="store", cause=cause, took_s=60.0)) == ""
    assert prepare.waited(RuleDecision(rule="one", reason="store", cause="store:timeout", took_s=60.0)) == "store:timeout"
    assert prepare.waited(RuleDecision(rule="one", took_s=60.0)) == ""


@is_async
def test_refunds_that_wait_in_vain_open_the_breaker_like_decisions(proxy: Proxy, is_async: bool) -> None:
    with site_on(f"redis://127.0.0.1:{proxy.port}/0", TIMEOUT):
        current._held.book = Rulebook([Rule("row", parse_rates("10/h"))])
        ratewindow.hit("row", "user:1")
        with proxy.black_hole():
            for _ in range(3):
                if is_async:
                    asyncio.run(ratewindow.arefund("row", "user:1"))
                else:
                    ratewindow.refund("row", "user:1")
            assert outage.breaker.open
