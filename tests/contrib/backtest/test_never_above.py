"""In no window of the period does a backtest admit more of one client than the limit, by a count that knows no algorithm."""

import random
from collections import defaultdict

import pytest

from ratewindow.contrib.backtest.requests import Moments
from ratewindow.contrib.backtest.run import backtest, of_rates
from tests.contrib.backtest.support.logged import Heard, Logged, asked, nasa

EXACT = ("sliding_window", "sliding_log")


def fullest(admitted, period_ms):
    """The most of these times, in order, that lie in one window of the period, which begins at any of them."""
    most = first = 0
    for last, at_ms in enumerate(admitted):
        while admitted[first] <= at_ms - period_ms:
            first += 1
        most = max(most, last - first + 1)
    return most


def check(entries, rates, limits, algorithm, monkeypatch):
    """The fullest window of each limit, by the times at which each course decides."""
    heard = Heard(monkeypatch, entries)
    found = backtest(Logged(entries), of_rates(rates, algorithm=algorithm))
    moments = [*Moments(entries)]
    assert found.total.refused.least > 0
    for course in range(len(moments[0].times_ms)):
        admitted = defaultdict(list)
        for (entry, times_ms), refused in zip(moments, heard[course], strict=True):
            if not refused:
                admitted[entry.client].append(times_ms[course])
        for limit, period_ms in limits:
            highest = max(fullest(times, period_ms) for times in admitted.values())
            assert highest <= limit, f"{highest} of one client in {period_ms} ms"
        assert any(max(fullest(times, ms) for times in admitted.values()) == limit for limit, ms in limits)


@pytest.mark.parametrize("rates, limits", [("8/m", [(8, 60_000)]), ("3/10s; 70/h", [(3, 10_000), (70, 3_600_000)])])
@pytest.mark.parametrize("algorithm", EXACT)
def test_on_a_real_log(rates, limits, algorithm, monkeypatch):
    check(list(nasa()), rates, limits, algorithm, monkeypatch)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("whole_seconds", [True, False])
@pytest.mark.parametrize("algorithm", EXACT)
def test_on_random_logs(algorithm, whole_seconds, seed, monkeypatch):
    """Of bursts and pauses, some of them exactly as long as a period, and of a limit that takes buckets."""
    chance, at_ms, entries = random.Random(seed), 0, []
    for _ in range(4000):
        at_ms += chance.choice((0, 0, 1, 7, 90, 1000, chance.randrange(2500)))
        at_s = at_ms // 1000 if whole_seconds else at_ms / 1000
        entries.append(asked(at_s, f"203.0.113.{chance.choice((1, 1, 1, 2, 3, chance.randrange(4, 250)))}"))
    check(entries, "9/5s; 260/7m", [(9, 5_000), (260, 420_000)], algorithm, monkeypatch)
