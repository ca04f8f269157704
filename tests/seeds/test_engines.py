"""Each system this one descends from, as its user knows it: what it promised holds here, and its known defect does not.

Those that count, on a real server; `test_sites` has those that throttle web sites. Numbers tell them apart, no more.
"""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis

from ratewindow.limiter import Decision, Limiter, MemoryStore, RedisStore, SlidingCounter, Window, is_action_allowed
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.redis.commands import SLACK_MS
from tests.support.clock import Clock

MINUTE_MS = 60_000


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as client:
        yield client


def round_trips(client: redis.Redis, act: Callable[[], object]) -> int:
    """How often the server had to read from its clients while `act` ran, the question itself not counted."""
    before = client.info("stats")["total_reads_processed"]
    act()
    return int(client.info("stats")["total_reads_processed"]) - before - 1


def test_s1_a_local_counter_reads_3_2_0_as_in_its_article_and_nothing_leaves_early() -> None:
    """Its own dropped a bucket up to a unit early; ours keeps it for less than `resolution_ms` longer."""
    for phase_ms in range(0, 1000, 7):
        clock = Clock(1_700_000_000_000 + phase_ms)
        counter = SlidingCounter(5, "seconds", clock_ms=clock)
        counter.add(1)
        clock.now_ms += 3000
        counter.add(2)
        read = []
        for seconds in (1, 3, 2):
            clock.now_ms += seconds * 1000
            read.append(counter.get())
        assert read == [3, 2, 0]

        counter.add(1)
        clock.now_ms += 4999
        assert counter.get() == 1
        clock.now_ms += counter.resolution_ms
        assert counter.get() == 0


@pytest.mark.usefixtures("never_expiring")
def test_s2_a_counter_shared_by_servers_slides(server: redis.Redis) -> None:
    """Its own mixed seconds with milliseconds, so that nothing ever left: it read 8."""
    for phase_ms in range(0, 500, 41):
        clock = Clock(1_700_000_000_000 + phase_ms)
        one, other = (SlidingCounter(1, "second", name=f"{phase_ms}", store=server, clock_ms=clock) for _ in range(2))
        read = []
        for number in range(8):
            (one, other)[number % 2].add()
            read.append(one.get())
            assert other.get() == read[-1]
            clock.now_ms += 500
        assert read[0] == 1
        assert set(read[1:]) <= {2, 3}


def test_s4_a_log_keeps_what_comes_in_the_same_tick(server: redis.Redis, clock: Clock) -> None:
    """A sorted set with the time as its member keeps one of fifty, and admits them all."""
    limiter, windows = Limiter(RedisStore(server), clock_ms=clock, believed_ms=0), [Window(5, MINUTE_MS, "sliding_log")]
    assert sum(limiter.hit("user:42", windows).allowed for _ in range(50)) == 5


def test_s5_a_log_does_not_record_what_it_refused(server: redis.Redis, clock: Clock) -> None:
    """Where refusals are recorded, a client that keeps trying never comes in again."""
    limiter, windows = Limiter(RedisStore(server), clock_ms=clock, believed_ms=0), [Window(5, MINUTE_MS, "sliding_log")]
    admitted = 0
    for _ in range(600):
        clock.now_ms += 1000
        admitted += limiter.hit("user:42", windows).allowed
    assert admitted == 50
    (key,) = server.keys("rwl:*")
    assert server.llen(key) == 6  # five that count, and the one before them


@pytest.mark.usefixtures("never_expiring")
def test_s6_sub_windows_of_a_chosen_number_take_constant_memory_and_one_round_trip(server: redis.Redis, clock: Clock) -> None:
    """Its hash took three round trips for each request, and was off by one cell at an edge."""
    limiter, windows = Limiter(RedisStore(server), clock_ms=clock, believed_ms=0), [Window(100, MINUTE_MS, buckets=10)]
    limiter.hit("user:42", windows)
    assert round_trips(server, lambda: limiter.hit("user:42", windows)) == 1
    dice, admitted, sizes = random.Random(31), [], []
    for _ in range(3000):
        clock.now_ms += dice.choice([0, 1, 200, 5999, 6000, 6001]) if dice.random() < 0.3 else 20
        if limiter.hit("user:42", windows):
            admitted.append(clock.now_ms)
        assert sum(clock.now_ms - at < MINUTE_MS for at in admitted[-200:]) <= 100
        sizes.append(server.strlen(server.keys("rwl:*")[0]))
    assert len(admitted) > 500
    assert max(sizes) < 310


def test_s7_periods_are_written_1d2h3m4s_and_amounts_count_for_a_user_and_for_all(server: redis.Redis, clock: Clock) -> None:
    """It needed an expiry for each field of a hash, which only its own server has."""
    (daily,) = parse_rates("1000/1d2h3m4s")
    assert daily.period_ms == 93_784_000
    limiter = Limiter(RedisStore(server), clock_ms=clock, believed_ms=0)
    total = [Window(1500, daily.period_ms)]
    assert limiter.hit("user:1", [daily], 900)
    assert limiter.hit("all", total, 900)
    assert not limiter.hit("user:1", [daily], 200)
    assert limiter.hit("user:2", [daily], 700)
    assert not limiter.hit("all", total, 700)
    assert all(server.pttl(key) > 0 for key in server.keys("*"))


