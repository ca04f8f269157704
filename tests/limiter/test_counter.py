"""The counter without a limit, on every store."""

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import redis
import redis.asyncio

from ratewindow.limiter import AsyncRedisStore, MemoryStore, RedisStore, SlidingCounter
from ratewindow.limiter.limiter import Store
from tests.support.clock import Clock


def test_it_counts_what_was_added_in_the_window_and_less_than_its_resolution_longer(store: Store, clock: Clock) -> None:
    dice = random.Random(5)
    counter = SlidingCounter(5, "seconds", store=store, clock_ms=clock)
    added: list[tuple[int, int]] = []
    for _ in range(500):
        clock.now_ms += dice.choice([0, 1, 50, 83, 84, 85, 700, dice.randrange(6000)])
        added.append((clock.now_ms, dice.choice([0, 1, 1, 2, 5000])))
        told = counter.add(added[-1][1])
        exact = sum(n for at, n in added if clock.now_ms - at < 5000)
        at_most = sum(n for at, n in added if clock.now_ms - at < 5000 + counter.resolution_ms)
        assert exact <= told <= at_most
        assert counter.get() == told


@pytest.mark.parametrize(
    ("length", "unit", "resolution_ms"),
    [
        (1, "second", 17),
        (5, "seconds", 84),
        (60, "seconds", 1000),
        (600, "seconds", 1000),
        (3600, "seconds", 3600),
        (1, "hour", 60_000),
        ("1d2h3m4s", None, 1_563_067),
        (timedelta(minutes=1), None, 1000),
        (7, "ms", 1),
    ],
)
def test_its_resolution_is_a_sixtieth_or_a_finer_unit(length: int | str, unit: str | None, resolution_ms: int) -> None:
    assert SlidingCounter(length, unit).resolution_ms == resolution_ms


def test_buckets_choose_another_resolution() -> None:
    assert SlidingCounter(5, "seconds", buckets=5).resolution_ms == 1000


def test_counters_of_one_name_and_length_share_a_store_and_others_do_not(store: Store, clock: Clock) -> None:
    SlidingCounter(5, "seconds", name="logins", store=store, clock_ms=clock).add(3)
    assert SlidingCounter(5, "seconds", name="logins", store=store, clock_ms=clock).get() == 3
    assert SlidingCounter(6, "seconds", name="logins", store=store, clock_ms=clock).get() == 0
    assert SlidingCounter(5, "seconds", name="orders", store=store, clock_ms=clock).get() == 0


def test_without_a_store_each_counts_for_itself() -> None:
    SlidingCounter(5, "seconds").add()
    assert SlidingCounter(5, "seconds").get() == 0


def test_it_needs_neither_django_nor_a_server() -> None:
    program = "from ratewindow.limiter import *; import sys; print(SlidingCounter('1m').add(3), 'django' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout == "3 False\n"


def test_large_amounts_over_long_periods_are_exact(store: Store, clock: Clock) -> None:
    counter = SlidingCounter("52w", store=store, clock_ms=clock)
    for _ in range(3):
        clock.now_ms += 7 * 86_400_000
        counter.add(123_456_789_012_345)
    assert counter.get() == 370_370_367_037_035


def test_no_add_is_lost_among_threads(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        for counter in (SlidingCounter("1h", store=client), SlidingCounter("1h")):
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda _, counter=counter: counter.add(3), range(200)))
            assert counter.get() == 600


def test_a_client_is_as_good_as_a_store_and_its_key_expires(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        counter = SlidingCounter(5, "seconds", name="logins " * 100, store=client)
        counter.add(3)
        assert SlidingCounter(5, "seconds", name="logins " * 100, store=RedisStore(client)).get() == 3
        (key,) = client.keys("*")
        assert 4000 < client.pttl(key) <= 5000 + counter.resolution_ms
        assert len(key) <= 70


async def test_asynchronous_callers_share_it_with_synchronous_ones(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        SlidingCounter("1h", store=client).add(3)
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        assert await SlidingCounter("1h", store=client).aadd() == 4
        counter = SlidingCounter("1h", store=AsyncRedisStore(client))
        assert await counter.aget() == 4
        with pytest.raises(TypeError, match="begin with an a"):
            counter.get()
    in_memory = SlidingCounter("1h", store=MemoryStore())
    assert (await in_memory.aadd(2), await in_memory.aget()) == (2, 2)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((0, "seconds"), "length 0: write a whole number of seconds, at least 1"),
        ((1.5, "seconds"), "length 1.5"),
        ((5, "fortnights"), "'fortnights' is not a unit of time"),
        ((5, "month"), "write 30d"),
        ((5,), "5 has no unit"),
        (("soon",), "'soon' is not a duration"),
        ((10**9, "weeks"), "too long to be counted"),
    ],
)
def test_a_bad_length_is_named_with_the_remedy(arguments: tuple[object, ...], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        SlidingCounter(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("buckets", [0, 1001, 1.5])
def test_a_bad_number_of_buckets_is_named(buckets: object) -> None:
    with pytest.raises(ValueError, match=f"buckets {buckets}: write 1 to 1000"):
        SlidingCounter(5, "seconds", buckets=buckets)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [-1, 1.5, True, "1", 2**53])
def test_a_bad_amount_is_named(n: object) -> None:
    with pytest.raises(ValueError, match="write a whole number from 0"):
        SlidingCounter(5, "seconds").add(n)  # type: ignore[arg-type]


def test_a_counter_stops_where_it_stays_exact(store: Store) -> None:
    """And holds up no server, however often so many are added."""
    counter = SlidingCounter("1m", store=store, clock_ms=Clock())
    assert [counter.add(2**52) for _ in range(5)] == [2**52] * 5
