"""Hits that are kept as times alone are decided as the engine decides all of them, and leave the same behind."""

import random

import pytest

from ratewindow.limiter import MemoryStore, Window
from ratewindow.limiter.algorithms import algorithm, algorithm_choices
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


def windows_of(name):
    """A few limits that are reached now and then; `sliding_window` counts the second one in buckets of 572 ms."""
    buckets = {"buckets": 7} if name == "sliding_window" else {}
    return Window(5, 500, name), Window(160, 4_000, name, **buckets), Window(400, 60_000, name)


def decide_both(windows, hits, sweep_after=0, **options):
    """How many hits a course admits without a state, and refuses, while it decides as a store that gets all of them."""
    course, plain, sparsely, refused = Course(Known()), MemoryStore(10**6), 0, 0
    for number, (now_ms, client, cost) in enumerate(hits, 1):
        if sweep_after and not number % sweep_after:
            forget(course, windows, now_ms)
        check = check_of(windows, client, cost=cost, **options)
        found = course.refuses(check, now_ms)
        assert found == plain.refuses(check, now_ms), f"hit {number} of {client} at {now_ms - START_MS} ms"
        sparsely += check.keys[0] in course._sparse._times
        refused += found
    clients = {client for _, client, _ in hits}
    for client in clients:
        check = check_of(windows, client)
        course._sparse.settle(check)
        now_ms = hits[-1][0]
        assert course._store.run([check], "peek", now_ms) == plain.run([check], "peek", now_ms)
    return sparsely, refused


def forget(course, windows, now_ms):
    """What a sweep forgets: the client's next hit is a new one's."""
    course._sparse.forget(now_ms)
    over = [lambda state, window=window: algorithm(window.algorithm).reading(window, state, now_ms).empty for window in windows]
    course._store.forget(lambda key, state: over[int(key[0])](state))


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
@pytest.mark.parametrize("name", ALGORITHMS)
def test_each_hit_is_decided_as_by_the_engine_alone(name, seed):
    sparsely, refused = decide_both(windows_of(name), some_hits(seed), sweep_after=(0, 7, 500)[seed % 3])
    assert refused > 100
    assert sparsely > 100 if name in BY_TIMES else not sparsely


@pytest.mark.parametrize("window", [Window(1, 500), Window(3, 500, "sliding_log"), Window(160, 4_000, buckets=7)])
def test_a_hit_has_room_again_once_the_first_counts_no_longer(window):
    lasts_ms = algorithm(window.algorithm).lasts(window)
    for begin_ms in range(START_MS, START_MS + 600, 37):
        for late in (-1, 0, 1):
            hits = [(begin_ms, "a", 1)] * window.limit + [(begin_ms + lasts_ms + late, "a", 1)] * (window.limit + 1)
            sparsely, refused = decide_both((window,), hits)
            assert refused > 0
            assert sparsely == window.limit * (1 if late < 0 else 2)


@pytest.mark.parametrize("name", BY_TIMES)
def test_costs_are_the_engines(name):
    _, refused = decide_both(windows_of(name), some_hits(3, costs=(1, 1, 1, 1, 1, 1, 1, 1, 2, 0, 161)))
    assert refused > 100


@pytest.mark.parametrize("options", [{"penalty_ms": 700, "lock": "lock"}, {"counts_refused": True}, {"only_looks": True}])
def test_what_depends_on_more_than_times_is_the_engines(options):
    sparsely, _ = decide_both(windows_of("sliding_window"), some_hits(4), **options)
    assert not sparsely


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", BY_TIMES)
def test_a_client_has_a_bounded_number_of_times(name, seed, monkeypatch):
    monkeypatch.setattr(sparse, "MOST_TIMES", 20)
    most, forget = [], sparse.Sparse.forget

    def counting(self, now_ms):
        most.append(max(map(len, self._times.values()), default=0))
        forget(self, now_ms)

    monkeypatch.setattr(sparse.Sparse, "forget", counting)
    chance, now_ms, hits = random.Random(seed), START_MS, []
    for _ in range(4000):  # as many as the limit in most windows, and now and then one more
        now_ms += 5_000 if chance.random() < 0.01 else chance.randrange(198, 204)
        hits.append((now_ms, "a", 1))
    _, refused = decide_both((Window(20, 4_000, name),), hits, sweep_after=1)
    assert refused
    assert 20 < max(most) <= 40


@pytest.mark.parametrize("limit", [1, 3, 30])
def test_a_client_has_no_more_times_than_its_limits_need(limit):
    store = MemoryStore()
    clients, windows = sparse.Sparse(store), (Window(1, 500), Window(limit, 1_000))
    for number in range(3_000):
        assert clients.admits(check_of(windows, "a"), START_MS + 10_000 * number)
    assert len(clients._times["0{a}"]) <= 2 * limit


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
