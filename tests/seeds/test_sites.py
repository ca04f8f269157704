"""Systems this one descends from that throttle web sites, through this app's public names."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import override_settings

import ratewindow
from ratewindow import ratelimit
from ratewindow.checks.site import check_settings
from ratewindow.counting.collecting import collect_stats
from ratewindow.counting.counters import counters
from ratewindow.limiter import Limiter, MemoryStore, RedisStore, Window
from ratewindow.models import RateRule, RuleWindow, ThrottleStat
from tests.support.clock import Clock
from tests.support.doors import behind_middleware, get, plain, statuses
from tests.support.histories import ALGORITHMS, history

pytestmark = pytest.mark.django_db(transaction=True)


def define(name: str, rate: str, mode: str = "enforce", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, mode=mode, overwrite=True, **fields)[0]


@pytest.fixture
def server(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as client:
        yield client


def test_s3_one_line_throttles_by_a_token_that_no_key_shows(server: redis.Redis) -> None:
    """Its own raised on every call, comparing text with a number; its amount was fixed at one."""
    view = ratelimit("upload", "10/m", key="header:authorization", cost=lambda request: int(request.headers["x-files"]))(
        plain(False)
    )
    told = [get(view, headers={"authorization": "Bearer s3cret", "x-files": files}).status_code for files in ("4", "6", "1")]
    assert told == [200, 200, 429]
    assert get(view, headers={"authorization": "Bearer another", "x-files": "10"}).status_code == 200
    assert server.keys("*")
    assert not server.keys("*s3cret*")

    define("site", "2/m", prefix="/api/", key="header:authorization")
    site = behind_middleware(plain(False))
    assert statuses(site, 3, "/api/orders/", headers={"authorization": "Bearer s3cret"}) == [200, 200, 429]
    assert not server.keys("*s3cret*")


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_s9_the_process_counts_as_the_server_does(server: redis.Redis, algorithm: str) -> None:
    """Its ring lay in the process alone."""
    memory, shared = MemoryStore(), RedisStore(server)
    for step in history(9, 150, [algorithm], plain=True):
        assert memory.run(step.checks, step.what, step.now_ms) == shared.run(step.checks, step.what, step.now_ms)


def test_s9_what_passed_and_was_refused_persists() -> None:
    """Its five minutes of charts were lost at a restart. "Make a rule from this route's traffic" is a page of the report."""
    define("orders", "3/m", path="/orders/")
    statuses(behind_middleware(plain(False)), 5, "/orders/")
    counters.flush()
    collect_stats()
    rows = ThrottleStat.objects.filter(rule="orders", resolution="minute")
    assert (sum(row.passed for row in rows), sum(row.refused for row in rows)) == (3, 2)


def test_s12_all_its_algorithms_admit_100_at_100_per_5_seconds_not_200(server: redis.Redis) -> None:
    """A fixed window alone may do so, around its end, and says it; its sliding one did too."""
    for store in (MemoryStore(), RedisStore(server)):
        for algorithm in ("sliding_window", "sliding_log"):
            clock = Clock()
            limiter, windows = Limiter(store, clock_ms=clock, believed_ms=0), [Window(100, 5000, algorithm)]
            admitted = []
            for start_ms in (4900, 5050, 9990):
                clock.now_ms = Clock().now_ms + start_ms
                admitted += [clock.now_ms for _ in range(200) if limiter.hit("user:42", windows)]
            for at in admitted:
                assert sum(at - 5000 < other <= at for other in admitted) <= 100


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_s12_rules_change_while_they_run_keep_counts_lock_and_can_be_looked_at(is_async: bool) -> None:
    """With a status and a body of one's own."""
    own = {"response_status": 403, "message": "Come back for your orders later."}
    rule = define("orders", "2/m", path="/orders/", penalty=timedelta(minutes=5), **own)
    site = behind_middleware(plain(is_async))
    assert statuses(site, 1, "/orders/") == [200]
    assert ratewindow.peek("orders", "ip:127.0.0.1").remaining == 1
    window = RuleWindow.objects.get(rule=rule)
    window.limit = 4
    window.save()
    assert statuses(site, 4, "/orders/") == [200, 200, 200, 403]
    locked = asyncio.run(ratewindow.apeek("orders", "ip:127.0.0.1")) if is_async else ratewindow.peek("orders", "ip:127.0.0.1")
    assert locked.reason == "penalty"
    assert locked.retry_after is not None
    assert 290 < locked.retry_after <= 300
    response = get(site, "/orders/")
    assert (response.status_code, response.content) == (403, b"Come back for your orders later.\n")
    assert 290 < int(response.headers["Retry-After"]) <= 300
    RateRule.objects.all().delete()
    assert statuses(site, 5, "/orders/") == [200] * 5


