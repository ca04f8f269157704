"""Limiters that decide by a clock of the caller's: tests and replays, whose time may begin at 0 and may stand still."""

import itertools
from datetime import UTC, datetime

import pytest
import redis

from ratewindow.limiter import Limiter, MemoryStore, RedisStore, SlidingCounter, Window
from ratewindow.limiter.limiter import Store
from tests.support.clock import Clock
from tests.support.histories import ALGORITHMS

MINUTE = Window(5, period_ms=60_000)


def some(algorithm: str, period_ms: int = 60_000) -> list[Window]:
    return [Window(5, period_ms, algorithm, burst=5 if algorithm == "leaky_bucket" else None)]


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("now_ms", [0, 7, 99, 100, 999, 1000])
def test_a_peek_charges_nothing_at_the_smallest_times_either(store: Store, now_ms: int) -> None:
    limiter = Limiter(store, clock_ms=Clock(now_ms))
    assert [limiter.peek("user:42", [MINUTE]).remaining for _ in range(3)] == [5, 5, 5]
    assert [limiter.hit("user:42", [MINUTE], cost=2).remaining for _ in range(2)] == [3, 1]
    forced = limiter.hit("user:42", [MINUTE], force=True)
    assert (forced.remaining, forced.windows[0].charged_at_ms) == (0, now_ms)
    assert limiter.charge("user:42", [MINUTE], 1).remaining == 0


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_decision_of_the_time_0_is_given_back_like_any_other(store: Store, algorithm: str) -> None:
    limiter, windows = Limiter(store, clock_ms=Clock(0)), some(algorithm)
    told = limiter.hit("user:42", windows, cost=3)
    limiter.refund("user:42", windows, 2, decision=told)
    assert limiter.peek("user:42", windows).remaining == 4


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("algorithm", ["token_bucket", "leaky_bucket"])
def test_what_a_bucket_took_only_in_part_is_not_given_back_at_the_time_0(store: Store, algorithm: str) -> None:
    limiter, windows = Limiter(store, clock_ms=Clock(0)), some(algorithm)
    limiter.hit("user:42", windows, cost=4)
    told = limiter.hit("user:42", [*windows, Window(9, 60_000)], cost=3, force=True)
    assert [answer.charged_at_ms for answer in told.windows] == [-1, 0]
    limiter.refund("user:42", windows, 3, decision=told)
    assert limiter.peek("user:42", windows).remaining == 0


@pytest.mark.usefixtures("never_expiring")
def test_days_of_a_time_zone_hold_around_the_beginning_of_the_epoch(store: Store, clock: Clock) -> None:
    """New York's first day is one whose midnight is a negative number."""
    day, clock.now_ms = [Window(2, 86_400_000, "fixed_window", aligned_to="day", timezone="America/New_York")], 0
    limiter = Limiter(store, clock_ms=clock)
    told = [limiter.hit("user:42", day) for _ in range(3)]
    assert [each.allowed for each in told] == [True, True, False]
    assert told[2].retry_after == datetime(1970, 1, 1, 5, tzinfo=UTC).timestamp()
    clock.now_ms = 5 * 3_600_000
    assert limiter.hit("user:42", day)


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_parts_of_a_millisecond_are_left_out(store: Store, algorithm: str) -> None:
    limiter, windows = Limiter(store, clock_ms=lambda: 1_732_094_855_123.75), some(algorithm)
    told = limiter.hit("user:42", windows)
    assert told.windows[0].charged_at_ms == 1_732_094_855_123
    limiter.refund("user:42", windows, decision=told)
    assert limiter.peek("user:42", windows).remaining == 5


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("algorithm", ["sliding_window", "sliding_log", "fixed_window", "token_bucket", "leaky_bucket"])
def test_a_clock_that_steps_forward_by_less_than_a_period_frees_at_most_one_more_limit(
    store: Store, clock: Clock, algorithm: str
) -> None:
    limiter, windows = Limiter(store, clock_ms=clock, believed_ms=0), some(algorithm)
    assert sum(limiter.hit("user:42", windows).allowed for _ in range(9)) == 5
    clock.now_ms += 1000  # a second of real time
    clock.now_ms += 29_000  # and a step
    freed = sum(limiter.hit("user:42", windows).allowed for _ in range(9))
    clock.now_ms += 30_000
    freed += sum(limiter.hit("user:42", windows).allowed for _ in range(9))
    assert freed == 5


@pytest.mark.parametrize("told", [-1, -0.5e9, float("nan"), float("inf"), 2**60, None, "noon"])
def test_what_is_no_time_is_named_on_every_store(store: Store, told: float) -> None:
    limiter, counter = Limiter(store, clock_ms=lambda: told), SlidingCounter("1m", store=store, clock_ms=lambda: told)
    for ask in (lambda: limiter.hit("user:42", [MINUTE]), lambda: limiter.refund("user:42", [MINUTE]), counter.add):
        with pytest.raises(ValueError, match=r"clock_ms returned .*: let it return milliseconds from 0 to \d+"):
            ask()
    with pytest.raises(ValueError, match="clock_ms returned"):
        Limiter(MemoryStore(clock_ms=lambda: told)).hit("user:42", [MINUTE])


def test_a_clock_that_is_none_is_named_when_it_is_given() -> None:
    with pytest.raises(TypeError, match="clock_ms 5: give a function that returns milliseconds"):
        Limiter(MemoryStore(), clock_ms=5)  # type: ignore[arg-type]


def test_a_hit_reads_the_clock_once(redis_url: str) -> None:
    """Also one that is known to be refused: a clock that tells another time at each reading would tell two in one call."""
    ticks = itertools.count(1000)
    with redis.Redis.from_url(redis_url) as client:
        limiter = Limiter(RedisStore(client), clock_ms=lambda: next(ticks))
        for number in range(8):
            limiter.hit("user:42", [MINUTE])
            assert next(ticks) == 1000 + 2 * number + 1


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_states_and_locks_outlive_a_clock_that_stands_still(redis_url: str, redis_client: redis.Redis, algorithm: str) -> None:
    """The server's own time goes on: what a clock of the caller's still counts must not be gone by then."""
    with redis.Redis.from_url(redis_url) as client:
        limiter, windows = Limiter(RedisStore(client), clock_ms=Clock(), believed_ms=0), some(algorithm, period_ms=10)
        for _ in range(6):
            told = limiter.hit("user:42", windows, penalty_ms=20)
        limiter.refund("user:42", windows)
        assert told.reason == "penalty"
        left_ms = [redis_client.pttl(key) for key in redis_client.keys("*")]
    assert len(left_ms) == 2
    assert all(3_500_000 < each <= 3_600_020 for each in left_ms), left_ms
