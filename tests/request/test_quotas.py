"""`quota_reached`: at 75, 90 and 100 % of a quota, once over all processes."""

import asyncio
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings

import ratewindow
from ratewindow.limiter.reply import decision
from ratewindow.models import Override, RateRule
from ratewindow.operations import cleaning
from ratewindow.request import decide, told_once
from ratewindow.signals import quota_reached
from ratewindow.testing import Rule, override_rules
from tests.support.crowd import admitted_by_eight_processes
from tests.support.doors import behind_middleware, decorated, get, plain, statuses
from tests.support.rest_views import throttled

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
MONTHLY: dict[str, Any] = {"algorithm": "fixed_window", "aligned_to": "month"}


@pytest.fixture
def heard() -> Iterator[list[dict[str, Any]]]:
    """What each signal says."""
    told: list[dict[str, Any]] = []

    def listen(sender: Any, signal: Any, **said: Any) -> None:
        assert sender is RateRule
        told.append(said)

    quota_reached.connect(listen)
    yield told
    quota_reached.disconnect(listen)


def define(name: str = "quota", rate: str = "20/30d", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, overwrite=True, **{"mode": "enforce", **MONTHLY, **fields})[0]


def percents(heard: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(said["percent"], said["used"]) for said in heard]


@is_async
def test_each_threshold_is_told_when_it_is_reached(is_async: bool, heard: list[Any]) -> None:
    define(path="/x/")
    assert statuses(behind_middleware(plain(is_async)), 22, "/x/") == [200] * 20 + [429] * 2
    assert percents(heard) == [(75, 15), (90, 18), (100, 20)]
    now = datetime.now(UTC)
    first_of_next = (now.replace(day=28, hour=0, minute=0, second=0, microsecond=0) + timedelta(days=4)).replace(day=1)
    expected = {"rule": "quota", "identity": "ip:127.0.0.1", "limit": 20, "window": "20/month", "ends_at": first_of_next}
    assert all(expected.items() <= said.items() for said in heard)


@is_async
def test_a_soft_quota_is_told_of_too_whatever_its_window(is_async: bool, heard: list[Any]) -> None:
    view = decorated(is_async, "quota", "4/h; 10/d", algorithm="fixed_window", soft=True)
    assert statuses(view, 12) == [200] * 12
    assert [(said["window"], *told) for said, told in zip(heard, percents(heard), strict=True)] == [
        ("4/h", 75, 3),
        ("4/h", 90, 4),
        ("4/h", 100, 4),
        ("10/d", 75, 8),
        ("10/d", 90, 9),
        ("10/d", 100, 10),
    ]


def test_what_is_no_quota_is_not_told_of(heard: list[Any]) -> None:
    define("day", "3/d", path="/x/", aligned_to="day")
    define("sliding", "3/30d", path="/x/", algorithm="sliding_window", aligned_to="")
    define("shadow", "3/30d", path="/x/", mode="shadow", soft=True)
    define("none", "0/30d", path="/x/", soft=True)
    statuses(behind_middleware(plain(False)), 5, "/x/")
    assert heard == []


def test_of_a_rule_with_several_limits_only_the_month_is_told_of(heard: list[Any]) -> None:
    row = define(path="/x/", rate="4/30d")
    row.windows.create(limit=5, period="1m")
    row.save()
    statuses(behind_middleware(plain(False)), 5, "/x/")
    assert {said["window"] for said in heard} == {"4/month"}


def test_for_clients_for_whom_the_rule_is_not_enforced_nothing_is_told(heard: list[Any]) -> None:
    define(rate="1/30d", enforce_percent=1, key="header:x-client", path="/x/")
    handler = behind_middleware(plain(False))
    refused = sum(statuses(handler, 2, "/x/", HTTP_X_CLIENT=str(number)) == [200, 429] for number in range(50))
    assert len(heard) == 3 * refused


def test_a_jump_over_several_thresholds_tells_each(heard: list[Any]) -> None:
    define()
    ratewindow.hit("quota", "user:1", 19)
    assert percents(heard) == [(75, 19), (90, 19)]
    assert {said["identity"] for said in heard} == {"user:1"}


def test_each_client_is_told_of_apart(heard: list[Any]) -> None:
    define()
    for who in ("user:1", "user:2", "user:1"):
        ratewindow.hit("quota", who, 15)
    assert [said["identity"] for said in heard] == ["user:1", "user:2"]


