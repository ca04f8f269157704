"""Candidates: other limits of a rule, judged in shadow by the same requests."""

import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.test import override_settings

import ratewindow
from ratewindow import conf, ratelimit
from ratewindow.conf import time_zone
from ratewindow.models import Override, RateRule, TotalStat
from ratewindow.reporting import counters, totals
from ratewindow.reporting.collecting import collect_stats
from ratewindow.reporting.compared import is_line
from ratewindow.reporting.offenders import offenders
from ratewindow.reporting.periods import last
from ratewindow.reporting.report import report
from ratewindow.rulebook import current, reading
from ratewindow.store import process_clients
from tests.support.doors import behind_middleware, get, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


AS_COUNTED = {  # what a rule and its candidate let pass
    (True, True): Counter(["passed"]),
    (True, False): Counter(["passed", "would_refuse"]),
    (False, True): Counter(["refused"]),
    (False, False): Counter(["other"]),
}


def define(candidate: str, rate: str = "2/h", **fields: object) -> None:
    options = {"path": "/x", "mode": "enforce", "overwrite": True, **fields}
    RateRule.objects.define("login", rate, candidate=candidate, **options)
    reading.reload()


def counted() -> tuple[Counter[str], Counter[str]]:
    """What is counted of the rule, and of its comparison with its candidate: passed, refused, other, would_refuse."""
    rule, comparison = Counter[str](), Counter[str]()
    for by_name in counters.held().values():
        for name, sums in by_name.items():
            into = comparison if is_line(name) else rule
            into.update({each: getattr(sums, each) for each in ("passed", "refused", "other", "would_refuse")})
    return +rule, +comparison


@is_async
def test_a_higher_limit_is_judged_by_what_the_rule_refuses_too(is_async: bool) -> None:
    define("4/h")
    assert statuses(behind_middleware(plain(is_async)), 6, "/x") == [200, 200, 429, 429, 429, 429]
    rule, comparison = counted()
    assert rule == {"passed": 2, "refused": 4}
    assert comparison == {"passed": 2, "refused": 2, "other": 2}  # two more would pass, two be refused all the same


@is_async
def test_a_lower_limit_is_judged_by_what_the_rule_lets_pass(is_async: bool) -> None:
    define("1/h", "3/h")
    assert statuses(behind_middleware(plain(is_async)), 4, "/x") == [200, 200, 200, 429]
    rule, comparison = counted()
    assert rule == {"passed": 3, "refused": 1}
    assert comparison == {"passed": 3, "would_refuse": 2, "other": 1}


@pytest.mark.parametrize("algorithm", ["sliding_window", "token_bucket", "fixed_window", "sliding_log"])
@pytest.mark.parametrize("options", [{}, {"penalty": timedelta(minutes=5)}, {"cost": 2}], ids=["plain", "penalty", "cost"])
def test_each_is_judged_as_if_it_stood_there_alone(algorithm: str, options: dict[str, Any]) -> None:
    """The same requests to two rules that know nothing of each other, in another order for each seed."""
    for seed, candidate in enumerate(("3/h", "7/h", "3/h; 9/d")):
        clients = random.Random(seed).choices([f"ip:192.0.2.{number}" for number in range(6)], k=60)
        for name, rate, fields in (("a", "5/h", {"candidate": candidate}), ("b", "5/h", {}), ("c", "", {})):
            RateRule.objects.define(f"{name}{seed}", rate or candidate, algorithm=algorithm, mode="enforce", **options, **fields)
        reading.reload()
        counters.reset()
        expected = Counter[str]()
        for client in clients:
            tried, own, other = (bool(ratewindow.hit(f"{name}{seed}", client)) for name in "abc")
            assert tried == own
            expected += AS_COUNTED[own, other]
        assert counted()[1] == expected


def test_a_rule_that_counts_refused_requests_tries_nothing() -> None:
    with pytest.raises(ValueError, match="'4/h' cannot be tried beside a rule that counts refused requests: clear it, or"):
        define("4/h", "2/h", count_refused=True)
    define("4/h", "2/h")
    RateRule.objects.update(count_refused=True)  # past all checks
    reading.reload()
    statuses(behind_middleware(plain(False)), 3, "/x")
    assert not counted()[1]


def test_a_client_that_hammers_costs_no_call_for_the_candidate_either(redis_client: redis.Redis) -> None:
    define("3/h", "2/h")
    handler = behind_middleware(plain(False))
    statuses(handler, 4, "/x")
    redis_client.config_resetstat()
    statuses(handler, 20, "/x")
    calls = redis_client.info("commandstats")
    assert sum(calls.get(f"cmdstat_{each}", {}).get("calls", 0) for each in ("evalsha", "eval")) <= 2
    assert counted()[1] == {"passed": 2, "refused": 1, "other": 21}


