"""Rules by name from any code, for requests and for identities, sync and async."""

import asyncio
from typing import Any

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings
from redis.exceptions import RedisError

import ratewindow
from ratewindow import RateLimited, ratelimit
from ratewindow.models import RateRule
from ratewindow.reporting import counters
from tests.doors import behind_middleware, get

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def call(is_async: bool, name: str, *arguments: Any, **options: Any) -> Any:
    if is_async:
        return asyncio.run(getattr(ratewindow, f"a{name}")(*arguments, **options))
    return getattr(ratewindow, name)(*arguments, **options)


def define(name: str, rate: str, mode: str = "enforce", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, mode=mode, overwrite=True, **fields)[0]


@is_async
def test_an_identity_is_admitted_up_to_the_limit(is_async: bool) -> None:
    define("mail", "2/h", key="user")
    assert [call(is_async, "hit", "mail", "user:42").allowed for _ in range(3)] == [True, True, False]
    assert call(is_async, "hit", "mail", "user:43").remaining == 1


@is_async
def test_a_request_and_its_identity_are_one_client(is_async: bool) -> None:
    define("form", "2/h", key="ip")
    request = RequestFactory().get("/", REMOTE_ADDR="2001:db8::1")
    call(is_async, "hit", "form", request)
    assert call(is_async, "hit", "form", "ip:2001:db8::2").remaining == 0


def test_a_joined_key_takes_a_tuple() -> None:
    define("form", "1/h", key="ip+header:x-api-key")
    request = RequestFactory().get("/", REMOTE_ADDR="203.0.113.9", headers={"x-api-key": "one"})
    assert ratewindow.hit("form", request)
    assert not ratewindow.hit("form", ("ip:203.0.113.9", "header:x-api-key:one"))


@is_async
def test_peek_charges_nothing_and_is_not_counted(is_async: bool) -> None:
    define("mail", "2/h")
    for _ in range(5):
        assert call(is_async, "peek", "mail", "user:42").remaining == 2
    assert not counters._process.held()


@is_async
def test_refund_gives_back_and_reset_forgets(is_async: bool) -> None:
    define("mail", "2/h", penalty="2h")
    for _ in range(2):
        call(is_async, "hit", "mail", "user:42")
    call(is_async, "refund", "mail", "user:42")
    assert call(is_async, "hit", "mail", "user:42")
    assert not call(is_async, "hit", "mail", "user:42")
    assert call(is_async, "hit", "mail", "user:42").reason == "penalty"
    call(is_async, "reset", "mail", "user:42")
    assert call(is_async, "hit", "mail", "user:42").remaining == 1


@is_async
def test_force_admits_whatever_stands_against_it(is_async: bool) -> None:
    define("mail", "1/h")
    call(is_async, "hit", "mail", "user:42")
    told = call(is_async, "hit", "mail", "user:42", force=True)
    assert (told.allowed, told.forced, told.reason) == (True, True, "")


@is_async
def test_a_refusal_can_be_raised(is_async: bool) -> None:
    define("mail", "0/h")
    with pytest.raises(RateLimited) as raised:
        call(is_async, "hit", "mail", "user:42", raise_exception=True)
    assert raised.value.decision.rule == "mail"


@is_async
def test_acquire_waits_its_turn(is_async: bool) -> None:
    define("slow", "1/200ms")
    assert [call(is_async, "acquire", "slow", "user:42", timeout="5s").allowed for _ in range(3)] == [True] * 3


@is_async
def test_acquire_does_not_wait_for_a_turn_that_comes_too_late(is_async: bool) -> None:
    define("slow", "1/h")
    call(is_async, "acquire", "slow", "user:42", timeout="1s")
    assert not call(is_async, "acquire", "slow", "user:42", timeout="1s")


def test_a_rate_that_code_gives_is_a_rule_by_name_too() -> None:
    @ratelimit("only.in.code", "1/h", key="user")
    def view(request: HttpRequest) -> HttpResponse:
        raise NotImplementedError

    assert [ratewindow.hit("only.in.code", "user:42").allowed for _ in range(2)] == [True, False]


@pytest.mark.parametrize("mode", ["off", "shadow"])
def test_off_and_shadow_refuse_nobody(mode: str) -> None:
    define("mail", "0/h", mode)
    assert ratewindow.hit("mail", "user:42")
    assert ratewindow.hit("nobody.defined.this", "user:42")


def test_a_hit_inside_a_view_shows_in_its_headers_and_is_counted_once() -> None:
    define("site", "10/h", applies_to="all")
    define("work", "3/h")

    def view(request: HttpRequest) -> HttpResponse:
        ratewindow.hit("work", request)
        return HttpResponse("ok")

    response = get(behind_middleware(view))
    assert response.headers["X-RateLimit-Limit"] == "3"
    assert {rule for sums in counters._process.held().values() for rule in sums} == {"site", "work"}


@pytest.mark.parametrize("who", ["42", "", "user:", ("user:1", "")])
def test_an_identity_without_its_kind_is_named(who: Any) -> None:
    define("mail", "1/h")
    with pytest.raises(ValueError, match="is no identity: write its kind and value"):
        ratewindow.hit("mail", who)


def test_an_address_that_is_none_is_named() -> None:
    define("mail", "1/h")
    with pytest.raises(ValueError, match=r"'1\.2\.3' is no address"):
        ratewindow.hit("mail", "ip:1.2.3")


@is_async
def test_while_redis_is_away_a_refund_is_let_go_and_a_reset_says_so(is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    define("mail", "1/h")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        call(is_async, "refund", "mail", "user:42")
        assert "a refund could not be made" in caplog.text
        with pytest.raises(RedisError):
            call(is_async, "reset", "mail", "user:42")


def test_a_cost_beyond_the_bound_is_the_bound() -> None:
    define("mail", "5/h", cost=1_000_000)
    told = ratewindow.hit("mail", "user:42", cost=1_000_000)
    assert told.reason == "cost"
    assert told.check is not None
    assert told.check.cost == 1_000_000