def test_a_peek_tells_nothing(heard: list[Any]) -> None:
    define(soft=True)
    told, quota_reached.receivers = quota_reached.receivers, []
    ratewindow.hit("quota", "user:1", 30)
    quota_reached.receivers = told
    quota_reached.sender_receivers_cache.clear()
    assert ratewindow.peek("quota", "user:1").remaining == 0
    assert heard == []
    ratewindow.hit("quota", "user:1")
    assert percents(heard) == [(75, 31), (90, 31), (100, 31)]


def test_a_refund_tells_nothing_again(heard: list[Any]) -> None:
    define()
    for _ in range(3):
        ratewindow.hit("quota", "user:1", 16)
        ratewindow.refund("quota", "user:1", 16)
        told_once.claim.cache_clear()  # as another process
    assert percents(heard) == [(75, 16)]


def test_a_raised_limit_is_another_quota(heard: list[Any]) -> None:
    define(rate="10/30d")
    ratewindow.hit("quota", "user:1", 10)
    define(rate="20/30d")
    for _ in range(3):
        ratewindow.hit("quota", "user:1", 2)
    assert [(said["limit"], said["percent"], said["used"]) for said in heard] == [
        (10, 75, 10),
        (10, 90, 10),
        (10, 100, 10),
        (20, 75, 16),
    ]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_units_charged_after_the_work_are_told_of(is_async: bool, heard: list[Any]) -> None:
    define(path="/x/", soft=True)

    def view(request: HttpRequest) -> HttpResponse:
        request.ratewindow.charge(14)  # type: ignore[attr-defined]
        return HttpResponse("ok")

    async def aview(request: HttpRequest) -> HttpResponse:
        await request.ratewindow.acharge(14)  # type: ignore[attr-defined]
        return HttpResponse("ok")

    statuses(behind_middleware(aview if is_async else view), 2, "/x/")
    assert percents(heard) == [(75, 15), (90, 30), (100, 30)]


def test_ahit_tells_async_receivers(heard: list[Any]) -> None:
    awaited: list[int] = []

    async def listen(percent: int, **_: Any) -> None:
        await asyncio.sleep(0)
        awaited.append(percent)

    define()
    quota_reached.connect(listen)
    try:
        asyncio.run(ratewindow.ahit("quota", "user:1", 18))
    finally:
        quota_reached.disconnect(listen)
    assert awaited == [75, 90]


def test_a_throttle_of_rest_framework_tells(heard: list[Any]) -> None:
    from ratewindow.rest_framework import RuleThrottle

    define(rate="1/30d")
    view = throttled(RuleThrottle, throttle_rules=["quota"])
    assert [view(RequestFactory().get("/")).status_code for _ in range(2)] == [200, 429]
    assert [said["percent"] for said in heard] == [75, 90, 100]


def test_a_receiver_that_fails_fails_no_request(caplog: pytest.LogCaptureFixture) -> None:
    def fail(**_: Any) -> None:
        raise RuntimeError("the mail server is away")

    define(rate="1/30d", path="/x/")
    quota_reached.connect(fail)
    try:
        with caplog.at_level(logging.ERROR):
            assert get(behind_middleware(plain(False)), "/x/").status_code == 200
    finally:
        quota_reached.disconnect(fail)
    assert "the mail server is away" in caplog.text


def test_a_new_month_is_told_of_again(heard: list[Any]) -> None:
    with override_rules(Rule("quota", "2/30d", **MONTHLY)) as rules:
        for _ in range(3):
            ratewindow.hit("quota", "user:1", 2)
            ratewindow.hit("quota", "user:1", 2)
            rules.travel("31d")
    assert [said["percent"] for said in heard] == [75, 90, 100] * 3


def test_a_window_that_begins_with_the_first_request_is_told_of_each_time(heard: list[Any]) -> None:
    """Also when its threshold was reached late in the window before."""
    with override_rules(Rule("quota", "2/h", algorithm="fixed_window", soft=True)) as rules:
        ratewindow.hit("quota", "user:1")
        rules.travel("59m")
        ratewindow.hit("quota", "user:1")
        rules.travel("2m")
        ratewindow.hit("quota", "user:1", 2)
    assert [said["percent"] for said in heard] == [75, 90, 100] * 2


