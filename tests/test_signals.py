"""`throttled`: who listens hears of each refused request, once, and troubles nobody."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, RequestFactory, override_settings

import ratewindow
from ratewindow import Decision, RateLimited, ratelimit
from ratewindow.middleware import RateWindowMiddleware
from ratewindow.models import Override, RateRule
from ratewindow.operations import cleaning
from ratewindow.request import told_once
from ratewindow.signals import throttled
from ratewindow.testing import Rule, override_rules
from tests.support.crowd import admitted_by_eight_processes
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


FIRST_PROGRAM = """
import django, sys
from django.conf import settings
settings.RATEWINDOW["TIMEOUT"] = "10s"
django.setup()
from django.test import RequestFactory
from ratewindow import ratelimit
from ratewindow.signals import throttled
from ratewindow.testing import Rule, override_rules
from tests.support.crowd import admitted_by_eight_processes
from tests.support.doors import plain
heard = []
def listen(first, **_):
    heard.append(first)
throttled.connect(listen)
view = ratelimit("login", "1/h")(plain(False))
print("ready", flush=True)
sys.stdin.readline()
for _ in range(126):
    view(RequestFactory().get("/"))
print(sum(heard), len(heard))
"""


def test_of_a_thousand_refusals_in_eight_processes_one_is_the_first(program_environment: dict[str, str]) -> None:
    assert admitted_by_eight_processes(program_environment, FIRST_PROGRAM) == (1, 8 * 126 - 1)


@pytest.fixture
def firsts() -> Iterator[list[tuple[str, str, bool]]]:
    """Rule, reason, and whether it was the first, of each signal."""
    told: list[tuple[str, str, bool]] = []

    def listen(decision: Any, first: bool, **_: Any) -> None:
        told.append((decision.rule, decision.reason, first))

    throttled.connect(listen)
    yield told
    throttled.disconnect(listen)


@is_async
def test_the_first_refusal_of_each_client_and_rule_is_told_apart(is_async: bool, firsts: list[Any]) -> None:
    view, other = decorated(is_async, "login", "1/m"), decorated(is_async, "other", "0/m")
    for address in ("192.0.2.1", "192.0.2.2"):
        statuses(view, 4, REMOTE_ADDR=address)
        statuses(other, 2, REMOTE_ADDR=address)
    assert (
        firsts
        == [
            ("login", "limit", True),
            ("login", "limit", False),
            ("login", "limit", False),
            ("other", "limit", True),
            ("other", "limit", False),
        ]
        * 2
    )


@pytest.mark.parametrize(
    "options",
    [
        {"algorithm": "sliding_log"},
        {"algorithm": "sliding_window"},
        {"algorithm": "sliding_estimate"},
        {"algorithm": "fixed_window"},
        {"algorithm": "fixed_window", "aligned_to": "minute"},
        {"algorithm": "token_bucket", "burst": 3},
        {"algorithm": "leaky_bucket"},
    ],
    ids=str,
)
def test_by_every_algorithm_one_is_the_first_in_a_period(options: dict[str, Any], firsts: list[Any]) -> None:
    with override_rules(Rule("login", "1/m", prefix="/", **options)) as rules:
        handler = behind_middleware(plain(False))
        for _ in range(3):
            statuses(handler, 6)
            assert [first for _, _, first in firsts] == [True] + [False] * (len(firsts) - 1)
            firsts.clear()
            rules.travel("3m")


@pytest.mark.parametrize("algorithm", ["sliding_window", "sliding_log", "token_bucket", "leaky_bucket"])
def test_whoever_goes_on_trying_is_told_of_once_and_anew_after_a_period_without_a_refusal(
    algorithm: str, firsts: list[Any]
) -> None:
    with override_rules(Rule("login", "5/m", algorithm=algorithm)) as rules:
        for _ in range(360):  # an hour
            ratewindow.hit("login", RequestFactory().get("/"))
            rules.travel("10s" if algorithm != "leaky_bucket" else "5s")
        assert [first for _, _, first in firsts].count(True) == 1
        assert len(firsts) > 50
        rules.travel("2m")
        for _ in range(7):
            ratewindow.hit("login", RequestFactory().get("/"))
        assert [first for _, _, first in firsts].count(True) == 2


def test_the_longest_period_of_all_is_told_of_too(firsts: list[Any]) -> None:
    with override_rules(Rule("login", "0/52124995d")):
        assert not ratewindow.hit("login", RequestFactory().get("/"))
    assert [first for _, _, first in firsts] == [True]


def test_a_penalty_is_told_of_once_until_it_ends(firsts: list[Any]) -> None:
    with override_rules(Rule("login", "1/m", prefix="/", penalty="1h")) as rules:
        handler = behind_middleware(plain(False))
        for _ in range(5):
            statuses(handler, 2)
            rules.travel("10m")
        assert [first for _, _, first in firsts].count(True) == 1
        rules.travel("1h")
        statuses(handler, 3)
    assert [first for _, _, first in firsts].count(True) == 2


def test_a_penalty_that_is_shorter_than_the_window_tells_once_in_a_window(firsts: list[Any]) -> None:
    with override_rules(Rule("login", "1/h", prefix="/", penalty="1m")) as rules:
        handler = behind_middleware(plain(False))
        for _ in range(5):
            statuses(handler, 2)
            rules.travel("2m")
    assert [first for _, _, first in firsts].count(True) == 1


@pytest.mark.parametrize("rule", ["", "login"])
def test_a_block_is_told_of_once_a_day(rule: str, firsts: list[Any], redis_client: Any) -> None:
    RateRule.objects.define("login", "5/m", prefix="/", mode="enforce")
    Override.objects.create(action="block", rule=rule, identity="ip:127.0.0.1")
    handler = behind_middleware(plain(False))
    assert statuses(handler, 3) == [403, 403, 403] or statuses(handler, 3) == [429] * 3
    assert [(reason, first) for _, reason, first in firsts[:3]] == [("block", True), ("block", False), ("block", False)]
    (key,) = redis_client.keys("rw:s:*")
    assert 86_000_000 < redis_client.pttl(key) <= 86_400_000
    cleaning.clean_orphans()
    assert redis_client.keys("rw:s:*") == [key]


def test_a_block_under_no_rule_is_kept_by_cleaning(firsts: list[Any], redis_client: Any) -> None:
    Override.objects.create(action="block", identity="ip:127.0.0.1")
    statuses(behind_middleware(plain(False)), 2)
    assert firsts == [("blocks", "block", True), ("blocks", "block", False)]
    cleaning.clean_orphans()
    assert len(redis_client.keys("rw:s:*")) == 1


def test_a_missing_key_and_a_cost_above_the_limit_are_told_once(firsts: list[Any]) -> None:
    RateRule.objects.define("key", "5/m", path="/key/", key="header:x-api-key", on_missing="refuse", mode="enforce")
    RateRule.objects.define("cost", "5/m", path="/cost/", cost=6, mode="enforce")
    handler = behind_middleware(plain(False))
    statuses(handler, 2, "/key/")
    statuses(handler, 2, "/cost/")
    assert firsts == [("key", "missing", True), ("key", "missing", False), ("cost", "cost", True), ("cost", "cost", False)]


@override_settings(RATEWINDOW={"REDIS": "redis://localhost:1/0"})
@pytest.mark.parametrize(("on_error", "reason"), [("refuse", "store"), ("local", "limit")])
@is_async
def test_without_redis_each_process_tells_its_own_first(is_async: bool, on_error: str, reason: str, firsts: list[Any]) -> None:
    RateRule.objects.define("login", "1/m", prefix="/", mode="enforce", on_error=on_error)
    statuses(behind_middleware(plain(is_async)), 8)
    assert {(rule, why) for rule, why, _ in firsts} == {("login", reason)}
    assert [first for _, _, first in firsts] == [True] + [False] * (len(firsts) - 1)
    assert len(firsts) > 5


def test_a_decision_of_the_sites_own_is_told_too(firsts: list[Any]) -> None:
    def view(request: HttpRequest) -> Any:
        return RateWindowMiddleware(plain(False)).process_exception(request, RateLimited(Decision(allowed=False)))

    assert statuses(behind_middleware(view), 2) == [429, 429]
    assert [first for _, _, first in firsts] == [True, False]


def test_without_listeners_nothing_is_asked(redis_client: Any) -> None:
    statuses(decorated(False, "login", "1/m"), 3)
    assert len(redis_client.keys("rw:s:*")) == 1


def test_a_refusal_that_is_known_to_be_told_costs_no_call(firsts: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    view = decorated(False, "login", "1/m")
    statuses(view, 2)
    learned: list[Any] = []
    monkeypatch.setattr(told_once, "_learned", lambda *claim: learned.append(claim))
    statuses(view, 20)
    assert learned == [] and len(firsts) == 21


def test_the_log_has_the_code_of_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "ratewindow.refusals"):
        told = [Client().get("/limited/", headers={"accept": "application/json"}) for _ in range(6)][-1]
    (line,) = [record.getMessage() for record in caplog.records if record.name == "ratewindow.refusals"]
    assert line == f"refused {told.json()['code']} by rule demo.limited: limit"
    assert isinstance(told, HttpResponse)
