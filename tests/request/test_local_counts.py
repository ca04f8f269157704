"""This process's share of a limit: how much it is, and what it remembers."""

import bisect
import random

import pytest

from ratewindow.limiter.memory import MemoryStore
from ratewindow.limiter.penalties import Growing
from ratewindow.limiter.reply import decision
from ratewindow.limiter.types import Check, Window
from ratewindow.request import without_redis
from tests.support.clock import Clock


@pytest.fixture(autouse=True)
def _nothing_counted():
    without_redis.forget_counts()
    yield
    without_redis.forget_counts()


def check(limit=10, cost=1, period_ms=60_000, who="a", **more):
    return Check("api", (Window(limit, period_ms, **more),), (f"rw:s:{who}",), cost)


def admitted(*checks):
    return [all(part.allowed for part in without_redis.count_here(list(checks), "hit"))]


@pytest.mark.parametrize(
    ("limit", "processes", "share_of_it"), [(10, 1, 10), (10, 3, 3), (10, 10, 1), (10, 11, 1), (1, 4, 1), (0, 1, 0), (0, 4, 0)]
)
def test_a_share_is_at_least_one_unit_but_nothing_of_nothing(limit, processes, share_of_it):
    assert without_redis.share_of(limit, processes) == share_of_it


def test_a_limit_of_nothing_refuses_all(settings):
    settings.RATEWINDOW = {**settings.RATEWINDOW, "LOCAL_PROCESSES": 4}
    assert admitted(check(limit=0)) == [False]
    assert admitted(check(limit=0, algorithm="token_bucket")) == [False]


def test_a_penalty_grows_here_too(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(without_redis, "_counted", MemoryStore(clock_ms=clock))
    locking, waits = check(limit=1, period_ms=10)._replace(penalty_ms=Growing((1000, 5000), 60_000), lock="rw:s:lock"), []
    for _ in range(3):
        without_redis.count_here([locking], "hit")
        (told,) = without_redis.count_here([locking], "hit")
        waits.append(told.retry_after)
        clock.now_ms += 5000
    assert waits == [1, 5, 5]


def test_a_cost_above_the_share_is_charged_as_the_share(settings):
    settings.RATEWINDOW = {**settings.RATEWINDOW, "LOCAL_PROCESSES": 5}
    assert [*admitted(check(cost=7)), *admitted(check(cost=7))] == [True, False]


def test_a_cost_above_the_limit_never_passes_here_either(settings):
    settings.RATEWINDOW = {**settings.RATEWINDOW, "LOCAL_PROCESSES": 5}
    (told,) = without_redis.count_here([check(cost=11)], "hit")
    assert (told.allowed, told.reason, told.retry_after) == (False, "cost", None)


def test_a_bucket_shares_what_it_admits_at_once_and_what_it_admits_after(settings):
    settings.RATEWINDOW = {**settings.RATEWINDOW, "LOCAL_PROCESSES": 4}
    bucket = check(limit=60, burst=8, algorithm="token_bucket")
    told = [without_redis.count_here([bucket], "hit")[0] for _ in range(3)]
    assert [part.allowed for part in told] == [True, True, False]
    assert told[-1].retry_after == pytest.approx(4, abs=0.1)  # 15 a minute


def test_memory_is_bounded_whoever_comes(monkeypatch):
    for number in range(without_redis.MOST_STATES + 500):
        without_redis.count_here([check(who=str(number))], "hit")
    assert len(without_redis._counted) == without_redis.MOST_STATES


def test_a_fork_has_a_share_of_its_own():
    without_redis.count_here([check(limit=1)], "hit")
    without_redis.forget_counts()
    assert admitted(check(limit=1)) == [True]


@pytest.mark.parametrize("algorithm", ["sliding_window", "sliding_log"])
@pytest.mark.parametrize("seed", range(20))
def test_however_a_store_comes_and_goes_no_period_admits_more_than_the_limit_and_every_share(settings, seed, algorithm):
    dice = random.Random(seed)
    processes, limit, period_ms = dice.randint(1, 6), dice.randint(1, 30), 10_000
    settings.RATEWINDOW = {**settings.RATEWINDOW, "LOCAL_PROCESSES": processes}
    now_ms, admitted = 1_000_000, []
    store = MemoryStore(clock_ms=lambda: now_ms)
    counted = [MemoryStore(clock_ms=lambda: now_ms) for _ in range(processes)]
    reaches = [True] * processes
    asked = check(limit=limit, period_ms=period_ms, algorithm=algorithm)
    for _ in range(3_000):
        now_ms += dice.choice([0, 1, 5, 50, 400])
        number = dice.randrange(processes)
        if dice.random() < 0.05:
            reaches[number] = not reaches[number]
        if reaches[number]:
            passes = decision([asked], store.run([asked], "hit")).allowed
        else:
            without_redis._counted = counted[number]
            passes = without_redis.count_here([asked], "hit")[0].allowed
        if passes:
            admitted.append(now_ms)
    bound = limit + processes * without_redis.share_of(limit, processes)
    for first, start_ms in enumerate(admitted):
        assert bisect.bisect_left(admitted, start_ms + period_ms) - first <= bound
    assert len(admitted) > bound  # the history is one in which something was refused and admitted again
