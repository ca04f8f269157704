"""What a client costs in the server's memory: the bars, and that traffic does not raise them."""

import random
from collections.abc import Iterator

import pytest
import redis

from ratewindow.limiter import Limiter, RedisStore, SlidingCounter, Window
from ratewindow.limiter.rates import parse_rates
from tests.support.clock import Clock
from tests.support.footprint import busy, bytes_beyond_the_name, bytes_each

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


@pytest.mark.parametrize("limit", [10, 1000, 10**9])
def test_buckets_take_at_most_400_bytes_whatever_the_traffic(client: redis.Redis, limit: int) -> None:
    busy(client, Window(limit, HOUR_MS), [1, 1, min(limit, 10**6)])
    assert bytes_beyond_the_name(client) <= 400


@pytest.mark.parametrize("rate", ["5/m", "60/m", "150/m", "60/h", "100/h", "75/d", "60/90d"])
def test_times_take_at_most_400_bytes_in_bursts_and_evenly(client: redis.Redis, rate: str) -> None:
    """Also where a state was just lengthened in place, for which a server takes more than it needs."""
    [window] = parse_rates(rate)
    clock, dice, most = Clock(), random.Random(31), 0.0
    limiter = Limiter(RedisStore(client), clock_ms=clock, believed_ms=0)
    for number in range(4 * window.limit):
        clock.now_ms += 1 if number < window.limit else dice.choice([0, 1, 1, window.period_ms // window.limit])
        limiter.hit("user:42", [window])
        most = max(most, bytes_beyond_the_name(client))
    assert most <= 400


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
    limiter = Limiter(RedisStore(client), clock_ms=Clock())
    limiter.hit("user:0", [Window(1000, HOUR_MS)])
    client.flushdb()  # the script stays

    def come() -> None:
        for number in range(CLIENTS):
            limiter.hit(f"user:{number}", [Window(1000, HOUR_MS)])

    assert bytes_each(client, come) <= 400


def test_names_of_keys_are_at_most_70_bytes(client: redis.Redis) -> None:
    limiter = Limiter(RedisStore(client), prefix="p" * 16)
    limiter.hit("header:x-api-key:" + "k" * 4000, [Window(10, HOUR_MS)], penalty_ms=1000)
    limiter.hit("header:x-api-key:" + "k" * 4000, [Window(10, HOUR_MS)], 11, penalty_ms=1000)
    SlidingCounter("1h", name="n" * 4000, store=client).add()
    assert max(map(len, client.keys("*"))) <= 70
