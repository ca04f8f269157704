"""The default is exact for the limits that people write, and never frees a unit early where it is not."""

import math
import random
import re
from bisect import bisect_right
from collections.abc import Iterator

import pytest
import redis

from ratewindow.limiter import Limiter, MemoryStore, RedisStore, Window
from ratewindow.limiter.algorithms import algorithm
from ratewindow.limiter.algorithms.sliding_window import most_times
from ratewindow.limiter.limiter import Store
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Check, What
from tests.support.clock import START_MS, Clock
from tests.support.trial import numbers

RATES = ["1/s", "3/s", "3/m", "5/m", "60/m", "100/h"]
PERIODS = 10
MINUTE_MS = 60_000
USER = "user:42"

never_expiring = pytest.mark.usefixtures("never_expiring")  # the server's own time is not the test's


def window_of(rate: str) -> Window:
    [window] = parse_rates(rate)
    return window


@pytest.mark.long
@never_expiring
@pytest.mark.parametrize("rate", RATES)
def test_a_client_that_sends_at_exactly_its_rate_is_never_refused(store: Store, clock: Clock, rate: str) -> None:
    window, limiter = window_of(rate), Limiter(store, clock_ms=clock)
    limiter.hit("another client, so that scripts are known", [window])
    for number in range(PERIODS * window.limit):
        clock.now_ms = START_MS + math.ceil(number * window.period_ms / window.limit)
        assert limiter.hit(USER, [window]), f"request {number}, {clock.now_ms - START_MS} ms after the first"


@pytest.mark.long
@never_expiring
@pytest.mark.parametrize("gap_ms", [0, 1, 7])
@pytest.mark.parametrize("whole_seconds", [False, True])
@pytest.mark.parametrize("rate", RATES)
def test_a_client_that_obeys_retry_after_gets_exactly_its_limit(
    store: Store, clock: Clock, rate: str, whole_seconds: bool, gap_ms: int
) -> None:
    window, limiter, admitted = window_of(rate), Limiter(store, clock_ms=clock, believed_ms=0), 0
    while clock.now_ms < START_MS + PERIODS * window.period_ms:
        decision = limiter.hit(USER, [window])
        admitted += decision.allowed
        if decision:
            clock.now_ms += gap_ms
        elif whole_seconds:
            clock.now_ms += 1000 * math.ceil(decision.retry_after or 0)
        else:
            clock.now_ms += round(1000 * (decision.retry_after or 0))
    assert admitted == PERIODS * window.limit


