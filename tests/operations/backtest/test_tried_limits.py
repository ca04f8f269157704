"""Limits that people write. What they refuse is tested with the peaks."""

from itertools import pairwise

from ratewindow.operations.backtest.tried_limits import LIMITS, MOST_TRIED, round_limits


def test_limits_are_round_and_never_further_apart_than_half() -> None:
    assert LIMITS[:13] == (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20)
    assert LIMITS[-1] == MOST_TRIED
    assert all(higher <= 2 * lower for lower, higher in pairwise(LIMITS))


def test_round_limits_end_where_they_are_to() -> None:
    assert round_limits(1) == (1,)
    assert round_limits(99)[-1] == 80
    assert round_limits(100)[-1] == 100
