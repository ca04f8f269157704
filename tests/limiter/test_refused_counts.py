"""What a refused client pays: nothing, unless refusals count or are punished."""

import pytest

from ratewindow.limiter import Limiter, Window
from tests.support.clock import Clock
from tests.support.histories import ALGORITHMS

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("never_expiring")]


def polled(limiter: Limiter, clock: Clock, window: Window, **how: object) -> int:
    """How often a client is admitted that polls once a second for ten minutes."""
    admitted = 0
    for _ in range(600):
        clock.now_ms += 1000
        admitted += limiter.hit("user:42", [window], **how).allowed  # type: ignore[arg-type]
    return admitted


@pytest.mark.parametrize("algorithm", ["sliding_log", "sliding_window", "sliding_estimate"])
def test_a_client_that_polls_is_admitted_50_times_and_with_counted_refusals_5_times(
    limiter: Limiter, clock: Clock, algorithm: str
) -> None:
    window = Window(5, 60_000, algorithm)
    clock.now_ms -= clock.now_ms % 60_000 + 1
    # To an estimate the five of the last minute came evenly, so it lets a poller have four of five.
    assert polled(limiter, clock, window) == (41 if algorithm == "sliding_estimate" else 50)
    clock.now_ms += 600_000
    assert polled(limiter, clock, window, count_refused=True) == 5


@pytest.mark.parametrize("algorithm", ["token_bucket", "leaky_bucket"])
def test_a_bucket_kept_full_by_counted_refusals_admits_only_its_burst(limiter: Limiter, clock: Clock, algorithm: str) -> None:
    window = Window(5, 60_000, algorithm)
    assert 50 <= polled(limiter, clock, window) <= 55
    clock.now_ms += 600_000
    assert polled(limiter, clock, window, count_refused=True) == window.burst


def test_a_fixed_window_ends_whatever_was_refused_in_it(limiter: Limiter, clock: Clock) -> None:
    window = Window(5, 60_000, "fixed_window")
    assert polled(limiter, clock, window) == polled(limiter, clock, window, count_refused=True) == 50


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_counted_flood_is_over_once_it_stops_for_its_wait(limiter: Limiter, clock: Clock, algorithm: str) -> None:
    """Refusals fill what is full and no more: however long the flood was, its end is as near."""
    windows = [Window(5, 60_000, algorithm)]
    for _ in range(500):
        clock.now_ms += 100
        told = limiter.hit("user:42", windows, count_refused=True)
    assert told.retry_after is not None
    assert told.retry_after <= 61
    clock.now_ms += round(told.retry_after * 1000)
    assert limiter.hit("user:42", windows, count_refused=True)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_cost_that_never_fits_is_not_counted_as_refused(limiter: Limiter, algorithm: str) -> None:
    windows = [Window(5, 60_000, algorithm)]
    assert limiter.hit("user:42", windows, 6, count_refused=True).reason == "cost"
    assert limiter.peek("user:42", windows).remaining == (windows[0].burst or 5)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_penalty_locks_out_for_its_time_and_is_neither_extended_nor_renewed(
    limiter: Limiter, clock: Clock, algorithm: str
) -> None:
    windows, penalty_ms = [Window(1, 1000, algorithm)], 300_000
    limiter.hit("user:42", windows, penalty_ms=penalty_ms)
    assert limiter.hit("user:42", windows, penalty_ms=penalty_ms).retry_after == 300
    for passed_s in (60, 120, 299):
        clock.now_ms += passed_s * 1000 - (clock.now_ms - Clock().now_ms)
        told = limiter.hit("user:42", windows, penalty_ms=penalty_ms)
        assert (told.allowed, told.reason, told.remaining, told.retry_after) == (False, "penalty", 0, 300 - passed_s)
    clock.now_ms += 1000
    assert limiter.hit("user:42", windows, penalty_ms=penalty_ms)


def test_neither_a_look_nor_a_cost_that_never_fits_locks(limiter: Limiter) -> None:
    windows = [Window(2, 60_000)]
    assert limiter.hit("user:42", windows, 3, penalty_ms=300_000).reason == "cost"
    limiter.hit("user:42", windows, 2, penalty_ms=300_000)
    told = limiter.peek("user:42", windows, penalty_ms=300_000)
    assert (told.allowed, told.reason) == (False, "limit")


def test_a_refund_does_not_lift_a_lock_and_a_reset_does(limiter: Limiter) -> None:
    windows = [Window(1, 60_000)]
    first = limiter.hit("user:42", windows, penalty_ms=300_000)
    assert not limiter.hit("user:42", windows, penalty_ms=300_000)
    limiter.refund("user:42", windows, decision=first)
    assert limiter.hit("user:42", windows, penalty_ms=300_000).reason == "penalty"
    limiter.reset("user:42", windows)
    assert limiter.hit("user:42", windows, penalty_ms=300_000)
