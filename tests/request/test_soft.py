"""Soft limits: over them requests pass, and are counted."""

import asyncio
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, override_settings

import ratewindow
from ratewindow import ratelimit
from ratewindow.counting.counters import counters
from ratewindow.models import RateRule
from ratewindow.operations import lockout
from ratewindow.operations.clients import standing, used
from ratewindow.rulebook import reading
from ratewindow.rules.site_routes import doubts
from tests.support.doors import behind_middleware, decorated, get, plain, statuses
from tests.support.rest_views import throttled

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
MONTHLY: dict[str, Any] = {"algorithm": "fixed_window", "aligned_to": "month", "soft": True}


def define(name: str = "quota", rate: str = "3/30d", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, overwrite=True, **{"mode": "enforce", **MONTHLY, **fields})[0]


def used_of(name: str = "quota", who: str = "ip:127.0.0.1") -> int:
    return ratewindow.peek(name, who, 0).parts[0].windows[0].used


def counted(name: str = "quota") -> tuple[int, int, int]:
    sums = counters.since_start()[name]
    return sums.passed, sums.refused, sums.would_refuse


@is_async
def test_over_a_soft_limit_requests_pass_and_count_on(is_async: bool) -> None:
    define(path="/x/")
    seen: list[HttpRequest] = []
    handler = behind_middleware(plain(is_async, seen))
    assert statuses(handler, 13, "/x/") == [200] * 13
    assert used_of() == 13
    decisions = [request.ratewindow.decisions[0] for request in seen]  # type: ignore[attr-defined]
    assert [each.remaining for each in decisions[:5]] == [2, 1, 0, 0, 0]
    assert [each.outcome for each in decisions[:5]] == ["passed", "passed", "passed", "would_refuse", "would_refuse"]
    assert {(each.allowed, each.mode, each.limit, each.window, each.retry_after) for each in decisions} == {
        (True, "soft", 3, "3/month", None)
    }
    assert [each.reason for each in decisions[:5]] == ["", "", "", "limit", "limit"]


def test_a_soft_limit_stands_in_no_header() -> None:
    define(path="/x/")
    define("hard", "5/m", path="/x/", algorithm="sliding_window", aligned_to="", soft=False)
    response = get(behind_middleware(plain(False)), "/x/")
    assert response["RateLimit-Policy"] == '"hard";q=5;w=60'
    assert response["X-RateLimit-Limit"] == "5"


@is_async
def test_what_another_rule_refuses_is_not_charged_to_the_soft_one(is_async: bool) -> None:
    define(path="/x/")
    define("hard", "4/m", path="/x/", algorithm="sliding_window", aligned_to="", soft=False)
    assert statuses(behind_middleware(plain(is_async)), 6, "/x/") == [200] * 4 + [429] * 2
    assert used_of() == 4


def test_a_decorator_further_in_that_refuses_gives_back_what_the_soft_rule_was_charged() -> None:
    define(path="/x/", rate="1/30d")
    handler = behind_middleware(decorated(False, "inner", "2/m"))
    assert statuses(handler, 4, "/x/") == [200, 200, 429, 429]
    assert used_of() == 2


@is_async
def test_a_rate_in_code_may_be_soft(is_async: bool) -> None:
    view = decorated(is_async, "quota", "2/30d", **MONTHLY)
    assert statuses(view, 5) == [200] * 5
    assert used_of() == 5


def test_a_soft_rate_in_code_and_its_row_in_shadow_both_count() -> None:
    """Wherever each of them stands."""
    view = decorated(False, "quota", "2/30d", **MONTHLY)
    define(mode="shadow", path="/x/")
    assert statuses(view, 3) == [200] * 3  # both at the decorator
    assert statuses(behind_middleware(view), 3, "/x/") == [200] * 3
    assert [part.windows[0].used for part in ratewindow.peek("quota", "ip:127.0.0.1", 0).parts] in ([6], [6, 6])
    book = {part.mode: part.windows[0].used for part in standing("ip:127.0.0.1").rules}
    assert book == {"soft": 6, "shadow": 6}


@pytest.mark.parametrize("asynchronously", [False, True])
def test_hit_allows_over_the_limit_and_peek_says_how_it_would_stand(asynchronously: bool) -> None:
    define()

    def hit(cost: int) -> Any:
        return (
            asyncio.run(ratewindow.ahit("quota", "user:1", cost)) if asynchronously else ratewindow.hit("quota", "user:1", cost)
        )

    told = [hit(2) for _ in range(3)]
    assert [(each.allowed, each.remaining, each.outcome) for each in told] == [
        (True, 1, "passed"),
        (True, 0, "would_refuse"),
        (True, 0, "would_refuse"),
    ]
    assert used_of(who="user:1") == 6
    assert ratewindow.peek("quota", "user:1").outcome == "would_refuse"  # type: ignore[attr-defined]
    assert ratewindow.peek("quota", "user:2", 3).outcome == "passed"  # type: ignore[attr-defined]
    assert ratewindow.peek("quota", "user:2", 4).outcome == "would_refuse"  # type: ignore[attr-defined]


def test_what_was_charged_over_the_limit_can_be_refunded() -> None:
    define(path="/x/", rate="1/30d")

    def view(request: HttpRequest) -> HttpResponse:
        request.ratewindow.charge(4)  # type: ignore[attr-defined]
        request.ratewindow.refund(2)  # type: ignore[attr-defined]
        return HttpResponse("ok")

    assert statuses(behind_middleware(view), 2, "/x/") == [200, 200]
    assert used_of() == 2 * (1 + 4 - 2)


