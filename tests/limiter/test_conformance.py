"""Every store agrees with the oracle, on every number of every step of long random histories."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewindow.limiter import MemoryStore
from ratewindow.limiter.limiter import Store
from tests.limiter.histories import history
from tests.limiter.oracle import Oracle

STEPS = int(os.environ.get("CONFORMANCE_STEPS", "5000"))
STEPS_OF_ONE_HISTORY = 100


@pytest.mark.usefixtures("never_expiring")
def test_every_store_agrees_with_the_oracle_on_every_number(store: Store) -> None:
    for seed in range(STEPS // STEPS_OF_ONE_HISTORY):
        oracle = Oracle()
        for number, step in enumerate(history(seed, STEPS_OF_ONE_HISTORY)):
            told = store.run(step.checks, step.charge, step.now_ms)
            assert told == oracle.run(step.questions(), step.charge, step.now_ms), f"seed {seed}, step {number}: {step}"


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(1_000_000, 2_000_000))
def test_memory_agrees_with_the_oracle_on_histories_that_hypothesis_picks(seed: int) -> None:
    store, oracle = MemoryStore(), Oracle()
    for step in history(seed, 60):
        assert store.run(step.checks, step.charge, step.now_ms) == oracle.run(step.questions(), step.charge, step.now_ms)


@pytest.mark.usefixtures("never_expiring")
def test_no_window_ever_holds_more_than_its_limit(store: Store) -> None:
    """Counts what was admitted in the window that ends with each admitted unit; it knows nothing of buckets."""
    for seed in range(5000, 5000 + STEPS // STEPS_OF_ONE_HISTORY):
        admitted: dict[str, list[tuple[int, int]]] = {}
        for step in history(seed, STEPS_OF_ONE_HISTORY, steady_clock=True):
            reply = store.run(step.checks, step.charge, step.now_ms)
            waits = iter(reply[1::3])
            verdicts = [[next(waits) for _ in check.windows] for check in step.checks]
            refused = any(check.enforce and any(waited) for check, waited in zip(step.checks, verdicts, strict=True))
            for check, waited in zip(step.checks, verdicts, strict=True):
                for window, key in zip(check.windows, check.keys, strict=True):
                    if step.charge and check.cost and not refused and not any(waited):
                        admitted.setdefault(key, []).append((step.now_ms, check.cost))
                        recent = sum(cost for at, cost in admitted[key] if step.now_ms - at < window.period_ms)
                        assert recent <= window.limit, f"seed {seed}: {recent} of {window.limit}"
