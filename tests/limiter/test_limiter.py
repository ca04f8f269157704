"""The limiter as its user sees it: hits, peeks, weights, waits, edited limits."""

import copy
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import fakeredis
import pytest
import redis
import redis.asyncio

from ratewindow.limiter import AsyncRedisStore, Decision, Limiter, MemoryStore, RedisStore, Window
from ratewindow.limiter.limiter import Store
from ratewindow.limiter.types import Check
from tests.support.clock import Clock
from tests.support.histories import ALGORITHMS

MINUTE = Window(5, period_ms=60_000)


def test_the_limit_is_admitted_and_nothing_above_it(limiter: Limiter) -> None:
    assert [limiter.hit("user:42", [MINUTE]).allowed for _ in range(7)] == [True] * 5 + [False] * 2


def test_fifty_calls_in_one_millisecond_at_limit_five_admit_five(limiter: Limiter) -> None:
    assert sum(limiter.hit("user:42", [MINUTE]).allowed for _ in range(50)) == 5


def test_identities_do_not_share_their_limit(limiter: Limiter) -> None:
    for _ in range(5):
        limiter.hit("user:42", [MINUTE])
    assert not limiter.hit("user:42", [MINUTE])
    assert limiter.hit("user:43", [MINUTE])


def test_who_waits_retry_after_is_admitted_and_one_millisecond_less_is_not_enough(limiter: Limiter, clock: Clock) -> None:
    windows = [Window(5, period_ms=10_000), Window(8, period_ms=60_000, buckets=7)]
    waited = 0
    for _ in range(200):
        clock.now_ms += 137
        refused = limiter.hit("user:42", windows)
        if refused:
            continue
        assert refused.retry_after is not None
        waited += 1
        wait_ms = round(refused.retry_after * 1000)
        clock.now_ms += wait_ms - 1
        assert not limiter.peek("user:42", windows)
        clock.now_ms += 1
        assert limiter.hit("user:42", windows)
    assert waited > 20


def test_a_refused_request_costs_nothing_in_any_window(limiter: Limiter) -> None:
    day = Window(1000, period_ms=86_400_000)
    for _ in range(50):
        limiter.hit("user:42", [MINUTE, day])
    assert limiter.peek("user:42", [day]).remaining == 995


def test_a_cost_that_does_not_fit_is_refused_and_not_recorded(limiter: Limiter) -> None:
    ten = Window(10, period_ms=60_000)
    limiter.hit("user:42", [ten], cost=9)
    refused = limiter.hit("user:42", [ten], cost=2)
    assert (refused.allowed, refused.reason, refused.remaining) == (False, "limit", 1)
    assert limiter.hit("user:42", [ten], cost=1)


def test_a_cost_above_the_limit_never_passes_and_says_so(limiter: Limiter) -> None:
    refused = limiter.hit("user:42", [MINUTE], cost=6)
    assert (refused.allowed, refused.reason, refused.retry_after, refused.remaining) == (False, "cost", None, 5)


def test_a_limit_of_zero_refuses_all(limiter: Limiter) -> None:
    refused = limiter.hit("user:42", [Window(0, period_ms=60_000)])
    assert (refused.allowed, refused.reason, refused.retry_after) == (False, "limit", None)