@pytest.mark.parametrize("hold", [False, True])
def test_answers_that_count_do_so_over_the_limit_too(hold: bool) -> None:
    define(path="/x/", rate="1/30d", count_when="404", hold=hold)
    status = [404]
    handler = behind_middleware(lambda request: HttpResponse(status=status[0]))
    assert statuses(handler, 3, "/x/") == [404] * 3
    status[0] = 200
    assert statuses(handler, 3, "/x/") == [200] * 3
    assert used_of() == 3


@pytest.mark.urls("tests.support.own_urls")
def test_a_throttle_of_rest_framework_lets_pass_too() -> None:
    from ratewindow.rest_framework import RuleThrottle

    define()
    view = throttled(RuleThrottle, throttle_rules=["quota"])
    assert [view(RequestFactory().get("/")).status_code for _ in range(5)] == [200] * 5
    assert used_of() == 5


def test_a_rule_that_becomes_soft_or_hard_keeps_its_count() -> None:
    define(soft=False)
    assert [ratewindow.hit("quota", "user:1").allowed for _ in range(4)] == [True, True, True, False]
    define(soft=True)
    assert [ratewindow.hit("quota", "user:1").allowed for _ in range(4)] == [True] * 4
    define(soft=False)
    assert not ratewindow.hit("quota", "user:1")
    define(soft=False, rate="8/30d")
    assert ratewindow.hit("quota", "user:1").remaining == 0


def test_a_soft_rule_has_no_penalty_and_counts_no_refused_requests() -> None:
    define(path="/x/", rate="1/30d", penalty="1h", count_refused=True)
    define("hard", "3/m", path="/x/", algorithm="sliding_window", aligned_to="", soft=False)
    assert statuses(behind_middleware(plain(False)), 5, "/x/") == [200] * 3 + [429] * 2
    assert used_of() == 3


def test_in_shadow_it_is_like_any_rule_in_shadow() -> None:
    define(path="/x/", mode="shadow")
    seen: list[HttpRequest] = []
    assert statuses(behind_middleware(plain(False, seen)), 5, "/x/") == [200] * 5
    last = seen[-1].ratewindow.decisions[0]  # type: ignore[attr-defined]
    assert (last.mode, last.outcome, last.limit, last.windows[0].used) == ("shadow", "would_refuse", 3, 5)


@override_settings(RATEWINDOW={"REDIS": "redis://localhost:1/0", "ON_ERROR": "refuse"})
@pytest.mark.parametrize("on_error", ["", "refuse", "local"])
def test_without_redis_it_still_refuses_nobody(on_error: str) -> None:
    define(path="/x/", rate="1/30d", on_error=on_error)
    assert statuses(behind_middleware(plain(False)), 3, "/x/") == [200] * 3


def test_another_rate_of_a_client_is_soft_too() -> None:
    from ratewindow.models import Override

    define(path="/x/")
    Override.objects.create(action="rate", rule="quota", identity="ip:127.0.0.1", rate="1/m")
    seen: list[HttpRequest] = []
    assert statuses(behind_middleware(plain(False, seen)), 3, "/x/") == [200] * 3
    last = seen[-1].ratewindow.decisions[0]  # type: ignore[attr-defined]
    assert (last.mode, last.window, last.windows[0].used) == ("soft", "1/m", 3)


def test_reports_count_what_a_hard_limit_would_have_refused() -> None:
    define(path="/x/")
    statuses(behind_middleware(plain(False)), 5, "/x/")
    assert counted() == (5, 0, 2)


def test_people_see_how_much_is_used_over_the_limit() -> None:
    define()
    for _ in range(5):
        ratewindow.hit("quota", "user:1")
    (decision,) = standing("user:1").rules
    assert used(decision) == ["5 of 3 in 1month"]


def test_it_locks_nobody_out_and_raises_no_doubt() -> None:
    row = define(rate="0/30d", applies_to="all", pattern="")
    rule = reading.freeze(row)
    request = RequestFactory().get("/")
    request.user = type("User", (), {"pk": 1, "is_authenticated": True, "has_perm": lambda *_: False})()
    assert lockout.lockouts([rule], request) == {}
    assert not [doubt for doubt in doubts(rule) if doubt.kind in ("zero", "cost")]


def test_only_what_a_fixed_window_counts_may_be_soft() -> None:
    told = "a soft limit is counted by fixed_window, not by sliding_window"
    with pytest.raises(ValueError, match=told):
        define(algorithm="sliding_window", aligned_to="")
    with pytest.raises(ValueError, match=told):
        ratelimit("export", "5/m", soft=True)
    with pytest.raises(ValueError, match=told):
        ratewindow.hit("export", "user:1", rate="5/m", soft=True)
    with pytest.raises(ValueError, match="soft 1 has the wrong type: write True or False"):
        ratelimit("export", "5/m", soft=1, algorithm="fixed_window")


def test_a_row_that_is_soft_without_a_fixed_window_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    row = define()
    row.windows.update(algorithm="sliding_window", aligned_to="")
    assert reading.read_rules()[0].windows[0].algorithm == "fixed_window"  # as it was
    assert "a soft limit is counted by fixed_window, not by sliding_window" in caplog.text
