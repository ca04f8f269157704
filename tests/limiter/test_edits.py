"""Limits that are edited while clients are counted: an edit acts at once and keeps what was counted."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import pytest
import redis

from ratewindow.limiter import Limiter, RedisStore, Window
from ratewindow.limiter.limiter import Store
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


@pytest.mark.parametrize("limits", [(10, 1), (1, 10), (10, 30, 2), (2, 30, 10), (10, 0, 3)])
@pytest.mark.parametrize("algorithm", ["token_bucket", "leaky_bucket"])
def test_a_wait_that_a_peek_tells_of_an_edited_bucket_is_told_and_kept_by_a_hit(
    store: Store, algorithm: str, limits: tuple[int, ...]
) -> None:
    """Whether or not the bucket is hit meanwhile, and whatever limits it had in between.

    One whose limit was lowered may be free earlier where nobody has hit it since: until then it drains by the old limit.
    """
    for hits_meanwhile in (False, True):
        clock = Clock()
        limiter = Limiter(store, clock_ms=clock, believed_ms=0)
        buckets = [[Window(limit, MINUTE_MS, algorithm, burst=4)] for limit in limits]
        client, today = f"user:{hits_meanwhile}", buckets[-1]
        assert limiter.hit(client, buckets[0], 4)
        for bucket in buckets[1:]:
            clock.now_ms += 1500
            told = limiter.peek(client, bucket, 2)
        assert not told and told.retry_after and told.reset_after
        if hits_meanwhile:
            hit = limiter.hit(client, today, 2)
            assert (hit.remaining, hit.retry_after, hit.reset_after) == (told.remaining, told.retry_after, told.reset_after)
        clock.now_ms += round(1000 * told.retry_after) - 1
        assert hits_meanwhile or limits[-1] < limits[0] or not limiter.peek(client, today, 2)
        clock.now_ms += 1
        assert limiter.hit(client, today, 2)


@pytest.mark.parametrize("algorithm", ["token_bucket", "leaky_bucket"])
def test_a_charge_that_drained_before_the_limit_was_lowered_buys_nothing(limiter: Limiter, clock: Clock, algorithm: str) -> None:
    before, after = ([Window(limit, MINUTE_MS, algorithm, burst=10)] for limit in (10, 1))
    early = limiter.hit("user:42", before, 10)
    clock.now_ms += MINUTE_MS
    assert limiter.hit("user:42", after, 10)
    limiter.refund("user:42", after, 10, decision=early)
    assert limiter.peek("user:42", after).remaining == 0


@pytest.mark.parametrize("limit", [1, 10, 100])
@pytest.mark.parametrize("algorithm", ["token_bucket", "leaky_bucket"])
def test_a_refund_after_an_edit_never_leaves_less_than_before(limiter: Limiter, clock: Clock, algorithm: str, limit: int) -> None:
    before, after = ([Window(each, MINUTE_MS, algorithm, burst=50)] for each in (10, limit))
    limiter.hit("user:42", before, 40)
    last = limiter.hit("user:42", before, 10)
    clock.now_ms += 10_000
    left = limiter.peek("user:42", after).remaining or 0
    limiter.refund("user:42", after, 1, decision=last)
    assert left <= (limiter.peek("user:42", after).remaining or 0) <= left + 1


# Five are counted by the time of each, a thousand by buckets of a second or six.
WINDOWS = {"few": Window(5, MINUTE_MS), "many": Window(1000, MINUTE_MS), "coarse": Window(1000, MINUTE_MS, buckets=10)}
EDITS = "few many, many few, few coarse, many coarse, coarse many, few many few, many few many, few many few many"


@pytest.mark.parametrize("after_ms", [0, 1, 500, 998, 999])
@pytest.mark.parametrize("edits", EDITS.split(", "))
def test_a_refund_finds_what_edits_have_moved_across_the_border_of_exactness(
    limiter: Limiter, clock: Clock, edits: str, after_ms: int
) -> None:
    first, *others = [[WINDOWS[name]] for name in edits.split()]
    clock.now_ms += after_ms - clock.now_ms % 1000
    charged = limiter.hit("user:42", first, 2)
    for last in others:
        clock.now_ms += 7000
        assert limiter.hit("user:42", last)
    left = limiter.peek("user:42", last).remaining or 0
    limiter.refund("user:42", last, 2, decision=charged)
    assert limiter.peek("user:42", last).remaining == left + 2
    limiter.refund("user:42", last, 2, decision=charged)
    assert limiter.peek("user:42", last).remaining == left + 2


CHANGED_ALGORITHMS = pytest.mark.parametrize(
    ("before", "after"), [pair for pair in permutations(ALGORITHMS, 2) if "sliding_window" in pair]
)


@CHANGED_ALGORITHMS
def test_an_algorithm_changed_under_load_admits_one_more_limit_and_no_more(redis_url: str, before: str, after: str) -> None:
    with redis.Redis.from_url(redis_url) as client, ThreadPoolExecutor(8) as pool:
        limiter = Limiter(RedisStore(client), clock_ms=Clock())

        def admitted_at_once(windows: list[Window]) -> int:
            return sum(pool.map(lambda _: limiter.hit("user:42", windows).allowed, range(200)))

        assert admitted_at_once(edited(before)(20)) == 20
        assert admitted_at_once(edited(after)(20)) == 20


@CHANGED_ALGORITHMS
def test_processes_that_have_not_read_the_change_yet_admit_no_more_than_both_limits(
    redis_url: str, before: str, after: str
) -> None:
    both = edited(before)(20), edited(after)(20)
    with redis.Redis.from_url(redis_url) as client, ThreadPoolExecutor(8) as pool:
        limiter = Limiter(RedisStore(client), clock_ms=Clock())
        assert 20 <= sum(pool.map(lambda number: limiter.hit("user:42", both[number % 2]).allowed, range(400))) <= 40
