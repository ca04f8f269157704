"""The curve in a terminal."""

import pytest

from ratewindow.operations.backtest.curve import Curve, curve_of
from ratewindow.operations.backtest.curve_text import LEGEND, MOST_LINES, lines
from ratewindow.operations.backtest.peaks import ClientPeak, Peaks

MINUTE_MS = 60_000


@pytest.fixture
def curve() -> Curve:
    peaks = Peaks(MINUTE_MS)
    for client in range(1, 200):
        for number in range(client):
            peaks.add(f"ip:{client}", number, status=404 if client > 150 else 200)
    return curve_of(peaks.taken_clients(), MINUTE_MS, also=[64])


@pytest.mark.parametrize("width", [200, 80, 60, 55])
def test_no_line_is_wider_than_the_terminal(curve: Curve, width: int) -> None:
    assert max(map(len, lines(curve, width, now=64, suggested=150))) <= width


def test_a_narrow_terminal_has_the_numbers_without_bars(curve: Curve) -> None:
    text = "\n".join(lines(curve, 20))
    assert "#" not in text
    assert "clients" in text


def test_lines_are_few_and_ascii_and_each_bar_is_shorter_than_the_one_above(curve: Curve) -> None:
    _, *found, legend = lines(curve, 100)
    assert legend.endswith(LEGEND)
    assert len(found) <= MOST_LINES
    assert "\n".join(found).isascii()
    bars = [line.count("#") + line.count("=") for line in found]
    assert bars == sorted(bars, reverse=True)
    assert bars[-1] == 0


def test_the_present_and_the_suggested_limit_are_marked(curve: Curve) -> None:
    marked = [line.split() for line in lines(curve, 100, now=64, suggested=150) if line.endswith(("now", "suggested"))]
    assert [(line[0], line[1], line[-1]) for line in marked] == [("64", "135", "now"), ("150", "49", "suggested")]
    [both] = [line for line in lines(curve, 100, now=150, suggested=150) if "now" in line]
    assert both.endswith("now, suggested")


def test_what_is_not_known_is_a_dash() -> None:
    recorded = curve_of([ClientPeak("ip:a", 9, 9, True)], MINUTE_MS)
    assert [line.split()[:4] for line in lines(recorded)][1:-1] == [["1", "1", "1", "-"], ["9", "0", "0", "0"]]


def test_a_curve_of_nobody_has_a_line() -> None:
    assert [line.split() for line in lines(curve_of([], MINUTE_MS), 20)][1:] == [["1", "0", "0", "0"]]
