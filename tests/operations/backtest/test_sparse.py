"""Hits that are kept as times alone are decided as the engine decides all of them, and leave the same behind."""

import random

import pytest

from ratewindow.limiter import MemoryStore, Window
from ratewindow.limiter.algorithms import algorithm_choices
from ratewindow.limiter.types import Check
from ratewindow.operations.backtest import sparse
from ratewindow.operations.backtest.course import Course
from ratewindow.operations.backtest.known import Known
from ratewindow.operations.backtest.plan import of_rates
from ratewindow.operations.backtest.run import backtest
from tests.support.backtest_logs import Heard, Logged, asked

ALGORITHMS = [name for name, _ in algorithm_choices()]
BY_TIMES = ("sliding_window", "sliding_log")  # the others ask the engine about every hit
START_MS = 1_790_000_000_000


def check_of(windows, client, **options):
    keys = tuple(f"{number}{{{client}}}" for number in range(len(windows)))
    return Check("rule", windows, keys, identity=str(client), **options)


def windows_of(algorithm):
    """A few limits that are reached now and then; `sliding_window` counts the second one in buckets of 572 ms."""
    buckets = {"buckets": 7} if algorithm == "sliding_window" else {}
    return Window(5, 500, algorithm), Window(160, 4_000, algorithm, **buckets), Window(400, 60_000, algorithm)


def decide_both(algorithm, hits, sweep_after=0, **options):
    """How many hits a course admits without a state, and refuses, while it decides as a store that gets all of them."""
    course, plain, windows, sparsely, refused = Course(Known()), MemoryStore(10**6), windows_of(algorithm), 0, 0
    for number, (now_ms, client, cost) in enumerate(hits, 1):
        check = check_of(windows, client, cost=cost, **options)
        found = course.refuses(check, now_ms)
        assert found == plain.refuses(check, now_ms), f"hit {number} of {client} at {now_ms - START_MS} ms"
        sparsely += check.keys[0] in course._sparse._times
        refused += found
        if sweep_after and not number % sweep_after:
            course._sparse.forget(now_ms)
    clients = {client for _, client, _ in hits}
    for client in clients:
        check = check_of(windows, client)
        course._sparse.settle(check)
        now_ms = hits[-1][0]
        assert course._store.run([check], "peek", now_ms) == plain.run([check], "peek", now_ms)
    return sparsely, refused


def some_hits(seed, costs=(1,)):
    """Of few clients in bursts, and in pauses as long as a window and its last bucket, a little shorter and longer."""
    chance, now_ms, hits = random.Random(seed), START_MS, []
    pauses = [period + late for period in (500, 4_000, 4_571, 60_000) for late in (-1, 0, 1)]
    for _ in range(5000):
        usual = chance.choice((0, 0, 1, 5, 10, 20, 60, 100))
        now_ms += usual if chance.random() < 0.99 else chance.choice(pauses)
        hits.append((now_ms, chance.choice((1, 1, 1, 1, 1, 1, 1, 2, 3, chance.randrange(4, 60))), chance.choice(costs)))
    return hits


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_each_hit_is_decided_as_by_the_engine_alone(algorithm, seed):
    sparsely, refused = decide_both(algorithm, some_hits(seed), sweep_after=(0, 7, 500)[seed % 3])
    assert refused > 100
    assert sparsely > 100 if algorithm in BY_TIMES else not sparsely


@pytest.mark.parametrize("algorithm", BY_TIMES)
def test_costs_are_the_engines(algorithm):
    _, refused = decide_both(algorithm, some_hits(3, costs=(1, 1, 1, 1, 1, 1, 1, 1, 2, 0, 161)))
    assert refused > 100


@pytest.mark.parametrize("options", [{"penalty_ms": 700, "lock": "lock"}, {"counts_refused": True}, {"only_looks": True}])
def test_what_depends_on_more_than_times_is_the_engines(options):
    sparsely, _ = decide_both("sliding_window", some_hits(4), **options)
    assert not sparsely


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("algorithm", BY_TIMES)
def test_a_client_has_a_bounded_number_of_times(algorithm, seed, monkeypatch):
    monkeypatch.setattr(sparse, "MOST_TIMES", 20)
    most, forget = [], sparse.Sparse.forget

    def counting(self, now_ms):
        most.append(max(map(len, self._times.values()), default=0))
        forget(self, now_ms)

    monkeypatch.setattr(sparse.Sparse, "forget", counting)
    decide_both(algorithm, some_hits(seed), sweep_after=1)
    assert 5 < max(most) <= 40


def test_times_are_forgotten_once_none_of_them_counts():
    store = MemoryStore()
    clients, windows = sparse.Sparse(store), (Window(5, 500), Window(50, 4_000))
    assert clients.admits(check_of(windows, "early"), START_MS)
    assert clients.admits(check_of(windows, "late"), START_MS + 1)
    clients.forget(START_MS + 4_000)
    assert len(clients) == 1
    clients.forget(START_MS + 4_001)
    assert len(clients) == 0
    assert len(store) == 0


def test_requests_that_are_judged_by_all_steps_meet_what_came_before(monkeypatch):
    """Those for our own pages in the admin are, since a refusal may be lifted there."""
    log = [asked(number, target="/") for number in range(3)]
    log += [asked(3, target="/admin/ratewindow/"), asked(4, target="/")]
    heard = Heard(monkeypatch, log)
    backtest(Logged(log), of_rates("3/m"))
    assert heard[0] == [False, False, False, True, True]
