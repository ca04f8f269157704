"""`throttled`: who listens hears of each refused request, once, and troubles nobody."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, RequestFactory

import ratewindow
from ratewindow import RateLimited, ratelimit
from ratewindow.middleware import RateWindowMiddleware
from ratewindow.models import RateRule
from ratewindow.signals import throttled
from tests.support.doors import behind_middleware, decorated, get, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@pytest.fixture
def heard() -> Iterator[list[tuple[Any, Any, Any]]]:
    """Sender, request and decision of each signal."""
    told: list[tuple[Any, Any, Any]] = []

    def listen(sender: Any, request: Any, decision: Any, **_: Any) -> None:
        told.append((sender, request, decision))

    throttled.connect(listen)
    yield told
    throttled.disconnect(listen)


@is_async
def test_each_refused_request_is_told_with_its_decision(is_async: bool, heard: list[Any]) -> None:
    seen: list[HttpRequest] = []
    view = decorated(is_async, "login", "1/m", seen=seen)
    answers = [get(view) for _ in range(3)]
    assert [sender for sender, _, _ in heard] == [RateRule, RateRule]
    (_, request, decision) = heard[0]
    assert (request.path, decision.allowed, decision.rule, decision.reason) == ("/", False, "login", "limit")
    assert decision.id == request.ratewindow.id and request.ratewindow.decisions == (decision,)
    assert len(decision.id) == 5
    assert answers[1].status_code == 429


@is_async
def test_through_two_doors_it_is_told_once(is_async: bool, heard: list[Any]) -> None:
    RateRule.objects.define("site", "1/m", prefix="/", mode="enforce")
    assert statuses(behind_middleware(decorated(is_async, "login", "1/m")), 2) == [200, 429]
    assert len(heard) == 1
    RateRule.objects.all().delete()
    assert statuses(behind_middleware(decorated(is_async, "other", "1/m")), 2) == [200, 429]
    assert [decision.rule for _, _, decision in heard] == ["site", "other"]


@is_async
def test_a_refusal_that_the_view_decides_about_is_told_too_and_a_shadow_is_not(is_async: bool, heard: list[Any]) -> None:
    RateRule.objects.define("trial", "1/m", prefix="/")
    assert statuses(behind_middleware(decorated(is_async, "login", "2/m", block=False)), 3) == [200] * 3
    assert [decision.rule for _, _, decision in heard] == ["login"]


def test_hit_tells_of_a_request_and_not_of_a_peek_or_an_identity(heard: list[Any]) -> None:
    RateRule.objects.define("mail", "1/m", mode="enforce")
    request = RequestFactory().get("/")
    for _ in range(2):
        ratewindow.peek("mail", request)
        ratewindow.hit("mail", request)
        ratewindow.hit("mail", "user:42")
    assert [(told, decision.rule) for _, told, decision in heard] == [(request, "mail")]


async def test_so_does_ahit(heard: list[Any]) -> None:
    request = RequestFactory().get("/")
    ratelimit("mail", "1/m")(plain(True))
    for _ in range(2):
        await ratewindow.ahit("mail", request)
    assert [(told, decision.rule) for _, told, decision in heard] == [(request, "mail")]


@pytest.mark.parametrize("by_request", [True, False], ids=["request", "identity"])
def test_an_exception_is_told_once_whoever_was_hit(by_request: bool, heard: list[Any]) -> None:
    RateRule.objects.define("mail", "0/m", mode="enforce")

    def view(request: HttpRequest) -> Any:
        try:
            ratewindow.hit("mail", request if by_request else "user:42", raise_exception=True)
        except RateLimited as error:
            return RateWindowMiddleware(plain(False)).process_exception(request, error)

    assert get(behind_middleware(view)).status_code == 429
    assert [decision.rule for _, _, decision in heard] == ["mail"]


@is_async
def test_a_listener_that_raises_is_logged_and_the_client_gets_its_answer(
    is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(**_: Any) -> None:
        raise ZeroDivisionError

    throttled.connect(broken)
    try:
        assert statuses(decorated(is_async, "login", "1/m"), 2) == [200, 429]
    finally:
        throttled.disconnect(broken)
    assert "ZeroDivisionError" in caplog.text


async def test_async_listeners_are_awaited_under_asgi() -> None:
    heard: list[str] = []

    async def listen(request: HttpRequest, **_: Any) -> None:
        heard.append(request.path)

    throttled.connect(listen)
    try:
        client = AsyncClient()
        told = [(await client.get("/limited/")).status_code for _ in range(6)]
    finally:
        throttled.disconnect(listen)
    assert told == [200] * 5 + [429]
    assert heard == ["/limited/"]


def test_the_log_has_the_code_of_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "ratewindow.refusals"):
        told = [Client().get("/limited/", headers={"accept": "application/json"}) for _ in range(6)][-1]
    (line,) = [record.getMessage() for record in caplog.records if record.name == "ratewindow.refusals"]
    assert line == f"refused {told.json()['code']} by rule demo.limited: limit"
    assert isinstance(told, HttpResponse)
