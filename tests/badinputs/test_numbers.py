"""Numbers that are none, at every place where one is given: each is refused at once, by name, or means what it says."""

import math
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured, ValidationError

from ratewindow import acquire, hit, ratelimit
from ratewindow.limiter import Limiter, MemoryStore, SlidingCounter, Window, is_action_allowed
from ratewindow.models import Override, RateRule, RuleWindow
from ratewindow.rest_framework import UserRateThrottle
from ratewindow.testing import override_rules
from tests.support.doors import decorated, statuses

pytestmark = pytest.mark.django_db

NO_COUNT = [-1, 1e18, 10**18, 1.5, math.nan, math.inf, True, None, "5", Decimal(5), [5]]
NO_PERIOD_MS = [0, -1, 10**18, 1.5, math.nan, math.inf, True, None, "1000", Decimal(1000), timedelta(seconds=1)]
NO_RATE = [
    "-1/m",
    "1e18/m",
    f"{10**18}/m",
    "1.5/m",
    "nan/m",
    "inf/m",
    "5/0s",
    "5/-1m",
    "0/9999999999w",
    "10/parsec",
    "5/1e12",
    "5/",
    "/m",
]
NO_COST = [-1, 1e18, 10**18, 1.5, math.nan, math.inf, True, None, "5", Decimal(5), [5]]


def named(cases: list[Any]) -> Any:
    return pytest.mark.parametrize("bad", cases, ids=[repr(each)[:24] for each in cases])


@named(NO_COUNT)
def test_a_limit_that_is_none(bad: Any) -> None:
    for give in (
        lambda: Window(bad, period_ms=1000),
        lambda: is_action_allowed("ann", "reply", 60, bad),
    ):
        with pytest.raises(ValueError, match="limit"):
            give()
    if bad is not None:  # None: the algorithm's usual number
        for field in ("buckets", "burst"):
            with pytest.raises(ValueError, match=field):
                Window(5, period_ms=1000, algorithm="sliding_window" if field == "buckets" else "token_bucket", **{field: bad})


@named(NO_PERIOD_MS)
def test_a_period_that_is_none(bad: Any) -> None:
    with pytest.raises(ValueError, match="period"):
        Window(5, period_ms=bad)


@named([0, -1, 10**18, math.nan, math.inf, -math.inf, True, None, "60", [60], 1e-9])
def test_a_number_of_seconds_that_is_none(bad: Any) -> None:
    with pytest.raises(ValueError, match="period"):
        is_action_allowed("ann", "reply", bad, 3)


@named([0, -1, 1.5, 1e18, math.nan, True, None, "5", 10**18])
def test_a_length_of_a_counter_that_is_none(bad: Any) -> None:
    with pytest.raises(ValueError):
        SlidingCounter(bad, "seconds")
    if not isinstance(bad, str):
        with pytest.raises(ValueError):
            SlidingCounter(bad)


@named([*NO_RATE, -1, 5, 1.5, math.nan, None, True, [], b"5/m"])
def test_a_rate_that_is_none(bad: Any) -> None:
    def rest() -> None:
        type("Bad", (UserRateThrottle,), {"scope": "bad", "rate": bad})()

    places: list[Callable[[], object]] = [
        lambda: RateRule.objects.define("bad", bad),
        lambda: Override.objects.rate("user:42", bad),
        lambda: override_rules(bad=bad),
    ]
    if bad is not None:  # at a decorator and a throttle: none
        places.append(lambda: ratelimit("bad", bad))
    if bad:
        places.append(rest)
    for give in places:
        with pytest.raises((ValueError, ValidationError, ImproperlyConfigured)):
            give()
    assert not RateRule.objects.exists() and not Override.objects.get_queryset().exists()


def test_a_week_is_a_week_wherever_a_rate_is_written() -> None:
    week_ms = 604_800_000
    for text in ("10/week", "10/w", "10 per week", "10/7d"):
        assert RateRule.objects.define("week", text, overwrite=True)[0].windows.get().period == timedelta(milliseconds=week_ms)
    assert statuses(decorated(False, "weekly", "2/week"), 3) == [200, 200, 429]
    throttle = type("Weekly", (UserRateThrottle,), {"scope": "weekly", "rate": "10/week"})()
    assert (throttle.num_requests, throttle.duration) == (10, week_ms / 1000)


@named(NO_COST)
def test_a_cost_that_is_none_is_told_also_where_no_rule_has_that_name_yet(bad: Any) -> None:
    RateRule.objects.define("known", "5/m", mode="enforce")
    places: list[Callable[[], object]] = [
        lambda: ratelimit("view", "5/m", cost=bad),
        lambda: hit("known", "user:42", cost=bad),
        lambda: hit("unknown", "user:42", cost=bad),
        lambda: Limiter(MemoryStore()).hit("ann", [Window(5, 1000)], cost=bad),
        lambda: SlidingCounter(5, "seconds").add(bad),
        lambda: RateRule.objects.define("costly", "5/m", cost=bad),
    ]
    for give in places:
        with pytest.raises(ValueError):
            give()


@named([5, 1.5, None, True, "", "5", "-1s", "nan", "1e12", "0s", "1 parsec", timedelta(0), timedelta(seconds=-1)])
def test_a_time_to_wait_that_is_none(bad: Any) -> None:
    with pytest.raises(ValueError):
        acquire("unknown", "user:42", timeout=bad)


FIELDS: dict[str, list[Any]] = {
    "cost": [-1, 1.5, True, "5", None, 10**18, math.nan, math.inf],
    "enforce_percent": [0, 101, -1, 50.5, True, "50", None, math.nan],
    "response_status": [200, 399, 600, -1, 429.0, True, "429", None],
    "penalty": ["5", "0s", "-1m", "1e12", "9999999999w", 5, 1.5, math.nan, timedelta(0), timedelta(seconds=-5)],
    "count_when": [None, 401, "", "999", "often", ["401"], True],
    "methods": [None, 5, "G E T!", ["POST", 5], True, {"POST": 1}],
    "mode": [None, 5, "on", True, ""],
    "key": [None, 5, "", "shoe_size", ["ip"]],
    "on_missing": [None, 5, "block"],
    "on_error": [None, 5, "explode"],
    "message": [None, 5, "x" * 301],
    "description": [None, 5],
    "normalise": [None, "yes", 5],
    "count_refused": [None, "yes", 5],
    "path": [5, "", "login", "/login/?x=1", "/l%6fgin/", ["/login/"], True],
    "prefix": [5, "", "api"],
    "regex": [5, "", "(", "(a)\\1"],
    "route": [5, "", "a b"],
}


@pytest.mark.parametrize("field", list(FIELDS))
def test_a_field_of_another_kind_is_named_and_nothing_is_saved(field: str) -> None:
    for bad in FIELDS[field]:
        with pytest.raises(ValueError) as told:
            RateRule.objects.define("bad", "5/m", **{field: bad})
        assert not isinstance(told.value, ValidationError), bad
        assert not RateRule.objects.exists(), bad


def test_a_limit_of_zero_refuses_all_and_says_so() -> None:
    from ratewindow.admin.wording import sentence

    rule, _ = RateRule.objects.define("closed", "0/m", path="/closed/", mode="enforce")
    assert "refuse" in sentence(rule).lower()
    assert statuses(decorated(False, "nothing", "0/m"), 2) == [429, 429]
    assert RuleWindow.objects.get().limit == 0
