"""What holds while Redis is unavailable, and what is told of it."""

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from django.conf import settings
from django.test import override_settings

from ratewindow.limiter import AsyncRedisStore, RedisStore, Window
from ratewindow.limiter.types import Check, Decision
from ratewindow.request import decide
from ratewindow.request.prepare import Question
from ratewindow.rules.rule import Rule
from ratewindow.store import outage, stores
from ratewindow.store.breaker import FAILURES_TO_OPEN, Breaker
from tests.support.doors import decorated, get, statuses

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@pytest.fixture
def no_redis() -> Iterator[None]:
    """An address where nobody listens."""
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        yield


@pytest.fixture
def silent_redis() -> Iterator[None]:
    """A server that accepts, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": url, "TIMEOUT": "20ms"}):
            yield


@is_async
@pytest.mark.usefixtures("no_redis")
def test_without_redis_requests_pass_and_one_log_line_says_so(is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    view = decorated(is_async, "away", "1/m")
    assert statuses(view, 10) == [200] * 10
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "Redis does not answer, requests pass uncounted until it does: ConnectionError" in caplog.text


@is_async
@pytest.mark.usefixtures("silent_redis")
def test_once_the_breaker_is_open_no_request_touches_a_socket(
    is_async: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []
    store = AsyncRedisStore if is_async else RedisStore
    run: Any = store.run

    def counting(self: Any, checks: list[Any], *arguments: Any, **options: Any) -> Any:
        asked.append(checks[0].rule)
        return run(self, checks, *arguments, **options)

    monkeypatch.setattr(store, "run", counting)
    view = decorated(is_async, "silent", "1/m")
    assert statuses(view, 10) == [200] * 10
    assert asked.count("silent") == FAILURES_TO_OPEN
    assert len(caplog.records) == 1


@pytest.mark.usefixtures("no_redis")
def test_a_decision_made_without_redis_says_so() -> None:
    seen: list[Any] = []
    view = decorated(False, "away", "1/m", seen=seen)
    response = get(view)
    decision = seen[0].ratewindow
    assert (decision.allowed, decision.reason, decision.remaining) == (True, "store", None)
    assert not [name for name in response.headers if "limit" in name.lower()]


def test_when_redis_is_back_requests_are_counted_again(no_redis: None, caplog: pytest.LogCaptureFixture, redis_url: str) -> None:
    view = decorated(False, "back", "1/m")
    statuses(view, FAILURES_TO_OPEN)
    assert outage.breaker.open
    outage.breaker.look()
    assert outage.breaker.open
    stores.held.of_threads = RedisStore(redis.Redis.from_url(redis_url))
    outage.breaker.look()
    assert not outage.breaker.open
    assert statuses(view, 2) == [200, 429]
    assert "Redis answers again after" in caplog.text


def test_a_wrong_type_under_one_key_concerns_that_client_alone(redis_client: Any, caplog: pytest.LogCaptureFixture) -> None:
    view = decorated(False, "wrong.type", "1/m")
    assert get(view, REMOTE_ADDR="203.0.113.1").status_code == 200
    (key,) = redis_client.keys("rw:s:*")
    redis_client.delete(key)
    redis_client.lpush(key, "not ours")
    assert [get(view, REMOTE_ADDR="203.0.113.1").status_code for _ in range(5)] == [200] * 5
    assert [get(view, REMOTE_ADDR="203.0.113.2").status_code for _ in range(2)] == [200, 429]
    assert not outage.breaker.open
    assert caplog.text.count("fail (wrongtype)") == 1


def test_a_request_that_meets_too_many_limits_is_answered_as_on_error_says(caplog: pytest.LogCaptureFixture) -> None:
    """They would hold up the server for everybody, and one decision cannot be taken in parts."""
    rules = [f"rule{number}" for number in range(11)]
    windows = tuple(Window(5, 1000 + number) for number in range(10))
    checks = [Check(rule, windows, tuple(f"rw:{rule}:{number}:{{c}}" for number in range(10))) for rule in rules]
    decisions = [decide.decide(Question(checks, [], [Rule(rule, windows) for rule in rules])) for _ in range(5)]
    assert [each.allowed for each in decisions] == [True] * 5
    assert decisions[0].decisions[0].cause == "store:toomany"
    assert not outage.breaker.open
    assert caplog.text.count("one decision has 110 limits, of at most 50, of rule0, rule1, rule10") == 1
    assert "let a request match fewer rules, or give these fewer limits or buckets" in caplog.text


DOORS: dict[str, Callable[[Question], Decision]] = {
    "thread": decide.decide,
    "loop": lambda question: asyncio.run(decide.adecide(question)),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_rules_in_shadow_are_left_out_before_they_lift_those_that_are_enforced(door: Callable[[Question], Decision]) -> None:
    shadow = [Check(f"shadow{number}", (Window(5, 1000),), (f"rw:s{number}:{{c}}",), enforce=False) for number in range(50)]
    checks = [*shadow, Check("enforced", (Window(2, 60_000),), ("rw:enforced:{c}",))]
    question = Question(checks, [], [Rule(check.rule, check.windows) for check in checks])
    decided = [door(question) for _ in range(3)]
    assert [each.allowed for each in decided] == [True, True, False]
    assert [each.rule for each in decided[0].decisions] == ["enforced"]


def test_one_failure_is_a_hiccup_and_several_in_a_row_open_the_breaker(caplog: pytest.LogCaptureFixture) -> None:
    healthy = False

    def probe() -> None:
        if not healthy:
            raise ConnectionError

    breaker = Breaker(probe, lambda: "requests pass uncounted")
    with caplog.at_level(logging.WARNING, "ratewindow"):
        for _ in range(5):
            breaker.failed(TimeoutError())
            breaker.succeeded()
        assert not breaker.open
        for _ in range(FAILURES_TO_OPEN):
            breaker.failed(TimeoutError())
        assert breaker.open
        breaker.look()
        assert breaker.open
        healthy = True
        breaker.look()
        assert not breaker.open
        breaker.succeeded()
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
