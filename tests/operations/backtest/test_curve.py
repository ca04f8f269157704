"""The curve of limits against clients caught and requests refused."""

from ratewindow.operations.backtest.curve import MOST_SHOWN, curve_of, curves_of
from ratewindow.operations.backtest.peaks import ClientPeak, Peaks

MINUTE_MS = 60_000


def recorded(*peaks: int, innocent: bool = True) -> list[ClientPeak]:
    """Clients of whom only the peak is known."""
    return [ClientPeak(f"ip:{number}-{innocent}", peak, peak, innocent) for number, peak in enumerate(peaks)]


def test_a_limit_catches_the_clients_with_a_higher_peak() -> None:
    curve = curve_of([*recorded(1, 5, 5, 8), *recorded(100, innocent=False)], MINUTE_MS)
    caught = {point.limit: (point.caught, point.innocent) for point in curve.points}
    assert caught[4] == (4, 3)
    assert caught[5] == (2, 1)
    assert caught[8] == (1, 0)
    assert caught[100] == (0, 0)
    assert (curve.clients, curve.innocent, curve.requests) == (5, 4, 119)


def test_what_is_refused_is_unknown_of_a_recording_unless_nobody_is_caught() -> None:
    curve = curve_of(recorded(3, 9), MINUTE_MS)
    assert curve.at(5).refused is None
    assert curve.at(9).refused == 0


def test_requests_refused_are_added_up_and_those_of_the_likely_innocent_apart() -> None:
    peaks = Peaks(MINUTE_MS)
    for number in range(10):
        peaks.add("ip:good", number, status=200)
        peaks.add("ip:bad", number, status=404)
    curve = curve_of(peaks.taken_clients(), MINUTE_MS)
    assert (curve.at(4).refused, curve.at(4).innocent_refused) == (12, 6)
    assert (curve.at(10).refused, curve.at(10).caught) == (0, 0)


def test_points_are_few_rise_and_keep_both_ends_of_the_widest_gap() -> None:
    curve = curve_of(recorded(*range(1, 3000), 7777, 123_457), MINUTE_MS)
    limits = [point.limit for point in curve.points]
    assert limits == sorted(set(limits))
    assert {2999, 7777, 123_457} <= {*limits}
    assert len(limits) < 120
    assert curve.points[-1].caught == 0
    assert [point.caught for point in curve.points] == sorted((point.caught for point in curve.points), reverse=True)


def test_the_present_limit_is_a_point() -> None:
    curve = curve_of(recorded(50, 70), MINUTE_MS, also=[64])
    assert curve.at(64).limit == 64
    assert curve.at(66).caught == 1


def test_those_caught_are_named_the_highest_first_and_not_without_bound() -> None:
    curve = curve_of(recorded(*range(1, 1001)), MINUTE_MS)
    assert len(curve.highest) == MOST_SHOWN
    assert [each.peak for each in curve.caught(997)] == [1000, 999, 998]


def test_without_any_client_the_curve_catches_nobody() -> None:
    curve = curve_of([], MINUTE_MS)
    assert [(point.limit, point.caught, point.refused) for point in curve.points] == [(1, 0, 0)]


def test_curves_of_two_times_have_the_same_limits() -> None:
    ordinary, attacked = curves_of([recorded(3, 8), recorded(3, 8, 5000)], MINUTE_MS, also=[64])
    assert [point.limit for point in ordinary.points] == [point.limit for point in attacked.points]
    assert (ordinary.at(64).caught, attacked.at(64).caught) == (0, 1)