def test_what_another_rule_refuses_is_judged_by_neither() -> None:
    define("4/h", "2/h")
    RateRule.objects.define("all", "1/h", prefix="/", mode="enforce")
    reading.reload()
    assert statuses(behind_middleware(plain(False)), 4, "/x") == [200, 429, 429, 429]
    assert counted()[1] == {"passed": 1}


def test_what_a_rule_further_in_refuses_is_refunded_to_the_candidate_too() -> None:
    define("2/h", "4/h")
    assert statuses(behind_middleware(ratelimit("inner", "1/h")(plain(False))), 3, "/x") == [200, 429, 429]
    assert counted()[1] == {"passed": 1}
    assert statuses(behind_middleware(plain(False)), 3, "/x") == [200, 200, 200]
    assert counted()[1] == {"passed": 4, "would_refuse": 2}


@pytest.mark.parametrize("fields", [{"mode": "shadow"}, {"mode": "off"}, {"enforce_percent": 50}])
def test_nothing_is_tried_beside_a_rule_that_is_not_enforced_for_all(fields: dict[str, Any]) -> None:
    define("4/h", **fields)
    statuses(behind_middleware(plain(False)), 3, "/x")
    assert not counted()[1]


def test_limits_of_other_periods_stay_and_new_ones_are_added() -> None:
    RateRule.objects.define("login", "5/m; 20/h", algorithm="token_bucket", burst=9, candidate="7/m; 50/d", mode="enforce")
    reading.reload()
    windows = current.rulebook().by_name["login"].candidate
    assert [(window.text, window.algorithm, window.burst) for window in windows] == [
        ("7/m", "token_bucket", 9),
        ("20/h", "token_bucket", 9),
        ("50/d", "sliding_window", None),
    ]


@pytest.mark.parametrize("candidate", ["5/m", "20/h; 5/m", ""])
def test_what_would_change_nothing_is_not_tried(candidate: str) -> None:
    RateRule.objects.define("login", "5/m; 20/h", candidate=candidate, mode="enforce")
    reading.reload()
    assert current.rulebook().by_name["login"].candidate == ()


@pytest.mark.parametrize("wrong", ["abc", "5/m; 6/m", "; ".join(f"1/{n}s" for n in range(1, 15))])
def test_a_wrong_candidate_keeps_no_rule_from_being_enforced(wrong: str) -> None:
    rates = "; ".join(f"100/{n}s" for n in range(20, 35))
    RateRule.objects.define("login", rates, mode="enforce")
    RateRule.objects.update(candidate=wrong)  # past all checks
    reading.reload()
    rule = current.rulebook().by_name["login"]
    assert len(rule.windows) == 15 and rule.candidate == ()


def test_without_redis_nothing_is_compared() -> None:
    define("4/h", "2/h")
    with override_settings(RATEWINDOW={"REDIS": "redis://127.0.0.1:1/0"}):
        statuses(behind_middleware(plain(False)), 3, "/x")
    assert not counted()[1]


def test_nobody_is_answered_by_a_candidate() -> None:
    define("1/h", "3/h")
    decision = [ratewindow.hit("login", "ip:192.0.2.1") for _ in range(3)][-1]
    assert (decision.allowed, decision.remaining, decision.parts) == (True, 0, ())
    response = [get(behind_middleware(plain(False)), "/x") for _ in range(2)][-1]
    assert response["RateLimit"] == '"login";r=1;t=3600'
    assert "x-ratelimit-would" not in {name.lower() for name in response.headers}


def test_the_figures_of_all_rules_leave_comparisons_out(redis_client: redis.Redis) -> None:
    define("4/h", "2/h")
    statuses(behind_middleware(plain(False)), 6, "/x")
    counters.flush()
    collect_stats()
    total = TotalStat.objects.get(resolution="minute")
    assert (total.passed, total.refused, total.other) == (2, 4, 0)
    period = last("1h", time_zone.now(), conf.current().retention)
    found = report(period)
    assert (set(found.rules), found.total.passed, found.total.refused) == ({"login"}, 2, 4)
    assert offenders(period).total == (4, 0, 6)
    assert totals.read(process_clients.patient_client()).numbers["refused"] == {"login": 4}


@pytest.mark.parametrize("rule", ["", "login"])
def test_a_blocked_client_is_refused_and_judged_by_neither(rule: str) -> None:
    define("4/h", "2/h")
    Override.objects.block("ip:127.0.0.1", rule=rule)
    reading.reload()
    assert statuses(behind_middleware(plain(False)), 2, "/x") == [429, 429]
    assert not ratewindow.hit("login", "ip:127.0.0.1")
    assert not counted()[1]


def test_a_request_that_lacks_the_key_is_judged_by_neither() -> None:
    define("4/h", "2/h", key="header:x-key", on_missing="refuse")
    assert statuses(behind_middleware(plain(False)), 2, "/x") == [429, 429]
    assert not counted()[1]
