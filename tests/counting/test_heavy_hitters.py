"""The most frequent names within the stated bound, whatever comes, in bounded memory."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

from ratewindow.counting.sheets import HeavyHitters

MOST = 100


def counted(names, most):
    hitters = HeavyHitters(most)
    for name in names:
        hitters.add(name)
        assert len(hitters.counts) <= 2 * most
    return hitters


@settings(deadline=None)
@given(st.lists(st.integers(0, 40).map(str), max_size=400), st.integers(1, 8))
def test_no_count_is_too_large_nor_too_small_by_more_than_the_bound(names, most):
    hitters, exact = counted(names, most), Counter(names)
    assert hitters.bound <= len(names) / (most + 1)
    for name, times in exact.items():
        assert 0 <= times - hitters.counts.get(name, 0) <= hitters.bound


def test_few_names_are_counted_exactly():
    names = [str(number % (2 * MOST)) for number in range(5000)]
    hitters = counted(names, MOST)
    assert hitters.counts == Counter(names) and hitters.bound == 0


@pytest.mark.long
def test_a_flood_of_names_that_occur_once_does_not_push_out_the_true_top_ten():
    random_ = random.Random(1)
    top = {f"top{number}": 12_000 + 500 * number for number in range(10)}
    names = [name for name, times in top.items() for _ in range(times)] + [f"once{number}" for number in range(1_000_000)]
    random_.shuffle(names)
    hitters = HeavyHitters(MOST)
    for name in names:
        hitters.add(name)
    assert len(hitters.counts) <= 2 * MOST
    assert hitters.bound <= len(names) / (MOST + 1)
    assert sorted(hitters.counts, key=hitters.counts.get, reverse=True)[:10] == sorted(top, key=top.get, reverse=True)
    for name, times in top.items():
        assert hitters.counts[name] <= times <= hitters.counts[name] + hitters.bound


def test_what_is_shrunk_away_raises_the_bound():
    hitters = counted("aaaabbbcc", 5)
    hitters.shrink(2)
    assert (hitters.counts, hitters.bound) == ({"a": 2, "b": 1}, 2)
    hitters.shrink(2)
    assert hitters.bound == 2