def test_s12_a_natural_period_begins_with_the_clock() -> None:
    rule = define("orders", "2/h", path="/orders/")
    window = RuleWindow.objects.get(rule=rule)
    window.algorithm, window.aligned_to = "fixed_window", "hour"
    window.save()
    statuses(behind_middleware(plain(False)), 2, "/orders/")
    told = ratewindow.peek("orders", "ip:127.0.0.1")
    assert told.retry_after is not None
    assert told.retry_after <= 3600


def test_s13_its_options_have_their_places() -> None:
    """window, limit by a function, key, skip, IPv6 subnet, headers, statusCode, message, skipFailedRequests and
    skipSuccessfulRequests, its handler, and the drafts 6 and 7."""

    def of_plan(request: HttpRequest) -> str | None:
        return {"free": "1/m", "paid": "3/m"}.get(request.headers["x-plan"])  # None: skipped

    view = ratelimit("plans", of_plan, key="header:x-api-key")(plain(False))

    def asked(plan: str) -> list[int]:
        return statuses(view, 4, headers={"x-plan": plan, "x-api-key": plan})

    assert [asked(plan) for plan in ("free", "paid", "staff")] == [[200, 429, 429, 429], [200, 200, 200, 429], [200] * 4]

    site = ratelimit("subnet", "1/m")(plain(False))
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "IPV6_PREFIX": 56, "HEADERS": ("x-ratelimit",)}):
        first = get(site, REMOTE_ADDR="2001:db8:1:200::1")
        second = get(site, REMOTE_ADDR="2001:db8:1:2ff::2")
    assert (first.status_code, second.status_code) == (200, 429)
    assert first.headers["X-RateLimit-Limit"] == "1"
    assert "RateLimit" not in first.headers

    for family, name in (("ratelimit-draft-6", "RateLimit-Limit"), ("ratelimit-draft-7", "RateLimit")):
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "HEADERS": (family,)}):
            assert name in get(ratelimit(f"drafts.{name.lower()}", "5/m")(plain(False))).headers

    define("own", "0/m", path="/own/", response_status=503, message="Not now.")
    told = get(behind_middleware(plain(False)), "/own/")
    assert (told.status_code, told.content) == (503, b"Not now.\n")


@pytest.mark.parametrize(
    ("count_when", "answers", "expected"),
    [
        ("2xx,3xx", [500, 200, 404, 302, 200], [500, 200, 404, 302, 429]),  # skipFailedRequests
        ("4xx,5xx", [500, 200, 404, 302, 200], [500, 200, 404, 429, 429]),  # skipSuccessfulRequests
    ],
)
def test_s13_failed_or_successful_requests_can_be_skipped(count_when: str, answers: list[int], expected: list[int]) -> None:
    define("part", "2/m", path="/part/", count_when=count_when)
    left = iter(answers)
    site = behind_middleware(lambda request: HttpResponse(status=next(left)))
    assert statuses(site, 5, "/part/") == expected


def test_s13_a_store_that_is_away_lets_pass_and_bad_options_have_codes() -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        assert statuses(ratelimit("away", "1/m")(plain(False)), 5) == [200] * 5
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "IPV6_PREFIX": 300, "TRUSTED_PROXIES": "all", "LIMIT": 5}):
        assert [problem.id for problem in check_settings()] == ["ratewindow.E001"] * 3


def test_s8_as_a_shadow_rule_that_counts_refusals_it_alarms_and_blocks_nobody() -> None:
    define("alarm", "2/m", "shadow", path="/pay/", count_refused=True)
    seen: list[HttpRequest] = []
    site = behind_middleware(plain(False, seen))
    assert statuses(site, 4, "/pay/") == [200] * 4
    assert [request.ratewindow.decisions[0].outcome for request in seen] == ["passed", "passed", "would_refuse", "would_refuse"]  # type: ignore[attr-defined]


def test_s14_and_s15_reset_and_force_by_the_name_of_a_rule() -> None:
    define("mail", "1/h; 1/500ms", key="user")

    @ratelimit("mail", key="user")
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")

    assert ratewindow.hit("mail", "user:42")
    assert not ratewindow.hit("mail", "user:42")
    forced = ratewindow.hit("mail", "user:42", force=True)
    assert (forced.allowed, forced.forced) == (True, True)
    ratewindow.reset("mail", "user:42")
    assert ratewindow.hit("mail", "user:42")
