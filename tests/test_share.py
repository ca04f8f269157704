"""This process's share of a limit: how much it is, and what it remembers."""

import time

import pytest

from ratewindow import share
from ratewindow.limiter.types import Check, Window


@pytest.fixture(autouse=True)
def _nothing_counted():
    share._begin_anew()
    yield
    share._begin_anew()


def check(limit=10, cost=1, period_ms=60_000, who="a", **more):
    return Check("api", (Window(limit, period_ms, **more),), (f"rw:s:{who}",), cost)


def admitted(*checks):
    return [all(part.allowed for part in share.decide(list(checks), "hit"))]


@pytest.mark.parametrize(
    ("limit", "processes", "share_of_it"), [(10, 1, 10), (10, 3, 3), (10, 10, 1), (10, 11, 1), (1, 4, 1), (0, 1, 0), (0, 4, 0)]
)
def test_a_share_is_at_least_one_unit_but_nothing_of_nothing(limit, processes, share_of_it):
    assert share.share_of(limit, processes) == share_of_it


def test_a_limit_of_nothing_refuses_all(settings):
    settings.RATEWINDOW = {**settings.RATEWINDOW, "LOCAL_PROCESSES": 4}
    assert admitted(check(limit=0)) == [False]
    assert admitted(check(limit=0, algorithm="token_bucket")) == [False]


def test_a_cost_above_the_share_is_charged_as_the_share(settings):
    settings.RATEWINDOW = {**settings.RATEWINDOW, "LOCAL_PROCESSES": 5}
    assert [*admitted(check(cost=7)), *admitted(check(cost=7))] == [True, False]


def test_a_cost_above_the_limit_never_passes_here_either(settings):
    settings.RATEWINDOW = {**settings.RATEWINDOW, "LOCAL_PROCESSES": 5}
    (told,) = share.decide([check(cost=11)], "hit")
    assert (told.allowed, told.reason, told.retry_after) == (False, "cost", None)


def test_a_bucket_shares_what_it_admits_at_once_and_what_it_admits_after(settings):
    settings.RATEWINDOW = {**settings.RATEWINDOW, "LOCAL_PROCESSES": 4}
    bucket = check(limit=60, burst=8, algorithm="token_bucket")
    told = [share.decide([bucket], "hit")[0] for _ in range(3)]
    assert [part.allowed for part in told] == [True, True, False]
    assert told[-1].retry_after == pytest.approx(4, abs=0.1)  # 15 a minute


def test_memory_is_bounded_whoever_comes(monkeypatch):
    for number in range(share.MOST_STATES + 500):
        share.decide([check(who=str(number))], "hit")
    assert len(share._counted.store) == share.MOST_STATES


def test_counts_are_let_go_when_no_window_remembers_them(monkeypatch):
    share.decide([check(period_ms=60_000)], "hit")
    share._tidy()
    assert len(share._counted.store) == 1
    now_s = time.monotonic()
    monkeypatch.setattr(share.time, "monotonic", lambda: now_s + 61)
    share._tidy()
    assert len(share._counted.store) == 0


def test_a_fork_has_a_share_of_its_own():
    share.decide([check(limit=1)], "hit")
    share._begin_anew()
    assert admitted(check(limit=1)) == [True]
