"""What a client costs in the server's memory: the bars, and that traffic does not raise them."""

import random
from collections.abc import Iterator

import pytest
import redis

from ratewindow.limiter import Limiter, RedisStore, SlidingCounter, Window
from tests.limiter.clock import Clock

CLIENTS = 400
HOUR_MS = 3_600_000


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as client:
        try:
            client.memory_usage("nothing")
        except redis.ResponseError:
            pytest.skip("only a real server tells what it uses")
        yield client


def used(client: redis.Redis) -> int:
    return int(client.info("memory")["used_memory"])


def bytes_beyond_the_name(client: redis.Redis) -> float:
    """For each key what the server uses for it in full, without the characters of its name."""
    keys = client.keys("*")
    return max(client.memory_usage(key, samples=0) - len(key) for key in keys)


def busy(client: redis.Redis, window: Window, costs: list[int], calls: int = 150) -> None:
    """A few clients that come for two periods, in every bucket, with small and large costs."""
    clock, dice = Clock(), random.Random(29)
    limiter = Limiter(RedisStore(client), clock_ms=clock, believed_ms=0)
    for _ in range(calls):
        clock.now_ms += 2 * window.period_ms // calls
        for number in range(5):
            limiter.hit(f"user:{number}", [window], dice.choice(costs))


@pytest.mark.parametrize("limit", [10, 1000, 10**9])
def test_buckets_take_at_most_400_bytes_whatever_the_traffic(client: redis.Redis, limit: int) -> None:
    busy(client, Window(limit, HOUR_MS), [1, 1, min(limit, 10**6)])
    assert bytes_beyond_the_name(client) <= 400


@pytest.mark.parametrize(
    "window",
    [
        Window(10**9, HOUR_MS, "sliding_estimate"),
        Window(10**9, HOUR_MS, "fixed_window"),
        Window(1000, HOUR_MS, "token_bucket", burst=10**9),  # fuller than drains before it is looked at
        Window(1000, HOUR_MS, "leaky_bucket", burst=10**9),
    ],
    ids=lambda window: window.algorithm,
)
def test_counters_and_meters_take_at_most_120_bytes(client: redis.Redis, window: Window) -> None:
    busy(client, window, [1, 1, 10**6])
    assert bytes_beyond_the_name(client) <= 120


@pytest.mark.parametrize("events", [500, 5000])
def test_a_log_takes_at_most_16_bytes_an_event(client: redis.Redis, events: int) -> None:
    clock, window = Clock(), [Window(events, HOUR_MS, "sliding_log")]
    limiter = Limiter(RedisStore(client), clock_ms=clock)
    for _ in range(events):
        clock.now_ms += 3
        limiter.hit("user:42", window)
    assert bytes_beyond_the_name(client) <= 16 * events


def test_many_clients_take_what_one_key_says(client: redis.Redis) -> None:
    """By the server's whole memory, which knows of tables and expiries too."""
    clock = Clock()
    limiter = Limiter(RedisStore(client), clock_ms=clock)
    limiter.hit("warm", [Window(1000, HOUR_MS)])
    before = used(client)
    for number in range(CLIENTS):
        limiter.hit(f"user:{number}", [Window(1000, HOUR_MS)])
    names = sum(map(len, client.keys("*")))
    assert (used(client) - before - names) / CLIENTS <= 400


def test_names_of_keys_are_at_most_70_bytes(client: redis.Redis) -> None:
    limiter = Limiter(RedisStore(client), prefix="p" * 16)
    limiter.hit("header:x-api-key:" + "k" * 4000, [Window(10, HOUR_MS)], penalty_ms=1000)
    limiter.hit("header:x-api-key:" + "k" * 4000, [Window(10, HOUR_MS)], 11, penalty_ms=1000)
    SlidingCounter("1h", name="n" * 4000, store=client).add()
    assert max(map(len, client.keys("*"))) <= 70
