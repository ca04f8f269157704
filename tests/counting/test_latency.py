"""The histogram of how long decisions took."""

import random

import pytest

from ratewindow.counting.counters import _count_time
from ratewindow.counting.sums import BOUNDS, SPANS, percentiles


def counted(*times_s):
    spans = [0] * SPANS
    for took_s in times_s:
        _count_time(spans, took_s)
    return spans


@pytest.mark.parametrize("took_s", [0.0, 1e-9, 1e-6, 5e-5, 0.000_3, 0.001, 0.1, 1.0, 20.0, 1e6, -0.001])
def test_every_time_has_a_span_that_it_lies_in(took_s):
    spans = counted(took_s)
    assert sum(spans) == 1
    if not spans[-1]:
        assert abs(took_s) * 1000 <= float(BOUNDS[spans.index(1)]) * 1.01


def test_bounds_are_different_texts():
    assert len(set(BOUNDS)) == SPANS


def test_a_percentile_is_the_bound_of_a_span_which_is_less_than_half_too_long():
    dice = random.Random(5)
    times_s = sorted(dice.lognormvariate(-8, 0.7) for _ in range(20_000))
    told = percentiles({BOUNDS[span]: count for span, count in enumerate(counted(*times_s)) if count})
    assert told is not None and told.count == 20_000
    for share, found_ms in ((0.5, told.p50_ms), (0.95, told.p95_ms), (0.99, told.p99_ms)):
        assert 0.99 <= found_ms / (times_s[int(20_000 * share)] * 1000) < 1.43


def test_nothing_has_no_percentiles_and_what_is_no_bound_is_left_out():
    assert percentiles({}) is None
    assert percentiles({"soon": 5}) is None
