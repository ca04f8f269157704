"""What is particular to the memory store: its bound, and its lock."""

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ratewindow.limiter import Limiter, MemoryStore, Window
from ratewindow.limiter.algorithms import algorithm_choices
from ratewindow.limiter.types import Check
from tests.support.clock import Clock

ONE = [Window(1, period_ms=60_000)]


def test_it_keeps_no_more_than_its_bound() -> None:
    store = MemoryStore(most_keys=100)
    limiter = Limiter(store)
    for number in range(1000):
        limiter.hit(f"user:{number}", ONE)
    assert len(store) == 100


def test_a_flood_of_new_identities_does_not_free_a_refused_one() -> None:
    limiter = Limiter(MemoryStore(most_keys=100))
    limiter.hit("user:bad", ONE)
    assert not limiter.hit("user:bad", ONE)
    for number in range(1000):
        limiter.hit(f"user:{number}", ONE)
    assert not limiter.hit("user:bad", ONE)


def test_a_flood_of_new_identities_does_not_let_go_a_locked_one() -> None:
    clock = Clock()
    limiter = Limiter(MemoryStore(most_keys=100), clock_ms=clock)
    for _ in range(3):
        limiter.hit("user:bad", ONE, penalty_ms=600_000)
    clock.now_ms += 120_000
    for number in range(1000):
        limiter.hit(f"user:{number}", ONE)
        if number % 40 == 0:  # its window has room again: only the lock refuses
            assert limiter.hit("user:bad", ONE, penalty_ms=600_000).reason == "penalty"


def test_a_flood_of_refused_identities_leaves_no_new_client_uncounted() -> None:
    limiter = Limiter(MemoryStore(most_keys=100))
    for number in range(1000):
        assert limiter.hit(f"user:{number}", ONE)
        assert not limiter.hit(f"user:{number}", ONE)


def test_sixteen_threads_admit_exactly_the_limit() -> None:
    limiter, windows = Limiter(MemoryStore()), [Window(50, period_ms=60_000)]
    with ThreadPoolExecutor(16) as pool:
        verdicts = list(pool.map(lambda _: limiter.hit("user:42", windows).allowed, range(400)))
    assert sum(verdicts) == 50


@pytest.mark.parametrize("options", [{}, {"enforce": False}, {"penalty_ms": 700, "lock": "lock"}, {"counts_refused": True}])
@pytest.mark.parametrize("algorithm", [name for name, _ in algorithm_choices()])
def test_whether_a_hit_is_refused_is_what_its_whole_answer_says(algorithm: str, options: dict[str, Any]) -> None:
    """And it leaves the same behind, also where the limit is edited meanwhile and the clock goes back."""
    chance, asked, whole, refused = random.Random(11), MemoryStore(40), MemoryStore(40), 0
    now_ms = 1_000_000
    for _ in range(2000):
        now_ms += chance.choice((0, 0, 1, 30, 400, -50, chance.randrange(3000)))
        limits = (chance.choice((3, 3, 3, 2, 0)), 6)
        windows = tuple(Window(limit, ms, algorithm) for limit, ms in zip(limits, (500, 2000), strict=True))
        client = chance.randrange(30)
        check = Check("rule", windows, (f"a{client}", f"b{client}"), chance.choice((1, 1, 1, 2, 4, 0)), **options)
        found = asked.refuses(check, now_ms)
        assert found == whole.run([check], "hit", now_ms)[0].refuses
        refused += found
        assert len(asked) == len(whole)
    assert 200 < refused < 1900
