"""What each rule's `on_error` answers while Redis is unavailable: by every door, for single failures and by an open breaker."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.http import HttpResponse
from django.test import RequestFactory, override_settings

import ratewindow
from ratewindow.conf.news import News
from ratewindow.counting.counters import counters
from ratewindow.limiter import AsyncRedisStore, RedisStore
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Decision
from ratewindow.request import decide, without_redis
from ratewindow.rulebook import current
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rule import Rule, parse_count_when
from ratewindow.store import outage, stores
from ratewindow.store.breaker import FAILURES_TO_OPEN
from tests.support.doors import behind_middleware, decorated, plain, statuses

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@pytest.fixture
def rules() -> Iterator[Any]:
    """Puts rules in force; each is given as its name, rate and fields."""
    before = current._held.book

    def put(*made: Rule) -> None:
        current._held.book = Rulebook(made)

    yield put
    current._held.book = before


@pytest.fixture
def away() -> Iterator[None]:
    """An address where nobody listens."""
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        yield


def rule(name: str, rate: str = "3/m", on_error: str = "", **fields: Any) -> Rule:
    return Rule(name, parse_rates(rate), on_error=on_error, **{"applies_to": "all", **fields})


def open_breaker() -> None:
    for _ in range(FAILURES_TO_OPEN):
        outage.breaker.failed(ConnectionError())
    assert outage.breaker.open


def hits(name: str, count: int, **options: Any) -> list[Decision]:
    return [ratewindow.hit(name, "ip:203.0.113.9", **options) for _ in range(count)]


@is_async
@pytest.mark.parametrize("is_open", [False, True], ids=["each call fails", "breaker open"])
@pytest.mark.parametrize(
    ("on_error", "answers"), [("allow", [200] * 5), ("refuse", [503] * 5), ("local", [200, 200, 200, 429, 429]), ("", [200] * 5)]
)
def test_each_rule_answers_as_it_says(
    rules: Any, away: None, monkeypatch: pytest.MonkeyPatch, is_async: bool, is_open: bool, on_error: str, answers: list[int]
) -> None:
    rules(rule("api", on_error=on_error))
    if is_open:
        open_breaker()
    else:
        monkeypatch.setattr("ratewindow.store.breaker.FAILURES_TO_OPEN", 1000)
    assert statuses(behind_middleware(plain(is_async)), 5) == answers


@is_async
def test_a_decorated_view_follows_the_setting(away: None, is_async: bool) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ON_ERROR": "refuse"}):
        assert statuses(decorated(is_async, "view", "3/m"), 2) == [503, 503]
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ON_ERROR": "local"}):
        assert statuses(decorated(is_async, "view", "1/m"), 2) == [200, 429]


def test_a_refusal_for_the_store_says_so_and_when_to_come_back(rules: Any, away: None) -> None:
    rules(rule("api", on_error="refuse"))
    (told,) = hits("api", 1)
    assert (told.allowed, told.reason, told.outcome, told.cause) == (False, "store", "refused", "store:connection")
    assert told.retry_after == without_redis.RETRY_S
    assert len(told.id) == 5


@pytest.mark.parametrize("on_error", ["refuse", "local"])
def test_rules_that_refuse_together_have_one_code_of_the_client(rules: Any, on_error: str) -> None:
    rules(rule("login", "0/h", on_error=on_error), rule("open", on_error="allow"), rule("api", "0/h", on_error=on_error))
    question = _question("open", "login", "api")
    with time_machine.travel(1_000_000):
        alone = without_redis.unanswered(_question("login"), "hit", "store:timeout").id
        told = [without_redis.unanswered(question, "hit", "store:timeout")]
        without_redis.note_refusal(question, decide.decide(question))
        told.append(without_redis.unanswered(question, "hit", "store:timeout"))
    assert [{part.id for part in each.parts} for each in told] == [{"", alone}] * 2 and len(alone) == 5


def test_a_rule_says_otherwise_than_the_setting(rules: Any, away: None) -> None:
    rules(rule("open", on_error="allow"), rule("shut", on_error="refuse"), rule("usual"))
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ON_ERROR": "refuse"}):
        assert [hits(name, 1)[0].allowed for name in ("open", "shut", "usual")] == [True, False, False]


@is_async
def test_a_refusal_that_is_raised_is_answered_with_503_too(rules: Any, away: None, is_async: bool) -> None:
    rules(rule("work", on_error="refuse", applies_to="named"))
    middleware = behind_middleware(plain(is_async))
    with pytest.raises(ratewindow.RateLimited) as raised:
        ratewindow.hit("work", "user:1", raise_exception=True)
    response = middleware.process_exception(RequestFactory().get("/"), raised.value)
    assert (response.status_code, response["Retry-After"]) == (503, "2")


@is_async
def test_force_and_charge_pass_whatever_the_rule_says(rules: Any, away: None, is_async: bool) -> None:
    rules(rule("api", on_error="refuse"))
    told = asyncio.run(ratewindow.ahit("api", "user:1", force=True)) if is_async else hits("api", 1, force=True)[0]
    assert (told.allowed, told.forced, told.reason) == (True, True, "store")


def test_a_forced_hit_is_charged_locally(rules: Any, away: None) -> None:
    rules(rule("api", "2/m", on_error="local"))
    assert all(told.allowed for told in hits("api", 3, force=True))
    assert not hits("api", 1)[0].allowed


def test_a_peek_tells_what_a_hit_would_and_charges_nothing(rules: Any, away: None) -> None:
    rules(rule("shut", on_error="refuse"), rule("here", "2/m", on_error="local"))
    assert not ratewindow.peek("shut", "user:1").allowed
    assert [ratewindow.peek("here", "ip:203.0.113.9").remaining for _ in range(3)] == [2, 2, 2]
    hits("here", 2)
    assert not ratewindow.peek("here", "ip:203.0.113.9").allowed


def test_one_rule_that_refuses_leaves_the_others_uncharged(rules: Any, away: None) -> None:
    rules(rule("shut", on_error="refuse"), rule("here", "2/m", on_error="local"), rule("open", on_error="allow"))
    seen: list[Any] = []
    handler = behind_middleware(plain(False, seen))
    assert statuses(handler, 5) == [503] * 5
    assert not seen
    assert len(without_redis._counted) == 0
    told = decide.decide(_question("shut", "here", "open"))
    assert [(part.rule, part.outcome, part.reason) for part in told.decisions] == [
        ("shut", "refused", "store"),
        ("here", "other", ""),
        ("open", "other", ""),
    ]


def test_rules_that_count_locally_are_charged_together_or_not_at_all(rules: Any, away: None) -> None:
    rules(rule("wide", "3/m", on_error="local"), rule("narrow", "1/m", on_error="local"), rule("open", on_error="allow"))
    assert decide.decide(_question("wide", "narrow", "open")).allowed
    told = decide.decide(_question("wide", "narrow", "open"))
    assert [(part.rule, part.outcome, part.reason) for part in told.decisions] == [
        ("wide", "other", ""),
        ("narrow", "refused", "limit"),
        ("open", "other", ""),
    ]
    assert told.retry_after is not None and 0 < told.retry_after <= 61
    assert decide.decide(_question("wide")).remaining == 1  # one was charged by the first, and one now


@pytest.mark.parametrize("on_error", ["refuse", "local"])
def test_a_rule_in_shadow_refuses_nobody(rules: Any, away: None, on_error: str) -> None:
    rules(rule("tried", "1/m", on_error=on_error, mode="shadow"))
    assert statuses(behind_middleware(plain(False)), 3) == [200] * 3


def test_a_row_in_shadow_beside_a_rate_in_code_has_its_policy_for_itself(rules: Any, away: None) -> None:
    rules(rule("view", on_error="refuse", mode="shadow", applies_to="named"))
    assert statuses(decorated(False, "view", "1/m"), 2) == [200, 200]


def test_a_known_refusal_is_believed_while_redis_is_away(rules: Any) -> None:
    rules(rule("api", "1/m", on_error="allow"))
    assert [told.allowed for told in hits("api", 2)] == [True, False]
    open_breaker()
    (told,) = hits("api", 1)
    assert (told.allowed, told.reason, told.cause) == (False, "limit", "")


def test_what_was_counted_here_outlives_a_store_that_comes_and_goes(rules: Any) -> None:
    rules(rule("api", "2/m", on_error="local"))
    admitted = 0
    for _ in range(4):  # as long as the store is there, it counts for itself
        open_breaker()
        admitted += sum(told.allowed for told in hits("api", 3))
        outage.breaker.reset()
        admitted += sum(told.allowed for told in hits("api", 3))
        outage.refusals.forget()
    assert admitted == 2 + 2  # the limit, and one share


@pytest.mark.parametrize("processes", [1, 3, 4, 50])
def test_all_processes_together_admit_at_most_their_shares(rules: Any, away: None, processes: int) -> None:
    rules(rule("api", "10/m", on_error="local"))
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "LOCAL_PROCESSES": processes}):
        admitted = 0
        for _ in range(processes):
            without_redis.forget_counts()  # as each of them does
            admitted += sum(told.allowed for told in hits("api", 20))
    assert admitted == processes * max(1, 10 // processes)


def test_nothing_that_was_counted_here_is_written_to_redis_or_given_back_to_it(rules: Any, redis_client: Any) -> None:
    rules(rule("api", "3/m", on_error="local"))
    open_breaker()
    (told,) = hits("api", 1)
    outage.breaker.reset()
    assert told.remaining == 2
    assert told.refunds(1) == []
    assert redis_client.keys("rw:s:*") == []


@is_async
def test_an_error_of_our_own_is_no_failed_request_and_is_told_with_its_place(
    rules: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, is_async: bool
) -> None:
    def broken(self: Any, *arguments: Any) -> Any:
        raise IndexError("list index out of range")

    monkeypatch.setattr(AsyncRedisStore if is_async else RedisStore, "run", broken)
    monkeypatch.setattr(outage, "_news", News())
    rules(rule("api", on_error="refuse"))
    assert statuses(behind_middleware(plain(is_async)), 5) == [503] * 5
    assert not outage.breaker.open
    (record,) = caplog.records
    assert "fail (internal)" in record.getMessage() and record.exc_info
    assert counters.causes() == {"store:internal": 5}


@is_async
def test_what_counts_by_the_answer_is_charged_locally_too(rules: Any, away: None, is_async: bool) -> None:
    rules(rule("login", "2/m", on_error="local", count_when=parse_count_when("401")))
    answers = iter([200, 401, 200, 401, 200, 401])
    if is_async:

        async def aview(request: Any) -> HttpResponse:
            return HttpResponse(status=next(answers))

        handler = behind_middleware(aview)
    else:
        handler = behind_middleware(lambda request: HttpResponse(status=next(answers)))
    assert statuses(handler, 6) == [200, 401, 200, 401, 429, 429]


def test_a_store_that_fails_once_is_one_decision_without_it(rules: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rules(rule("api", on_error="refuse"))
    failing = iter([True, False])
    run = stores.store().run

    def once(checks: Any, what: Any) -> Any:
        if next(failing, False):
            raise TimeoutError
        return run(checks, what)

    monkeypatch.setattr(stores.store(), "run", once)
    assert [(told.allowed, told.cause) for told in hits("api", 2)] == [(False, "store:timeout"), (True, "")]


@pytest.mark.parametrize(
    ("policies", "said"),
    [
        ([], "requests pass uncounted"),
        (["allow"], "requests pass uncounted"),
        (["refuse"], "requests are refused with 503"),
        (["local", "allow"], "requests pass uncounted or are counted by each process for itself, as each rule says"),
    ],
)
def test_the_log_says_what_holds(rules: Any, caplog: pytest.LogCaptureFixture, policies: list[str], said: str) -> None:
    rules(*(rule(f"r{number}", on_error=each) for number, each in enumerate(policies)))
    open_breaker()
    assert f"Redis does not answer, {said} until it does" in caplog.text


def _question(*names: str) -> Any:
    from ratewindow import conf
    from ratewindow.request.prepare import ask

    book = current.rulebook()
    return ask(RequestFactory().get("/"), [replace(book.by_name[name]) for name in names], 1, conf.current())