def test_what_was_told_costs_no_call_of_redis(heard: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    define(soft=True)
    ratewindow.hit("quota", "user:1", 20)
    claims: list[Any] = []
    monkeypatch.setattr(told_once, "_learned", lambda *claim: claims.append(claim))
    ratewindow.hit("quota", "user:1")
    assert (claims, len(heard)) == ([], 3)


def test_what_is_kept_of_it_ends_with_the_month_and_is_the_rules(heard: list[Any], redis_client: redis.Redis) -> None:
    define()
    ratewindow.hit("quota", "user:1", 20)
    keys = redis_client.keys("rw:s:*")
    assert len(keys) == 1 + 3
    assert len({redis_client.pexpiretime(key) // 1000 for key in keys} if hasattr(redis_client, "pexpiretime") else {1}) <= 2
    assert "0 of no rule" in cleaning.clean_orphans()
    assert len(redis_client.keys("rw:s:*")) == 4


@override_settings(RATEWINDOW={"REDIS": "redis://localhost:1/0", "ON_ERROR": "local"})
def test_without_redis_nothing_is_told(heard: list[Any]) -> None:
    define(rate="1/30d", path="/x/")
    assert 429 in statuses(behind_middleware(plain(False)), 5, "/x/")
    assert heard == []


@is_async
def test_if_redis_does_not_say_who_is_first_the_request_passes_and_nothing_is_told(
    is_async: bool, heard: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    define(rate="4/30d", path="/x/")
    lost: list[Any] = []

    def lose(checks: list[Any], reply: Any, what: Any = "hit") -> Any:
        if checks[0].windows[0].limit == 1:  # the question who is the first
            lost.append(checks)
            raise redis.exceptions.TimeoutError("no answer")
        return decision(checks, reply, what)

    monkeypatch.setattr(decide, "decision_of", lose)
    assert statuses(behind_middleware(plain(is_async)), 3, "/x/") == [200] * 3
    assert (heard, len(lost)) == ([], 1)


def test_another_rate_of_one_client_is_another_limit(heard: list[Any]) -> None:
    define(path="/x/", soft=True)
    Override.objects.create(action="rate", rule="quota", identity="ip:127.0.0.1", rate="1/m")
    statuses(behind_middleware(plain(False)), 3, "/x/")
    assert heard == []  # it slides


PROGRAM = """
import asyncio, django, sys
from concurrent.futures import ThreadPoolExecutor
from django.conf import settings
settings.RATEWINDOW["TIMEOUT"] = "10s"
django.setup()
import ratewindow
from ratewindow.signals import quota_reached
told = []
def listen(percent, **_):
    told.append({75: 1, 90: 1000, 100: 1000000}[percent])
quota_reached.connect(listen)
how = {"rate": "9000/30d", "algorithm": "fixed_window", "aligned_to": "month", "soft": True}
def hit(_):
    return [ratewindow.hit("quota", "user:1", **how).reason for _ in range(125)]
async def ahit():
    return [each.reason for each in await asyncio.gather(*[ratewindow.ahit("quota", "user:1", **how) for _ in range(625)])]
print("ready", flush=True)
sys.stdin.readline()
with ThreadPoolExecutor(6) as pool:
    looped = pool.submit(asyncio.run, ahit())
    reasons = [reason for each in pool.map(hit, range(5)) for reason in each] + looped.result()
print(sum(told), reasons.count("store"))
"""


@pytest.mark.slow
def test_ten_thousand_units_in_eight_processes_tell_each_threshold_once(program_environment: dict[str, str]) -> None:
    told, alone = admitted_by_eight_processes(program_environment, PROGRAM)
    assert (told, alone) == (1_001_001, 0)
    how: dict[str, Any] = {"rate": "9000/30d", **MONTHLY, "soft": True}
    assert ratewindow.peek("quota", "user:1", 0, **how).parts[0].windows[0].used == 10_000


@is_async
def test_on_a_cluster_each_threshold_is_told_once_too(is_async: bool, cluster_url: str, heard: list[Any]) -> None:
    with override_settings(RATEWINDOW={"REDIS": cluster_url, "TIMEOUT": "5s"}):
        define(path="/x/", rate="4/30d", soft=True)
        for _ in range(3):
            statuses(behind_middleware(plain(is_async)), 2, "/x/")
            told_once.claim.cache_clear()  # as another process
    assert percents(heard) == [(75, 3), (90, 4), (100, 4)]
