"""The curve of limits against clients caught and requests refused."""

from collections.abc import Sequence

import pytest

from ratewindow.contrib.backtest.clients import ClientPeak
from ratewindow.contrib.backtest.curve import MOST_SHOWN, Curve, Point, curve_of, round_limits

MINUTE_MS = 60_000


def clients(*peaks: int, innocent: bool = True) -> list[ClientPeak]:
    """Clients that sent all at once."""
    return [ClientPeak(f"ip:{number}-{innocent}", peak, peak, innocent, range(peak)) for number, peak in enumerate(peaks)]


def at(curve: Curve, limit: int) -> Point:
    return next(point for point in curve.points if point.limit == limit)


def test_a_limit_catches_the_clients_with_a_higher_peak_and_refuses_what_is_above_it() -> None:
    curve = curve_of([*clients(1, 5, 5, 8), *clients(100, innocent=False)], MINUTE_MS)
    assert at(curve, 5) == Point(5, 2, 1, 3 + 95, 3)
    assert curve.points[-1] == Point(100, 0, 0, 0, 0)
    assert (curve.clients, curve.innocent, curve.requests) == (5, 4, 119)


def test_a_request_of_several_units_is_refused_whole() -> None:
    [client] = clients(10)
    curve = curve_of([client._replace(peak=30)], MINUTE_MS, cost=3)
    assert (at(curve, 7).refused, at(curve, 2).refused, at(curve, 30).refused) == (8, 10, 0)


@pytest.mark.parametrize("also", [[], [0, 64]])
def test_points_rise_to_the_first_that_catches_nobody(also: Sequence[int]) -> None:
    curve = curve_of(clients(*range(1, 300), 1777), MINUTE_MS, also=also)
    limits = [point.limit for point in curve.points]
    assert limits == sorted({*limits}) and {*also} <= {*limits}
    assert len(limits) < 50
    assert [point.caught for point in curve.points].index(0) == len(limits) - 1
    if also:
        assert (at(curve, 0).caught, at(curve, 0).refused) == (300, sum(range(300)) + 1777)


def test_the_highest_peaks_are_named_and_not_without_bound() -> None:
    curve = curve_of(clients(*range(1, 400)), MINUTE_MS)
    assert [each.peak for each in curve.highest] == [*range(399, 399 - MOST_SHOWN, -1)]


def test_without_any_client_the_curve_catches_nobody() -> None:
    assert curve_of([], MINUTE_MS).points == [Point(1, 0, 0, 0, 0)]


def test_limits_are_round() -> None:
    assert round_limits(20) == (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20)
    assert (round_limits(99)[-1], round_limits(100)[-1]) == (80, 100)
