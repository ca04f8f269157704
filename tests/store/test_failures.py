"""What is remembered of decisions that Redis did not make though it is there."""

import pytest

from ratewindow.store import failures
from ratewindow.store.failures import MINUTE_S, MOST_KINDS, SLOT_S, RecentFailures


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_each_kind_is_counted_for_a_minute(clock: Clock) -> None:
    seen = RecentFailures(clock)
    assert [seen.add("store:timeout", "api") for _ in range(3)] == [1, 2, 3]
    assert seen.add("store:timeout", "login", 2) == 2
    clock.now_s += MINUTE_S - SLOT_S
    assert seen.add("store:noperm", "api") == 1
    assert seen.by_cause() == {"store:timeout": 5, "store:noperm": 1}
    clock.now_s += 2 * SLOT_S
    assert seen.by_cause() == {"store:noperm": 1}
    seen.clear()
    assert seen.by_cause() == {}


def test_it_does_not_grow_without_bound(clock: Clock) -> None:
    seen = RecentFailures(clock)
    for number in range(MOST_KINDS * 20):
        seen.add("store:timeout", f"rule {number}")
        clock.now_s += SLOT_S / 20
    assert sum(map(len, seen._slots.values())) <= MOST_KINDS * (MINUTE_S // SLOT_S + 2)
    assert failures.FEW > 1