def test_cost_zero_and_peek_charge_nothing(limiter: Limiter) -> None:
    for _ in range(10):
        assert limiter.hit("user:42", [MINUTE], cost=0)
        assert limiter.peek("user:42", [MINUTE])
    assert limiter.peek("user:42", [MINUTE]).remaining == 5


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_cost_of_millions_is_admitted_where_the_limit_is_and_else_is_a_reason(limiter: Limiter, algorithm: str) -> None:
    """Bytes are units, too. A log has no such limit."""
    large = 100_000 if algorithm == "sliding_log" else 10_000_000
    windows = [Window(large, 60_000, algorithm, burst=large if algorithm == "leaky_bucket" else None)]
    for cost in (large + 1, 2**52):
        assert limiter.hit("user:42", windows, cost=cost, penalty_ms=1000).reason == "cost"
        assert limiter.peek("user:42", windows, cost=cost).reason == "cost"
    told = limiter.hit("user:42", windows, cost=large)
    assert (told.allowed, told.remaining) == (True, 0)
    limiter.refund("user:42", windows, 2**52, decision=told)
    assert limiter.hit("user:42", windows, cost=large - 1)
    limiter.refund("user:42", windows, 2**52)
    assert limiter.hit("user:42", windows, cost=large)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_no_limit_bounds_is_bounded_by_what_is_counted_exactly(limiter: Limiter, algorithm: str) -> None:
    windows = [Window(50_000, 60_000, algorithm)]
    most = {"sliding_log": 1_000_000, "fixed_window": 2**52}.get(algorithm, 2**52 // 60_000)
    limiter.charge("user:42", windows, most if algorithm != "sliding_log" else 100_000)
    assert limiter.hit("user:42", windows, cost=0).remaining == 0
    for ask in (lambda cost: limiter.charge("user:42", windows, cost), lambda cost: limiter.hit("u", windows, cost, force=True)):
        with pytest.raises(ValueError, match=f"cost {most + 1}: write a whole number from 0 to {most}"):
            ask(most + 1)


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("period_ms", [1, 86_400_000, 10 * 365 * 86_400_000, 2**52])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_whatever_is_charged_over_however_long_is_counted_as_the_twin_does(store: Store, algorithm: str, period_ms: int) -> None:
    """A million units of a bucket that drains one in ten years would take longer than an expiry can be."""
    twin, window, now_ms = MemoryStore(), Window(1, period_ms, algorithm), 1_732_094_855_123
    most = 1_000_000 if algorithm == "sliding_log" else max(1_000_000, 2**52 // period_ms)
    for cost in (most, most, 1, most - 1):
        check = Check("rule", (window,), ("key",), cost)
        for what in ("charge", "force", "hit", "peek"):
            assert store.run([check], what, now_ms) == twin.run([check], what, now_ms)
        for each in (store, twin):
            each.refund([(check._replace(cost=5), [now_ms])], now_ms)
        now_ms += min(period_ms // 3, 10**12)


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_nothing_is_written_for_a_cost_of_zero(store: Store, clock: Clock, algorithm: str) -> None:
    """No lock where there is no room for nothing, and no state that is moved in time by giving nothing back."""
    limiter, windows = Limiter(store, clock_ms=clock), [Window(5, 60_000, algorithm)]
    told = limiter.hit("user:42", windows)
    limiter.charge("user:42", windows, 8)
    assert not limiter.hit("user:42", windows, cost=0, penalty_ms=900_000)
    assert not limiter.hit("user:42", windows, cost=0, penalty_ms=900_000, count_refused=True)
    before = limiter.peek("user:42", windows)
    clock.now_ms += 1000
    limiter.refund("user:42", windows, 0)
    limiter.refund("user:42", windows, 0, decision=told)
    assert told.check is not None
    store.refund([(told.check._replace(cost=0), [told.windows[0].charged_at_ms])], clock.now_ms)
    clock.now_ms -= 1000  # a state that had been moved would hold the time back
    assert limiter.peek("user:42", windows).retry_after == before.retry_after
    clock.now_ms += 300_000
    assert limiter.hit("user:42", windows, penalty_ms=900_000)


def test_a_raised_limit_keeps_what_was_counted(limiter: Limiter) -> None:
    for _ in range(50):
        limiter.hit("user:42", [Window(50, period_ms=60_000)])
    assert sum(limiter.hit("user:42", [Window(60, period_ms=60_000)]).allowed for _ in range(30)) == 10


def test_a_lowered_limit_admits_nobody_until_the_count_is_below_it(limiter: Limiter, clock: Clock) -> None:
    for _ in range(50):
        clock.now_ms += 1000
        assert limiter.hit("user:42", [Window(50, period_ms=60_000)])
    lowered = [Window(40, period_ms=60_000)]
    refused = limiter.hit("user:42", lowered)
    assert refused.retry_after is not None
    clock.now_ms += round(refused.retry_after * 1000) - 1
    assert not limiter.hit("user:42", lowered)
    clock.now_ms += 1
    assert limiter.hit("user:42", lowered)


def test_the_decision_describes_the_window_with_the_least_room(limiter: Limiter) -> None:
    told = limiter.hit("user:42", [Window(100, period_ms=1000), MINUTE])
    assert (told.window, told.limit, told.remaining, told.retry_after) == ("5/m", 5, 4, None)


def test_a_refusal_describes_the_window_with_the_longest_wait(limiter: Limiter) -> None:
    windows = [Window(1, period_ms=1000), Window(1, period_ms=3_600_000)]
    limiter.hit("user:42", windows)
    refused = limiter.hit("user:42", windows)
    assert refused.window == "1/h"
    assert refused.retry_after is not None
    assert 3600 <= refused.retry_after <= 3660


def test_one_window_given_twice_is_charged_once(limiter: Limiter) -> None:
    told = limiter.hit("user:42", [MINUTE, Window(3, period_ms=60_000)])
    assert (told.limit, told.remaining) == (3, 2)


def test_a_hundred_in_five_seconds_holds_at_every_phase_of_a_burst(limiter: Limiter, clock: Clock) -> None:
    window = Window(100, period_ms=5000)
    admitted: list[int] = []
    for phase in range(0, 20_000, 613):
        clock.now_ms += phase % 5000
        for _ in range(60):
            clock.now_ms += 3
            if limiter.hit("user:42", [window]):
                admitted.append(clock.now_ms)
                assert sum(clock.now_ms - at < 5000 for at in admitted) <= 100
    assert len(admitted) > 500


def bucket(limit: int, burst: int) -> Window:
    return Window(limit, 60_000, "token_bucket", burst=burst)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("others", [(10, 20), (10, 5), (30, 5), (10, 6)])
def test_of_two_buckets_with_one_count_the_stricter_holds(limiter: Limiter, first: int, others: tuple[int, int]) -> None:
    windows = [bucket(10, 5), bucket(*others)]
    told = [limiter.hit("user:42", [windows[first], windows[1 - first]]) for _ in range(9)]
    assert sum(each.allowed for each in told) == 5
    assert told[-1].retry_after == 6.0
    assert limiter.hit("user:43", [bucket(0, 20), *windows]).limit == 0


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("first", [0, 1])
def test_two_buckets_of_which_neither_is_the_stricter_both_hold(limiter: Limiter, clock: Clock, first: int) -> None:
    spaced, few = bucket(10, 1), bucket(5, 3)
    windows = [*[spaced, few][:: 1 if first else -1], bucket(20, 3), bucket(7, 4)]  # and two that these contain
    admitted = []
    for _ in range(60):
        if limiter.hit("user:42", windows):
            admitted.append((clock.now_ms - Clock().now_ms) // 1000)
        clock.now_ms += 1000
    assert admitted == [0, 6, 12, 18, 24, 36, 48]  # six seconds apart while the other has a burst, then twelve
    limiter.refund("user:42", windows)
    limiter.reset("user:42", windows)
    assert limiter.hit("user:42", windows)


@pytest.mark.usefixtures("never_expiring")
def test_nothing_remains_while_a_lock_holds_whatever_else_would_be_waited_for(limiter: Limiter, clock: Clock) -> None:
    windows, second_ms = [Window(5, period_ms=10_000)], 1000
    limiter.hit("user:42", windows, cost=3)
    waits_longer = limiter.hit("user:42", windows, cost=3, penalty_ms=second_ms)
    assert (waits_longer.reason, waits_longer.remaining) == ("limit", 0)
    for cost, reason in ((3, "limit"), (1, "penalty"), (9, "cost")):
        locked = limiter.hit("user:42", windows, cost=cost, penalty_ms=second_ms)
        assert (locked.reason, locked.remaining) == (reason, 0)
    clock.now_ms += second_ms
    assert limiter.peek("user:42", windows, penalty_ms=second_ms).remaining == 2


@pytest.mark.parametrize("force", ["force", "charge"])
def test_who_was_let_pass_by_force_has_nothing_to_wait_for(limiter: Limiter, force: str) -> None:
    for _ in range(7):
        limiter.hit("user:42", [MINUTE], penalty_ms=900_000)
    if force == "force":
        told = limiter.hit("user:42", [MINUTE], force=True, penalty_ms=900_000)
        assert told.remaining == 0
    else:
        told = limiter.charge("user:42", [MINUTE], 3)
    assert (told.allowed, told.forced, told.reason, told.retry_after) == (True, True, "", None)


@pytest.mark.usefixtures("never_expiring")
def test_a_reset_lets_go_whoever_these_windows_have_locked_in_any_order(limiter: Limiter) -> None:
    day = Window(5, period_ms=86_400_000)

    def lock_out(*windows: Window) -> None:
        for _ in range(6):
            told = limiter.hit("user:42", windows, penalty_ms=900_000_000)
        assert told.reason == "penalty"

    for locking, resetting in (([MINUTE, day], [day, MINUTE]), ([MINUTE, MINUTE], [MINUTE]), ([day], [day, day])):
        lock_out(*locking)
        limiter.reset("user:42", resetting)
        assert limiter.hit("user:42", locking, penalty_ms=900_000_000)
        limiter.reset("user:42", [MINUTE, day])
        limiter.reset("user:42", locking)


def test_a_window_takes_nothing_but_its_fields_to_another_process() -> None:
    """The hash of a text is another one there."""
    used = Window(5, period_ms=60_000)
    assert hash(used) and used.tag and used.packed
    assert b"_hash" not in pickle.dumps(used)
    assert pickle.loads(pickle.dumps(used)) == used == copy.deepcopy(used)


def test_equal_windows_are_one_object() -> None:
    assert Window(5, 60_000) is Window(5, period_ms=60_000) is pickle.loads(pickle.dumps(Window(5, 60_000)))
    assert Window(5, 60_000) != Window(6, 60_000)


def test_refunds_of_one_decision_at_the_same_moment_give_back_no_more_than_it_took() -> None:
    limiter, windows, threads = Limiter(MemoryStore()), [Window(1000, period_ms=3_600_000)], 4
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(threads) as pool:
            for _ in range(50):
                told, together = limiter.hit("user:42", windows, cost=100), threading.Barrier(threads)

                def give_back(_: int, told: Decision = told, together: threading.Barrier = together) -> int:
                    together.wait()
                    return sum(check.cost for _ in range(100) for check, _ in told.refunds(1))

                assert sum(pool.map(give_back, range(threads))) == 100
                limiter.reset("user:42", windows)
    finally:
        sys.setswitchinterval(before_s)


@pytest.mark.parametrize("cost", [-1, 1.5, True, "1", None])
def test_a_bad_cost_is_named(limiter: Limiter, cost: object) -> None:
    with pytest.raises(ValueError, match=r"cost .*: write a whole number from 0 to 4503599627370496"):
        limiter.hit("user:42", [MINUTE], cost=cost)  # type: ignore[arg-type]


@pytest.mark.parametrize("penalty_ms", [-1, 1.5, "1m", True, 2**52 + 1])
def test_a_penalty_that_is_no_number_of_milliseconds_is_an_error(limiter: Limiter, penalty_ms: int) -> None:
    with pytest.raises(ValueError, match=r"penalty_ms .*: write a whole number from 0 to"):
        limiter.hit("user:42", [MINUTE], penalty_ms=penalty_ms)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../UTC", "", "Europe", None])
def test_a_time_zone_that_is_not_known_is_an_error_when_the_window_is_made(zone: str) -> None:
    with pytest.raises(ValueError, match=r"timezone .* is not known here: write for example UTC or Europe/Berlin"):
        Window(5, 86_400_000, "fixed_window", aligned_to="day", timezone=zone)


@pytest.mark.parametrize(
    ("day", "aligned_to", "days"),
    [(0, "month", 30), (32, "month", 30), (15.0, "month", 30), ("1", "month", 30), (15, "day", 1)],
)
def test_a_day_of_the_month_that_no_month_has_is_an_error_when_the_window_is_made(day: int, aligned_to: str, days: int) -> None:
    with pytest.raises(ValueError, match=r"day .* write 1 to 31, and add aligned_to month, or leave it out"):
        Window(5, days * 86_400_000, "fixed_window", aligned_to=aligned_to, day=day)


def test_no_windows_is_an_error_that_says_what_to_give(limiter: Limiter) -> None:
    with pytest.raises(ValueError, match=r"give at least one, such as Window\(10, period_ms=1000\)"):
        limiter.hit("user:42", [])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"limit": -1, "period_ms": 1000}, "limit -1"),
        ({"limit": 1.5, "period_ms": 1000}, "limit 1.5"),
        ({"limit": True, "period_ms": 1000}, "limit True"),
        ({"limit": 1, "period_ms": 0}, "period 0"),
        ({"limit": 1, "period_ms": -5}, "period -5"),
        ({"limit": 10**15, "period_ms": 60_000}, "write at most"),
        ({"limit": 1, "period_ms": 1000, "buckets": 0}, "buckets 0: write 1 to 1000"),
        ({"limit": 1, "period_ms": 1000, "buckets": 1001}, "buckets 1001: write 1 to 1000"),
        ({"limit": 1, "period_ms": 1000, "algorithm": "sundial"}, "'sundial' is not an algorithm: choose from"),
    ],
)
def test_a_window_out_of_bounds_is_named_with_the_remedy(arguments: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Window(**arguments)  # type: ignore[arg-type]


async def test_the_asynchronous_store_counts_with_the_synchronous_one(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        Limiter(RedisStore(client)).hit("user:42", [MINUTE], cost=3)
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        limiter = Limiter(AsyncRedisStore(client))
        assert (await limiter.ahit("user:42", [MINUTE])).remaining == 1
        assert (await limiter.apeek("user:42", [MINUTE])).remaining == 1


async def test_a_memory_store_serves_asynchronous_callers_too() -> None:
    limiter = Limiter(MemoryStore())
    assert (await limiter.ahit("user:42", [MINUTE])).remaining == 4


async def test_hit_on_an_asynchronous_store_says_to_await_ahit(redis_url: str) -> None:
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        with pytest.raises(TypeError, match="begin with an a"):
            Limiter(AsyncRedisStore(client)).hit("user:42", [MINUTE])


def test_a_flushed_script_is_sent_again(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        limiter = Limiter(RedisStore(client))
        limiter.hit("user:42", [MINUTE])
        client.script_flush()
        assert limiter.hit("user:42", [MINUTE]).remaining == 3


def test_every_key_of_the_limiter_expires_and_is_short(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        limiter = Limiter(RedisStore(client))
        for number in range(20):
            limiter.hit(f"user:{number}" * 500, [MINUTE, Window(10**6, period_ms=86_400_000)])
        keys = client.keys("*")
        assert len(keys) == 40
        assert all(0 < client.pttl(key) <= 86_400_000 * 61 // 60 for key in keys)
        assert max(map(len, keys)) <= 70


def test_without_a_clock_of_its_own_the_limiter_uses_the_servers() -> None:
    limiter = Limiter(RedisStore(fakeredis.FakeRedis(server=fakeredis.FakeServer())))
    assert [limiter.hit("user:42", [Window(1, period_ms=60_000)]).allowed for _ in range(2)] == [True, False]


def test_a_decision_is_shown_by_what_it_says_and_not_by_all_it_holds() -> None:
    limiter = Limiter(MemoryStore(), clock_ms=lambda: 1_000_000)
    allowed, refused = (limiter.hit("user:42", [Window(1, period_ms=60_000)]) for _ in range(2))
    assert repr(allowed).startswith("RuleDecision(allowed=True, limit=1, remaining=0, ") and "windows" not in repr(allowed)
    assert "allowed=False" in repr(refused) and f"retry_after={refused.retry_after!r}" in repr(refused)
    assert max(len(repr(allowed)), len(repr(refused))) < 200
