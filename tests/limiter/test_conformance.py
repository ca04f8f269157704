"""Every store agrees with the oracle, on every number of every step of long random histories.

By times that the test gives, of which the stores' expiries know nothing and are left out; and with them, by the stores' own
clocks, which the test holds.
"""

import os
import random
from collections.abc import Iterator

import pytest
import redis
from hypothesis import given, settings, strategies as st

from ratewindow.limiter import MemoryStore, RedisStore
from ratewindow.limiter.limiter import Store
from ratewindow.limiter.types import Check, What, Window
from tests.support.held_stores import KINDS, Held, held
from tests.support.histories import ALGORITHMS, START_MS, history
from tests.support.stores import open_store
from tests.support.trial import HeldTrial, Trial

pytestmark = pytest.mark.conformance

STEPS = int(os.environ.get("CONFORMANCE_STEPS", "500"))  # `make conformance` takes 100,000
STEPS_OF_ONE_HISTORY = 100


@pytest.fixture(params=["server", "fakeredis", "memory", "cluster", "asynchronous cluster", "sentinel"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """An empty store of every kind there is."""
    yield from open_store(request.param, request)


def number_of_histories(store: Store) -> int:
    """A fifth of them where a step takes several calls, is slow, or the same server answers under another name."""
    plain = type(store) is RedisStore and type(store._client) is redis.Redis and "Sentinel" not in repr(store._client)
    return max(1, STEPS // STEPS_OF_ONE_HISTORY // (1 if plain or isinstance(store, MemoryStore) else 5))


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_store_agrees_with_the_oracle_on_every_number(store: Store, algorithm: str) -> None:
    for seed in range(number_of_histories(store)):
        trial = Trial(store)
        for number, step in enumerate(history(seed, STEPS_OF_ONE_HISTORY, [algorithm])):
            try:
                trial.take(step)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, step {number}: {step}") from error


@pytest.mark.usefixtures("never_expiring")
def test_every_store_agrees_where_algorithms_meet(store: Store) -> None:
    for seed in range(90_000, 90_000 + number_of_histories(store)):
        trial = Trial(store)
        for step in history(seed, STEPS_OF_ONE_HISTORY):
            trial.take(step)


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("since_ms", [0, 99, 999])
def test_every_store_agrees_by_a_clock_that_has_hardly_begun(store: Store, since_ms: int) -> None:
    """Times of one to three digits, and one that is nothing: a replay may count from its own beginning."""
    few = max(1, number_of_histories(store) // 10)  # what is special is over soon
    for seed in range(70_000, 70_000 + few):
        trial = Trial(store)
        for number, step in enumerate(history(seed, STEPS_OF_ONE_HISTORY // 2, since_ms=since_ms)):
            try:
                trial.take(step)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, step {number}: {step}") from error


@pytest.mark.usefixtures("never_expiring")
def test_counts_beyond_two_bytes_agree_with_the_twin_that_has_no_bytes(store: Store) -> None:
    dice = random.Random(65_536)
    twin = MemoryStore()
    windows = (Window(10**6, 60_000), Window(10**7, 3_600_000, buckets=10), Window(5 * 10**6, 7000, buckets=3))
    now_ms = START_MS
    for number in range(200):
        now_ms += dice.choice([0, 1, 500, 5000, 20_000])
        cost = dice.choice([1, 1, 255, 256, 65_535, 65_536, 70_000, 10**6])
        checks = [Check("rule", windows, ("{a}:0", "{a}:1", "{a}:2"), cost, True, number % 7 == 0)]
        what: What = dice.choice(["hit", "hit", "charge"])
        assert store.run(checks, what, now_ms) == twin.run(checks, what, now_ms)
        if number % 10 == 0:
            for each in (store, twin):
                each.refund([(checks[0], [None] * 3)], now_ms)


@pytest.fixture(params=[pytest.param(kind, marks=pytest.mark.fakeredis) if "fake" in kind else kind for kind in KINDS])
def held_store(request: pytest.FixtureRequest) -> Iterator[Held]:
    with held(request.param) as made:
        yield made


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "all"])
def test_every_store_agrees_by_its_own_clock_with_expiries_that_end(held_store: Held, algorithm: str) -> None:
    """Nothing is forgotten before it has stopped counting, by whichever limit it is looked at, and whatever steps the clock."""
    algorithms = ALGORITHMS if algorithm == "all" else [algorithm]
    for seed in range(300_000, 300_000 + max(1, STEPS // STEPS_OF_ONE_HISTORY // 10)):
        trial = HeldTrial(held_store)
        for number, step in enumerate(history(seed, STEPS_OF_ONE_HISTORY, algorithms)):
            try:
                trial.take(step)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, step {number}: {step}") from error


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(1_000_000, 2_000_000))
def test_memory_agrees_with_the_oracle_on_histories_that_hypothesis_picks(seed: int) -> None:
    trial = Trial(MemoryStore())
    for step in history(seed, 60):
        trial.take(step)


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("algorithm", ["sliding_window", "sliding_log"])
def test_no_window_ever_holds_more_than_its_limit(store: Store, algorithm: str) -> None:
    """Counts what was admitted in the window that ends with each admitted unit; it knows nothing of buckets."""
    for seed in range(5000, 5000 + number_of_histories(store)):
        admitted: dict[str, list[tuple[int, int]]] = {}
        for step in history(seed, STEPS_OF_ONE_HISTORY, [algorithm], plain=True):
            reply = store.run(step.checks, step.what, step.now_ms)
            waited = [[window.wait_ms for window in answer.windows] for answer in reply]
            refused = any(check.enforce and any(own) for check, own in zip(step.checks, waited, strict=True))
            for check, own in zip(step.checks, waited, strict=True):
                if step.what == "peek" or not check.cost or refused or any(own):
                    continue
                for window, key in zip(check.windows, check.keys, strict=True):
                    admitted.setdefault(key, []).append((step.now_ms, check.cost))
                    recent = sum(cost for at, cost in admitted[key] if step.now_ms - at < window.period_ms)
                    assert recent <= window.limit, f"seed {seed}: {recent} of {window.limit}"
