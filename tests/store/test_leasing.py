"""Rules with a lease, through the doors: fewer calls, and the bound that is stated, under threads and processes."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError
from django.test import AsyncRequestFactory, RequestFactory, override_settings

from ratewindow.limiter.redis.thread_deadline import running
from ratewindow.limiter.reply import Reply, parse
from ratewindow.models import RateRule
from ratewindow.store import leasing, outage, stores
from ratewindow.testing import Rule, override_rules
from tests.support.crowd import admitted_by_eight_processes
from tests.support.doors import behind_middleware, plain

pytestmark = pytest.mark.django_db(transaction=True)

LEASE = 20


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> Any:
    """However slow the machine: nothing times out, and no lease ends before the test does."""
    monkeypatch.setattr(leasing.leases, "_clock_ms", lambda: 1_000_000)
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "TIMEOUT": "5s"}):
        yield


def define(rate: str = "100000/h", **fields: Any) -> None:
    RateRule.objects.define("hot", rate, applies_to="all", key="global", mode="enforce", lease=LEASE, **fields)


def calls(redis_client: Any) -> int:
    told = redis_client.info("commandstats")
    return sum(each["calls"] for name, each in told.items() if name.lower() in ("cmdstat_evalsha", "cmdstat_eval"))


def test_a_hot_rule_asks_the_server_now_and_then(redis_client: Any) -> None:
    define()
    view = behind_middleware(plain(False))
    before = calls(redis_client)
    assert {view(RequestFactory().get("/")).status_code for _ in range(400)} == {200}
    assert calls(redis_client) - before < 60  # 400 one by one


def test_headers_count_down_with_what_this_process_spends() -> None:
    define("1000/h")
    view = behind_middleware(plain(False))
    told = [int(view(RequestFactory().get("/"))["X-RateLimit-Remaining"]) for _ in range(50)]
    assert told == list(range(999, 949, -1))


async def test_the_limit_holds_under_asyncio_tasks() -> None:
    await asyncio.to_thread(define, "100/h")
    view = behind_middleware(plain(True))
    answers = await asyncio.gather(*(view(AsyncRequestFactory().get("/")) for _ in range(300)))
    admitted = sum(each.status_code == 200 for each in answers)
    assert 100 - (LEASE - 1) <= admitted <= 100  # one process, and no unit came back: lost leases at most


def test_the_limit_holds_under_threads() -> None:
    define("100/h")
    view = behind_middleware(plain(False))
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: view(RequestFactory().get("/")).status_code, range(300)))
    # Of leases that threads take at the same moment, all but one may be lost; but nobody is refused while Redis has units.
    assert 0 < statuses.count(200) <= 100
    leasing.forget()
    outage.refusals.forget()
    assert view(RequestFactory().get("/")).status_code == 429


def test_a_refused_client_is_told_the_wait_of_one_request() -> None:
    define("10/h")
    view = behind_middleware(plain(False))
    answers = [view(RequestFactory().get("/")) for _ in range(12)]
    assert [each.status_code for each in answers] == [200] * 10 + [429] * 2
    assert 3400 < int(answers[-1]["Retry-After"]) <= 3661


def test_a_store_that_fails_gets_its_units_back(monkeypatch: pytest.MonkeyPatch) -> None:
    define()
    view = behind_middleware(plain(False))
    for _ in range(20):
        view(RequestFactory().get("/"))
    held = sum(pocket.units for pocket in leasing.leases._held.values())
    RateRule.objects.define("other", "5/h", applies_to="all", mode="enforce")

    def fail(*_: Any) -> Any:
        raise ConnectionError("gone")

    monkeypatch.setattr(stores.store(), "run", fail)
    assert view(RequestFactory().get("/")).status_code == 200  # as ON_ERROR says
    assert sum(pocket.units for pocket in leasing.leases._held.values()) == held


def test_the_second_call_has_what_the_first_has_left_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    define("100/h")
    view = behind_middleware(plain(False))
    limits: list[float] = []
    store = stores.store()
    run = store.run

    def watched(checks: Any, what: Any) -> Reply:
        limits.append(running.until_s)
        if len(checks) == 1 and checks[0].cost > 1:
            return parse(checks, [0, 1000, 1000, 0])  # as if somebody else had taken nearly all meanwhile
        return run(checks, what)

    monkeypatch.setattr(store, "run", watched)
    for _ in range(2):
        assert view(RequestFactory().get("/")).status_code == 200
    assert [bool(limit) for limit in limits] == [False, False, True]


def test_a_child_does_not_spend_what_its_parent_holds() -> None:
    define()
    view = behind_middleware(plain(False))
    for _ in range(20):
        view(RequestFactory().get("/"))
    assert leasing.leases._held
    child = os.fork()
    if not child:
        os._exit(len(leasing.leases._held))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@override_rules(Rule("hot", "5/m"))
def test_rules_of_a_test_count_exactly() -> None:
    from ratewindow import hit

    assert [bool(hit("hot", "user:1")) for _ in range(6)] == [True] * 5 + [False]


@pytest.mark.parametrize(
    "fields, told",
    [
        ({"penalty": "15m"}, "cannot be combined with a penalty"),
        ({"count_refused": True}, "cannot be combined with counting refused requests"),
        ({"count_when": "401"}, "cannot be combined with a condition for counting"),
    ],
)
def test_what_must_know_each_request_takes_no_lease(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        RateRule(name="hot", lease=LEASE, **fields).full_clean()
    with pytest.raises(ValueError, match=told):
        define(**fields)


PROGRAM = """
import django, sys
from django.conf import settings
settings.RATEWINDOW["TIMEOUT"] = "5s"
django.setup()
from django.test import RequestFactory
from ratewindow.request import decide, prepare
from ratewindow.limiter.rates import parse_rates
from ratewindow.rules.rule import Rule
rule = Rule("hot", parse_rates("400/h"), key="global", lease=20)
print("ready", flush=True)
sys.stdin.readline()
told = [decide.decide(prepare.ask_about("global", rule, 1)) for _ in range(200)]
print(sum(each.allowed for each in told), sum(each.reason == "store" for each in told))
"""


@pytest.mark.slow
def test_eight_processes_admit_the_limit_but_for_what_they_may_hold(program_environment: dict[str, str]) -> None:
    admitted, without_store = admitted_by_eight_processes(program_environment, PROGRAM)
    assert without_store == 0
    assert 400 - 8 * (LEASE - 1) <= admitted <= 400
