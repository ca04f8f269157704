"""Penalties as people type them, and how those grow that are lists."""

import re
from datetime import timedelta

import pytest
import redis
from hypothesis import given, strategies as st

from ratewindow.limiter import Limiter, RedisStore, Window
from ratewindow.limiter.durations import UNITS_MS
from ratewindow.limiter.limiter import Store
from ratewindow.limiter.penalties import Growing, Penalty, in_one_form, parse_penalty
from ratewindow.limiter.types import Check
from tests.support.clock import Clock

M, H, D = UNITS_MS["m"], UNITS_MS["h"], UNITS_MS["d"]
LIST = Growing((M, 5 * M, H), D)
BRIEF = Window(1, 1)  # for less than any lock-out


@pytest.mark.parametrize(
    ("text", "penalty", "canonical"),
    [
        ("15m", 15 * M, "15m"),
        (timedelta(minutes=15), 15 * M, "15m"),
        (" 90 Seconds ", 90_000, "1m30s"),
        ("40d", 40 * D, "5w5d"),
        ("1m; 5m; 1h", LIST, "1m; 5m; 1h within 1d"),
        ("1M;300s ; 60 min WITHIN 24h", LIST, "1m; 5m; 1h within 1d"),
        ("1m; 1m; 5m within 5m", Growing((M, M, 5 * M), 5 * M), "1m; 1m; 5m within 5m"),
        ("1h within 1d", H, "1h"),
    ],
)
def test_text_is_read_and_written_in_one_form(text: str | timedelta, penalty: Penalty, canonical: str) -> None:
    assert parse_penalty(text) == penalty
    assert in_one_form(text) == canonical
    assert parse_penalty(canonical) == penalty


@given(st.lists(st.integers(1, 2**40), min_size=2, max_size=10), st.integers(0, 2**40))
def test_every_list_that_grows_is_read_back(steps: list[int], more: int) -> None:
    penalty = Growing(tuple(sorted(steps)), max(steps) + more)
    text = f"{'; '.join(f'{step}ms' for step in penalty.steps_ms)} within {penalty.within_ms}ms"
    assert parse_penalty(text) == parse_penalty(in_one_form(text)) == penalty


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("5", "'5' has no unit: write 5s for seconds"),
        (5, "5 has no unit"),
        ("1m; 5", "'5' has no unit"),
        ("1m;", "'' is not a duration: write 10s"),
        ("within 1d", "'' is not a duration"),
        ("1m; 5m within", "'' is not a duration"),
        ("1m; 5m within 1h within 1d", "'1h within 1d' is not a duration"),
        ("1m, 5m", "'1m, 5m' is not a duration"),
        ("5m; 1m", "'5m; 1m' has a duration that is shorter than the one before: write the shorter ones first"),
        ("1h; 2d", "'1h; 2d' lasts up to 2d, longer than the 1d within which it grows: end it with, for example, within 2d"),
        ("1m; 1h within 59m", "lasts up to 1h, longer than the 59m within which it grows"),
        ("1h within 1m", "lasts up to 1h, longer than the 1m within which it grows"),
        (";".join(["1m"] * 11), "has 11 durations, of at most 10: leave some out"),
        ("1m; 99999999d", "99999999d is too long to be counted: write at most 52124995d"),
        ("0s; 1m", "'0s' is zero"),
    ],
)
def test_what_is_no_penalty_is_an_error_that_says_what_to_write(value: str | timedelta, told: str) -> None:
    with pytest.raises(ValueError) as error:
        parse_penalty(value)
    assert told in str(error.value)


def lock_of(limiter: Limiter, penalty: Penalty = LIST, window: Window = BRIEF) -> float | None:
    """How long the client is locked out, in seconds, once it has tried too often."""
    told = limiter.hit("user:42", window, penalty_ms=penalty)
    return (limiter.hit("user:42", window, penalty_ms=penalty) if told else told).retry_after


