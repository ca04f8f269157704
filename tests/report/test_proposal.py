"""Limits proposed by how much of its present ones each request to a rule had used: what they would have refused is not more."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from django.utils import timezone

from ratewindow.counting.collecting import store_sums
from ratewindow.counting.counters import Counters
from ratewindow.counting.sums import Sums
from ratewindow.limiter import Limiter, MemoryStore, Window
from ratewindow.report.proposal import Proposal, propose, propose_by
from ratewindow.report.report import waiting
from ratewindow.rules.rule import CountWhen, Rule
from tests.support.made_counts import NOW_MINUTE, NOW_S

pytestmark = pytest.mark.django_db

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
RULE = Rule("search", (Window(100, MINUTE_MS),), mode="shadow")


def known(used: dict[str, int], rule: Rule = RULE, at: datetime | None = None) -> Proposal | None:
    at = at or timezone.now().replace(second=0, microsecond=0)
    store_sums({(at, rule.name): Sums(passed=sum(used.values()), used=used)})
    return propose(rule, timezone.now(), waiting())


def rates(windows: Sequence[Window]) -> list[str]:
    return [window.text for window in windows]


def test_it_is_what_nearly_all_requests_had_used_with_headroom() -> None:
    found = known({"100/m:5": 9_000, "100/m:25": 990, "100/m:80": 9})
    assert found is not None
    assert (rates(found.most), rates(found.windows)) == (["25/m"], ["40/m"])
    assert (found.requests, found.above) == (9_999, 9)


def test_of_few_requests_none_may_be_above() -> None:
    found = known({"100/m:5": 99, "100/m:80": 1})
    assert found is not None and (rates(found.most), found.above) == (["80/m"], 0)
    assert rates(found.windows) == ["100/m"]  # with headroom it is the present one


def test_each_limit_of_a_rule_has_its_own() -> None:
    rule = replace(RULE, windows=(Window(100, MINUTE_MS), Window(1000, HOUR_MS)))
    found = known({"100/m:10": 200, "1000/h:15": 200}, rule)
    assert found is not None and rates(found.windows) == ["15/m", "250/h"]


@pytest.mark.parametrize(
    ("used", "rule"),
    [
        ({"100/m:5": 99}, RULE),
        ({"100/m:5": 5_000, "100/m:over": 6}, RULE),
        ({"60/m:5": 5_000}, RULE),  # under another limit than the present one
        ({"100/m:5": 5_000}, replace(RULE, windows=(Window(100, MINUTE_MS), Window(1000, HOUR_MS)))),
        ({"100/m:5": 5_000}, replace(RULE, windows=())),
        ({"100/m:5": 5_000}, replace(RULE, cost=2)),
        ({"100/m:5": 5_000}, replace(RULE, penalty_ms=1000)),
        ({"100/m:5": 5_000}, replace(RULE, count_when=CountWhen(login_failed=True))),
        ({"100/m:5": 5_000}, replace(RULE, windows=(Window(100, MINUTE_MS, "token_bucket"),))),
    ],
)
def test_there_is_none_where_too_little_is_known_or_counted_otherwise(used: dict[str, int], rule: Rule) -> None:
    assert known(used, rule) is None


def test_a_week_is_looked_at() -> None:
    now = timezone.now().replace(second=0, microsecond=0)
    assert known({"100/m:5": 5_000}, at=now - timezone.timedelta(days=9)) is None
    found = known({"100/m:10": 5_000}, at=now - timezone.timedelta(days=6))
    assert found is not None and found.requests == 5_000
    assert now - timezone.timedelta(days=6, hours=3) < found.since <= now - timezone.timedelta(days=6)


def test_of_several_rules_it_is_by_the_one_that_fewest_requests_matched() -> None:
    everything, idle = replace(RULE, name="everything"), replace(RULE, name="idle")
    known({"100/m:80": 9_000}, everything)
    known({"100/m:10": 500})
    known({"100/m:5": 50}, idle)  # too few
    found = propose_by([everything, idle, RULE], timezone.now(), waiting())
    assert found is not None and found.rule == RULE and rates(found.most) == ["10/m"]
    full = replace(RULE, name="full")
    known({"100/m:over": 200}, full)
    assert propose_by([everything, full], timezone.now(), waiting()) == propose_by([everything], timezone.now(), waiting())
    assert propose_by([idle], timezone.now(), waiting()) is propose_by([], timezone.now(), waiting()) is None


def counted(decisions: Sequence[Any]) -> Sums:
    process = Counters(lambda: NOW_S)
    for decision in decisions:
        process.record([replace(decision, rule="search", outcome="passed" if decision else "would_refuse")])
    return process.held()[NOW_MINUTE]["search"]


def decided(times_ms: Sequence[int], window: Window) -> list[Any]:
    clock = iter(times_ms)
    limiter = Limiter(MemoryStore(), clock_ms=lambda: next(clock))
    return [limiter.hit("ip:203.0.113.9", [window]) for _ in times_ms]


@pytest.mark.parametrize("algorithm", ["sliding_window", "sliding_log", "fixed_window"])
def test_a_lower_limit_refuses_no_more_than_were_counted_above_it(algorithm: str) -> None:
    random_ = random.Random(21)
    for _ in range(40):
        span_ms = random_.choice([20_000, 100_000, 400_000])
        times_ms = sorted(1_000_000_000 + random_.randrange(span_ms) for _ in range(60))
        window = Window(20, MINUTE_MS, algorithm)
        used = counted(decided(times_ms, window)).used
        for limit in range(1, 20):
            refused = sum(not decision for decision in decided(times_ms, replace(window, limit=limit)))
            shares = {name.rpartition(":")[2]: count for name, count in used.items()}
            above = sum(count for share, count in shares.items() if share == "over" or int(share) * 20 > 100 * limit)
            assert refused <= above
