"""A run takes no longer than it may, and looks at no more keys in a second than it may."""

import pytest

from ratewindow.operations.cleaning.pace import CATCHES_UP_S, Budget, Pace


class Clock:
    """It goes on while somebody sleeps, and when it is told to."""

    def __init__(self):
        self.now_s = 1000.0

    def __call__(self):
        return self.now_s

    def sleep(self, seconds):
        assert seconds > 0
        self.now_s += seconds


@pytest.fixture
def clock():
    return Clock()


def test_so_many_keys_take_as_long_as_the_rate_says(clock):
    pace = Pace(Budget(60, 20_000), clock, clock.sleep)
    for _ in range(1000):
        clock.now_s += 0.002  # what a call takes
        pace.spend(200)
    assert clock.now_s - 1000 == pytest.approx(10, abs=0.02)


def test_what_was_lost_in_a_long_pause_is_not_made_up_for(clock):
    pace = Pace(Budget(60, 1000), clock, clock.sleep)
    clock.now_s += 30
    before_s = clock.now_s
    for _ in range(10):
        pace.spend(200)
    assert clock.now_s - before_s >= 2 - CATCHES_UP_S


def test_a_slow_server_is_not_waited_for_besides(clock):
    pace = Pace(Budget(60, 20_000), clock, clock.sleep)
    for _ in range(10):
        clock.now_s += 1
        pace.spend(200)
    assert clock.now_s == 1010


def test_it_is_over_when_the_time_is(clock):
    pace = Pace(Budget(60, 1), clock, clock.sleep)
    assert not pace.is_over()
    pace.spend(59)
    assert not pace.is_over()
    pace.spend(1)
    assert pace.is_over()