@pytest.mark.usefixtures("never_expiring")
class TestGrowth:
    def test_each_lock_out_lasts_longer_and_the_last_one_repeats(self, limiter: Limiter, clock: Clock) -> None:
        lasting = []
        for _ in range(5):
            lasting.append(lock_of(limiter) or 0)
            clock.now_ms += round(lasting[-1] * 1000)
        assert lasting == [60, 300, 3600, 3600, 3600]

    def test_a_call_meanwhile_neither_extends_nor_counts(self, limiter: Limiter, clock: Clock) -> None:
        lock_of(limiter)
        clock.now_ms += M - 1
        assert [lock_of(limiter) for _ in range(3)] == [0.001] * 3
        clock.now_ms += 1
        assert lock_of(limiter) == 300

    @pytest.mark.parametrize(("later_ms", "lasts_s"), [(D - 1, 300), (D, 60)])
    def test_after_its_time_it_begins_again(self, limiter: Limiter, clock: Clock, later_ms: int, lasts_s: int) -> None:
        lock_of(limiter)
        clock.now_ms += later_ms
        assert lock_of(limiter) == lasts_s

    def test_the_time_begins_anew_with_each(self, limiter: Limiter, clock: Clock) -> None:
        for lasts_s in (60, 300, 3600):
            assert lock_of(limiter) == lasts_s
            clock.now_ms += D - 1

    def test_neither_a_look_nor_force_nor_a_cost_that_never_fits_counts(self, limiter: Limiter) -> None:
        windows = [Window(1, 1000)]
        limiter.hit("user:42", windows, penalty_ms=LIST)
        assert not limiter.peek("user:42", windows, penalty_ms=LIST)
        assert not limiter.hit("user:42", windows, 2, penalty_ms=LIST)
        assert limiter.hit("user:42", windows, force=True, penalty_ms=LIST)
        assert limiter.hit("user:42", windows, penalty_ms=LIST).retry_after == 60

    def test_a_reset_makes_the_next_the_first(self, limiter: Limiter, clock: Clock) -> None:
        lock_of(limiter)
        clock.now_ms += M
        lock_of(limiter)
        limiter.reset("user:42", BRIEF)
        assert lock_of(limiter) == 60

    def test_a_shorter_list_ends_a_lock_sooner_and_a_longer_one_does_not_prolong_it(self, limiter: Limiter, clock: Clock) -> None:
        lock_of(limiter)
        clock.now_ms += M
        assert lock_of(limiter) == 300
        assert lock_of(limiter, Growing((M, 2 * M), D)) == 120
        assert lock_of(limiter, Growing((M, H), D)) == 300
        assert lock_of(limiter, 30_000) == 30

    def test_a_lock_of_one_duration_is_the_first_of_a_list(self, limiter: Limiter, clock: Clock) -> None:
        assert lock_of(limiter, 2 * M) == 120
        assert lock_of(limiter) == 60
        clock.now_ms += M
        assert lock_of(limiter) == 300

    def test_a_step_back_of_the_clock_locks_nobody_out_for_longer(self, limiter: Limiter, clock: Clock) -> None:
        for lasts_ms in (M, 5 * M, 0):
            lock_of(limiter)
            clock.now_ms += lasts_ms
        clock.now_ms -= 2 * H
        assert lock_of(limiter) == 60


@pytest.mark.parametrize(
    ("penalty", "state", "expires_ms"), [(LIST, r"\d{13} 60000 1 86400000", D), (15 * M, r"\d{13} 900000", 15 * M)]
)
def test_the_state_is_one_short_text_that_expires_once_nothing_depends_on_it(
    redis_client: redis.Redis, penalty: Penalty, state: str, expires_ms: int
) -> None:
    lock_of(Limiter(RedisStore(redis_client), believed_ms=0), penalty, Window(1, 1000, "sliding_log"))  # whose state is no string
    (key,) = redis_client.scan_iter(_type="string")
    assert re.fullmatch(state, redis_client.get(key) or "")
    assert expires_ms - 10_000 < redis_client.pttl(key) <= expires_ms


def test_a_refusal_that_a_process_remembers_ends_with_the_lock_and_the_next_is_longer(
    redis_client: redis.Redis, clock: Clock
) -> None:
    limiter, penalty = Limiter(RedisStore(redis_client), clock_ms=clock), Growing((500, 2000), D)
    assert lock_of(limiter, penalty) == 0.5
    clock.now_ms += 499
    assert lock_of(limiter, penalty) == 0.001
    clock.now_ms += 1
    assert lock_of(limiter, penalty) == 2


def test_a_rule_in_shadow_grows_as_it_would_enforced(store: Store) -> None:
    check = Check("rule", (BRIEF,), ("a:{42}",), 1, False, penalty_ms=LIST, lock="l:{42}")
    at_ms = [10 * D, 10 * D, 10 * D + M, 10 * D + M, 10 * D + 2 * M]
    assert [store.run([check], "hit", now_ms)[0].lock_wait_ms for now_ms in at_ms] == [0, M, 0, 5 * M, 4 * M]