@pytest.mark.long
@never_expiring
@pytest.mark.parametrize("buckets", [None, 1, 10, 150])
def test_up_to_the_number_of_buckets_every_answer_is_that_of_a_log(store: Store, buckets: int | None) -> None:
    dice = random.Random(buckets)
    for trial in range(40 if isinstance(store, MemoryStore) else 10):
        period_ms = dice.choice([40, 1000, 60_000, 65_535, 65_536, 3_600_000, 2**24, 86_400_000, 2**32, 10**12, 2**41])
        windows = [
            Window(0, period_ms, algorithm, buckets if algorithm == "sliding_window" else None)
            for algorithm in ("sliding_window", "sliding_log")
        ]
        most, now_ms = min(60, most_times(windows[0])), START_MS
        limit = dice.choice([1, 3, 7, most])
        for number in range(150):
            now_ms += dice.choice([0, 0, 1, period_ms // 60, period_ms // limit, dice.randrange(period_ms // 5), period_ms - 1])
            if dice.random() < 0.02:
                now_ms -= dice.randrange(period_ms)
            if dice.random() < 0.03:
                limit = dice.choice([1, 3, 7, most])
            cost = dice.choice([1, 1, 1, 2, limit])
            what: What = dice.choice(["hit", "hit", "hit", "peek", "refused"])
            answers = [
                numbers(
                    store.run(
                        [
                            Check(
                                "rule",
                                (Window(limit, *window.shape[1::-1], window.buckets),),
                                (f"{trial}:{window.algorithm}",),
                                cost,
                                True,
                                number % 10 == 0,
                            )
                        ],
                        what,
                        now_ms,
                    )
                )
                for window in windows
            ]
            assert answers[0] == answers[1], f"{limit} in {period_ms} ms, request {number}"


@pytest.mark.parametrize(("period", "most"), [("minute", 150), ("hour", 100), ("day", 75)])
def test_the_help_tells_up_to_which_limits_it_is_exact(period: str, most: int) -> None:
    [window] = parse_rates(f"1/{period}")
    assert most_times(window) == most
    assert re.search(rf"\b{most} an? {period}\b", str(algorithm("sliding_window").help))


class Exact:
    """What was charged when, and how much of it counts in any window."""

    def __init__(self) -> None:
        self.times: list[int] = []

    def charge(self, time_ms: int, cost: int) -> None:
        self.times += [time_ms] * cost

    def counting(self, now_ms: int, period_ms: int) -> int:
        return len(self.times) - bisect_right(self.times, now_ms - period_ms)


@pytest.mark.long
@never_expiring
def test_limits_buckets_and_costs_edited_across_the_border_keep_every_unit_and_free_none_early(store: Store) -> None:
    """What counts is at least what an exact log counts, and at most what that counted one bucket ago, one of each size."""
    dice, keeps_late = random.Random(23), 0
    for trial in range(30 if isinstance(store, MemoryStore) else 8):
        period_ms, clock, exact = dice.choice([1000, MINUTE_MS, 100_000, 3_600_000]), Clock(), Exact()
        limiter, limit, buckets = Limiter(store, clock_ms=clock, believed_ms=0), 10, 60
        late_ms = -(-period_ms // buckets)
        for _ in range(300):
            clock.now_ms += dice.choice([0, 0, 1, 5, period_ms // 60, dice.randrange(period_ms // 10), dice.randrange(period_ms)])
            if dice.random() < 0.1:
                limit = dice.choice([5, 60, 100, 151, 1000, 10**9])
            if trial % 2 and dice.random() < 0.02:
                buckets = dice.choice([60, 10, 1, 200])
                late_ms += -(-period_ms // buckets)
            window = [Window(limit, period_ms, buckets=buckets)]
            cost = dice.choice([1, 1, 1, 2, 30, 160, 400])
            charges = dice.random() < 0.1
            if charges:
                limiter.charge(f"user:{trial}", window, cost)
            elif not limiter.hit(f"user:{trial}", window, cost):
                cost = 0
            exact.charge(clock.now_ms, cost)
            used = 10**9 - (limiter.peek(f"user:{trial}", [Window(10**9, period_ms, buckets=buckets)]).remaining or 0)
            assert exact.counting(clock.now_ms, period_ms) <= used <= exact.counting(clock.now_ms - late_ms, period_ms)
            keeps_late += used > exact.counting(clock.now_ms, period_ms)
    assert keeps_late > 10, "the border was not crossed"


@never_expiring
def test_below_the_border_again_what_comes_is_counted_exactly(store: Store, clock: Clock) -> None:
    """Also for a client that is never quiet for a period: its next bucket ends what was counted by bucket."""
    limiter = Limiter(store, clock_ms=clock)
    began_ms = clock.now_ms = START_MS // 1000 * 1000
    for _ in range(300):
        limiter.hit(USER, [Window(1000, MINUTE_MS)])
    clock.now_ms += 30_000
    limiter.charge(USER, [Window(3, MINUTE_MS)], 1)
    clock.now_ms += 31_000
    assert not limiter.hit(USER, [Window(1, MINUTE_MS)])
    for _ in range(2):
        assert limiter.hit(USER, [Window(3, MINUTE_MS)])
        clock.now_ms += 1
    for at_ms, remaining in ((90_998, 0), (90_999, 1), (120_999, 1), (121_000, 2), (121_001, 3)):
        clock.now_ms = began_ms + at_ms
        assert limiter.peek(USER, [Window(3, MINUTE_MS)]).remaining == remaining


@never_expiring
def test_what_is_given_back_after_an_edit_frees_no_other_unit(store: Store, clock: Clock) -> None:
    """A unit that has left by its own time, while its bucket counts still, gives nothing back."""
    limiter, few, many = Limiter(store, clock_ms=clock), [Window(3, MINUTE_MS)], [Window(1000, MINUTE_MS)]
    clock.now_ms -= clock.now_ms % 1000
    early = limiter.hit(USER, few)
    clock.now_ms += 900
    limiter.hit(USER, few)
    clock.now_ms += MINUTE_MS - 800  # the first has left, the other has not, and both came in one second
    limiter.charge(USER, many, 1)
    limiter.refund(USER, many, decision=early)
    assert limiter.peek(USER, many).remaining == 998


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as client:
        yield client


@pytest.mark.parametrize(("rate", "most"), [("60/m", 130), ("150/m", 310), ("100/h", 310), ("75/d", 310), ("1000/m", 90)])
def test_a_state_has_a_bounded_length(client: redis.Redis, clock: Clock, rate: str, most: int) -> None:
    limiter, window = Limiter(RedisStore(client), clock_ms=clock, believed_ms=0), window_of(rate)
    dice, lengths = random.Random(3), []
    for _ in range(6 * window.limit):
        clock.now_ms += dice.choice([0, 0, 1, 2 * window.period_ms // window.limit])
        limiter.hit(USER, [window])
        [key] = client.keys("*")
        lengths.append(client.strlen(key))
    assert max(lengths) <= most  # type: ignore[type-var]


@pytest.mark.parametrize("rate", ["5/s", "5/m", "60/h", "1000/m", "3/w"])
def test_a_state_outlives_its_newest_unit_by_less_than_one_bucket(client: redis.Redis, rate: str) -> None:
    limiter, window = Limiter(RedisStore(client), believed_ms=0), window_of(rate)
    for _ in range(5):
        limiter.hit(USER, [window])
        [key] = client.keys("*")
        left_ms = client.pttl(key)
        decision = limiter.peek(USER, [window])
        assert left_ms <= window.period_ms + -(-window.period_ms // 60)
        assert left_ms >= window.period_ms - 200, decision