def test_s8_count_first_and_compare_raises_an_alarm_and_compare_first_blocks(server: redis.Redis, clock: Clock) -> None:
    """Both orders of its risk control, with amounts."""
    paid = SlidingCounter("1d2h3m4s", name="paid by user:42", store=server, clock_ms=clock)
    alarms = [paid.add(amount) > 1000 for amount in (400, 500, 200, 300)]
    assert alarms == [False, False, True, True]
    assert paid.get() == 1400

    limiter, windows = Limiter(RedisStore(server), clock_ms=clock, believed_ms=0), [Window(1000, paid_ms := 93_784_000)]
    assert [limiter.hit("user:42", windows, amount).allowed for amount in (400, 500, 200, 100)] == [True, True, False, True]
    clock.now_ms += paid_ms + paid.resolution_ms
    assert paid.get() == 0
    assert limiter.peek("user:42", windows).remaining == 1000


def test_s10_the_same_helper_call_and_exact_among_threads(server: redis.Redis) -> None:
    """Its own read, compared and wrote in several calls, between which others came through."""
    assert [is_action_allowed(42, "reply", 60, 3) for _ in range(5)] == [True, True, True, False, False]
    assert is_action_allowed(43, "reply", 60, 3)
    assert is_action_allowed(42, "post", 60, 3)
    store = RedisStore(server)
    with ThreadPoolExecutor(8) as pool:
        told = pool.map(lambda _: is_action_allowed("42", "reply", 60, 5, store=store), range(80))
    assert sum(told) == 5


def test_s11_no_race_leaves_a_counter_that_never_ends(server: redis.Redis, clock: Clock) -> None:
    """GET, then INCR, then EXPIRE: who died before the last locked a client out for ever."""
    limiter, windows = Limiter(RedisStore(server), clock_ms=clock, believed_ms=0), [Window(5, MINUTE_MS, "fixed_window")]
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda number: limiter.hit(f"user:{number % 10}", windows).allowed, range(400)))
    assert sum(told) == 50
    keys = server.keys("*")
    assert len(keys) == 10
    assert all(0 < server.pttl(key) <= MINUTE_MS + SLACK_MS for key in keys)

    for key in keys:
        server.persist(key)  # as if an expiry had been lost all the same
    clock.now_ms += MINUTE_MS
    assert all(limiter.hit(f"user:{number}", windows) for number in range(10))


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("kind", ["memory", "server"])
def test_s14_a_token_bucket_takes_amounts_by_force_too_tells_the_wait_and_looks_for_nothing(
    kind: str, server: redis.Redis, clock: Clock
) -> None:
    limiter = Limiter(MemoryStore() if kind == "memory" else RedisStore(server), clock_ms=clock, believed_ms=0)
    bucket = [Window(60, MINUTE_MS, "token_bucket", burst=10)]

    def use(amount: int, **how: Any) -> Decision:
        return limiter.hit("user:42", bucket, amount, **how)

    assert (use(4).remaining, use(0).remaining, use(0).remaining) == (6, 6, 6)
    refused = use(8)
    assert (refused.allowed, refused.remaining, refused.retry_after) == (False, 6, 2.0)
    forced = use(8, force=True)
    assert (forced.allowed, forced.forced, forced.remaining) == (True, True, 0)
    assert use(3).retry_after == 3.0
    clock.now_ms += 2999
    assert not use(3)
    clock.now_ms += 1
    assert use(3)


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("kind", ["memory", "server"])
def test_s15_a_least_gap_is_a_second_window_and_refusals_say_why(kind: str, server: redis.Redis, clock: Clock) -> None:
    limiter = Limiter(MemoryStore() if kind == "memory" else RedisStore(server), clock_ms=clock, believed_ms=0)
    windows = [window for rate in ("3/m", "1/500ms") for window in parse_rates(rate)]
    assert limiter.peek("user:42", windows)  # wouldLimit
    assert limiter.hit("user:42", windows)
    clock.now_ms += 499
    gap = limiter.hit("user:42", windows)
    assert (gap.allowed, gap.reason, gap.window) == (False, "limit", "1/500ms")
    assert gap.retry_after is not None
    assert gap.retry_after < 0.02
    for _ in range(2):
        clock.now_ms += 600
        assert limiter.hit("user:42", windows)
    clock.now_ms += 600
    full = limiter.hit("user:42", windows)
    assert (full.allowed, full.reason, full.window) == (False, "limit", "3/m")
    assert limiter.hit("user:42", windows, 4).reason == "cost"
    limiter.reset("user:42", windows)  # clear
    assert limiter.hit("user:42", windows)
