"""How long a unit counts at most, where an algorithm says so: until then it may count, and from then on it does not."""

import pytest

from ratewindow.limiter import Window
from ratewindow.limiter.algorithms import algorithm, algorithm_choices
from tests.support.clock import START_MS

LASTING = [name for name, _ in algorithm_choices() if algorithm(name).lasts is not None]


@pytest.mark.parametrize("limit", [5, 60, 400])
@pytest.mark.parametrize("period_ms", [1, 50, 997, 10_000])
@pytest.mark.parametrize("name", LASTING)
def test_a_unit_counts_until_then_and_no_longer(name: str, period_ms: int, limit: int) -> None:
    window, counted = Window(limit, period_ms, name), algorithm(name)
    assert counted.lasts is not None
    lasts_ms, most = counted.lasts(window), 0
    for charged_ms in range(START_MS, START_MS + 300):
        reading = counted.reading(window, None, charged_ms)
        reading.charge(1)
        assert counted.reading(window, reading.stored, charged_ms + lasts_ms).empty
        most = max(most, not counted.reading(window, reading.stored, charged_ms + lasts_ms - 1).empty)
    assert most == 1


def test_the_two_that_remember_units_by_their_times_say_so() -> None:
    assert LASTING == ["sliding_window", "sliding_log"]
