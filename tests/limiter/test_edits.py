"""Limits that are edited while clients are counted: an edit acts at once and keeps what was counted."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from threading import Event

import pytest
import redis

from ratewindow.limiter import Limiter, RedisStore, Window
from tests.support.clock import Clock
from tests.support.histories import ALGORITHMS

MINUTE_MS = 60_000

pytestmark = pytest.mark.usefixtures("never_expiring")  # the server's own time is not the test's

Edit = Callable[[int], list[Window]]


def edited(algorithm: str) -> Edit:
    """The window of that algorithm, by its limit; the leaky bucket lets as many come at once, so that it counts them."""
    return lambda limit: [Window(limit, MINUTE_MS, algorithm, burst=max(1, limit) if algorithm == "leaky_bucket" else None)]


def admitted(limiter: Limiter, windows: list[Window], calls: int) -> int:
    return sum(limiter.hit("user:42", windows).allowed for _ in range(calls))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_raised_from_50_to_60_at_50_of_50_lets_ten_more_pass_at_once(limiter: Limiter, algorithm: str) -> None:
    window = edited(algorithm)
    assert admitted(limiter, window(50), 70) == 50
    assert limiter.peek("user:42", window(60)).remaining == 10
    assert admitted(limiter, window(60), 70) == 10


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_cut_to_40_lets_nobody_pass_until_the_count_is_below_40(limiter: Limiter, clock: Clock, algorithm: str) -> None:
    window = edited(algorithm)
    for _ in range(50):
        clock.now_ms += 200
        assert limiter.hit("user:42", window(50))
    refused = limiter.hit("user:42", window(40))
    assert (refused.allowed, refused.remaining) == (False, 0)
    assert refused.retry_after is not None
    end_ms = clock.now_ms + round(refused.retry_after * 1000)
    for before_ms in (40_000, 20_000, 5000, 1000, 50, 1):
        if end_ms - before_ms > clock.now_ms:
            clock.now_ms = end_ms - before_ms
            assert not limiter.hit("user:42", window(40))
    clock.now_ms = end_ms
    assert limiter.hit("user:42", window(40))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_cut_to_nothing_and_back_keeps_the_count(limiter: Limiter, algorithm: str) -> None:
    window = edited(algorithm)
    assert admitted(limiter, window(50), 30) == 30
    assert admitted(limiter, window(0), 5) == 0
    assert admitted(limiter, window(50), 70) == 20


@pytest.mark.parametrize(("before", "after"), [pair for pair in permutations(ALGORITHMS, 2) if "sliding_window" in pair])
def test_an_algorithm_changed_under_load_admits_one_more_limit_and_no_more(redis_url: str, before: str, after: str) -> None:
    windows, changed = [edited(before)(20)], Event()

    def ask(number: int) -> bool:
        if number == 200:
            windows[0] = edited(after)(20)
            changed.set()
        return limiter.hit("user:42", windows[0]).allowed

    with redis.Redis.from_url(redis_url) as client, ThreadPoolExecutor(8) as pool:
        clock = Clock()
        limiter = Limiter(RedisStore(client), clock_ms=clock)
        assert sum(pool.map(ask, range(400))) == 40
        assert changed.is_set()
