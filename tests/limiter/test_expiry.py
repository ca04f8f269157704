"""States expire when nothing of them counts any more, whatever is edited meanwhile: on servers whose clock the test holds."""

from collections.abc import Iterator

import pytest

from ratewindow.limiter import Limiter, Window
from ratewindow.limiter.penalties import Growing
from tests.support.clock import START_MS
from tests.support.held_stores import KINDS, Held, held


@pytest.fixture(params=KINDS)
def held_store(request: pytest.FixtureRequest) -> Iterator[Held]:
    with held(request.param) as made:
        yield made


@pytest.mark.parametrize("algorithm", ["token_bucket", "leaky_bucket"])
def test_a_bucket_whose_limit_was_lowered_admits_when_it_said_and_not_before(held_store: Held, algorithm: str) -> None:
    limiter = Limiter(held_store.store, believed_ms=0)
    assert all(limiter.hit("user:42", Window(60, 60_000, algorithm, burst=60)) for _ in range(60))
    held_store.move(START_MS + 1000)
    lowered = Window(6, 60_000, algorithm, burst=6)
    refused = limiter.hit("user:42", lowered)
    wait_ms = round((refused.retry_after or 0) * 1000)
    assert wait_ms == 540_000
    for later_ms in (59_000, 60_000, 61_000, wait_ms - 1):
        held_store.move(START_MS + 1000 + later_ms)
        assert limiter.peek("user:42", lowered).remaining == 0
    held_store.move(START_MS + 1000 + wait_ms)
    assert limiter.hit("user:42", lowered)


@pytest.mark.parametrize("algorithm", ["token_bucket", "leaky_bucket"])
def test_a_bucket_that_nobody_asked_about_since_the_edit_is_empty_once_it_was_by_the_old_limit(
    held_store: Held, algorithm: str
) -> None:
    limiter = Limiter(held_store.store, believed_ms=0)
    assert all(limiter.hit("user:42", Window(60, 60_000, algorithm, burst=60)) for _ in range(60))
    held_store.move(START_MS + 60_001)
    assert limiter.peek("user:42", Window(6, 60_000, algorithm, burst=6)).remaining == 6


@pytest.mark.parametrize(("edited_ms", "ends_ms"), [(60_000, 10_000), (10_000, 10_000), (4000, 4000)])
def test_a_lock_is_prolonged_by_no_edit_and_ended_by_a_shorter_penalty(held_store: Held, edited_ms: int, ends_ms: int) -> None:
    limiter, window = Limiter(held_store.store, believed_ms=0), Window(1, 1000)
    assert [limiter.hit("user:42", window, penalty_ms=10_000).allowed for _ in range(2)] == [True, False]
    held_store.move(START_MS + 3000)
    locked = limiter.peek("user:42", window, penalty_ms=edited_ms)
    assert (locked.reason, locked.retry_after) == ("penalty", (ends_ms - 3000) / 1000)
    held_store.move(START_MS + ends_ms - 1)
    assert not limiter.peek("user:42", window, penalty_ms=edited_ms)
    held_store.move(START_MS + ends_ms)
    assert limiter.peek("user:42", window, penalty_ms=edited_ms)


@pytest.mark.parametrize(("later_ms", "lasts_s"), [(59_999, 5), (60_000, 1), (60_001, 1)])
def test_a_lock_is_followed_by_a_longer_one_until_its_time_is_over(held_store: Held, later_ms: int, lasts_s: int) -> None:
    limiter, window, penalty = Limiter(held_store.store, believed_ms=0), Window(1, 10), Growing((1000, 5000), 60_000)
    told = [limiter.hit("user:42", window, penalty_ms=penalty).retry_after for _ in range(2)]
    held_store.move(START_MS + later_ms)
    told += [limiter.hit("user:42", window, penalty_ms=penalty).retry_after for _ in range(2)]
    assert told == [None, 1, None, lasts_s]
