"""What is particular to the memory store: its bound, and its lock."""

from concurrent.futures import ThreadPoolExecutor

from ratewindow.limiter import Limiter, MemoryStore, Window
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
