"""retry_after is exact: who waits it alone is admitted, and one millisecond less is not enough."""

import random
from collections.abc import Callable, Iterator

import pytest

from ratewindow.limiter import Decision, Limiter, MemoryStore, Window
from ratewindow.limiter.limiter import Store
from tests.support.clock import Clock
from tests.support.histories import ALGORITHMS

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("never_expiring")]  # the server's own time is not the test's

BURSTY = ("token_bucket", "leaky_bucket")
WAITS = 30  # refusals looked at in one history


def some_window(dice: random.Random, algorithms: list[str]) -> Window:
    algorithm = dice.choice(algorithms)
    limit, period_ms = dice.choice([1, 3, 7, 50]), dice.choice([13, 999, 5000, 60_000])
    if algorithm == "fixed_window" and dice.random() < 0.4:
        return Window(limit, 60_000, algorithm, aligned_to="minute")
    buckets = dice.choice([1, 7, 60]) if algorithm == "sliding_window" else None
    burst = dice.choice([1, 5, 60]) if algorithm in BURSTY else None
    return Window(limit, period_ms, algorithm, buckets, burst)


def hold(store: Store, dice: random.Random, algorithms: list[str], most_cost: int, penalty_ms: int) -> int:
    """A client that always waits as it is told; how often it had to. Everything that is not as told fails."""
    clock, waited = Clock(), 0
    limiter = Limiter(store, clock_ms=clock)
    windows = [some_window(dice, algorithms) for _ in range(dice.choice([1, 1, 2, 3]))]
    for _ in range(WAITS * 4):
        clock.now_ms += dice.choice([0, 0, 1, 3, dice.randrange(400)])
        cost = dice.randint(1, most_cost)
        told = limiter.hit("user:42", windows, cost, penalty_ms=penalty_ms)
        if told or told.retry_after is None:
            assert told or told.reason == "cost"
            continue
        waited += 1
        wait_ms = round(told.retry_after * 1000)
        assert limiter.peek("user:42", windows, cost, penalty_ms=penalty_ms).retry_after == told.retry_after
        clock.now_ms += wait_ms - 1
        almost = limiter.peek("user:42", windows, cost, penalty_ms=penalty_ms)
        assert (almost.allowed, almost.retry_after) == (False, 0.001), f"{windows} {cost}"
        clock.now_ms += 1
        assert limiter.hit("user:42", windows, cost, penalty_ms=penalty_ms), f"{windows} {cost}"
        if waited == WAITS:
            break
    limiter.reset("user:42", windows)
    return waited


@pytest.mark.parametrize("penalty_ms", [0, 700, 90_000])
@pytest.mark.parametrize("most_cost", [1, 6])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_retry_after_is_exact_for_each_algorithm(store: Store, algorithm: str, most_cost: int, penalty_ms: int) -> None:
    dice, histories = random.Random(11), 12 if isinstance(store, MemoryStore) else 3
    assert sum(hold(store, dice, [algorithm], most_cost, penalty_ms) for _ in range(histories)) > 20


@pytest.mark.parametrize("penalty_ms", [0, 700])
def test_retry_after_is_exact_where_windows_of_several_algorithms_meet(store: Store, penalty_ms: int) -> None:
    dice, histories = random.Random(13), 40 if isinstance(store, MemoryStore) else 8
    assert sum(hold(store, dice, ALGORITHMS, 3, penalty_ms) for _ in range(histories)) > 50


Costs = Callable[[int, bool], list[int]]


def decisions(
    store: Store, dice: random.Random, algorithm: str, costs: Costs
) -> Iterator[tuple[Limiter, Clock, list[Window], Decision]]:
    """Walk random histories of one window; `costs` chooses from what is left and whether the next charge is forced. Between
    two decisions the caller may move the clock.
    """
    for _ in range(12 if isinstance(store, MemoryStore) else 4):
        clock, windows = Clock(), [some_window(dice, [algorithm])]
        limiter = Limiter(store, clock_ms=clock)
        for _ in range(WAITS):
            clock.now_ms += dice.choice([0, 0, 1, 3, dice.randrange(400), dice.randrange(windows[0].period_ms)])
            force = dice.random() < 0.07
            left = limiter.peek("user:42", windows).remaining or 0
            yield limiter, clock, windows, limiter.hit("user:42", windows, dice.choice(costs(left, force)), force=force)
        limiter.reset("user:42", windows)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_who_took_the_last_unit_is_told_exactly_when_the_next_one_fits(store: Store, algorithm: str) -> None:
    """Of an admitted call that left nothing: headers tell clients this wait."""

    def up_to_the_last(left: int, force: bool) -> list[int]:
        return [1, max(1, left), 2 + left if force else 1]

    checked = 0
    for limiter, clock, windows, decision in decisions(store, random.Random(17), algorithm, up_to_the_last):
        if decision and not decision.remaining:
            [window] = decision.windows
            clock.now_ms += (window.wait_ms or window.reset_ms) - 1
            assert not limiter.peek("user:42", windows)
            clock.now_ms += 1
            assert limiter.peek("user:42", windows)
            checked += 1
    assert checked > 20


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_reset_after_is_when_more_is_left_next_by_every_algorithm(store: Store, algorithm: str) -> None:
    """Not a millisecond earlier, whatever is left and however much is used; after a refusal it is the wait."""
    checked = 0
    for limiter, clock, windows, decision in decisions(store, random.Random(19), algorithm, lambda left, force: [1, 1, 2]):
        if not decision:
            assert decision.reset_after == (decision.retry_after or decision.reset_after)
            continue
        reset_ms = round((decision.reset_after or 0) * 1000)
        assert reset_ms > 0
        now_ms, clock.now_ms = clock.now_ms, clock.now_ms + reset_ms - 1
        assert limiter.peek("user:42", windows).remaining == decision.remaining
        clock.now_ms += 1
        assert (limiter.peek("user:42", windows).remaining or 0) > (decision.remaining or 0)
        clock.now_ms = now_ms
        checked += 1
    assert checked > 20


def test_three_of_a_bucket_of_ten_a_minute_are_followed_by_more_after_six_seconds(store: Store) -> None:
    """Not after the eighteen in which all of it drains."""
    limiter, bucket = Limiter(store, clock_ms=Clock()), [Window(10, 60_000, "token_bucket")]
    assert [limiter.hit("user:42", bucket).reset_after for _ in range(3)] == [6.0, 6.0, 6.0]
