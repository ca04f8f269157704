"""A result in a terminal: the curve."""

from ratewindow.contrib.backtest.clients import ClientPeak
from ratewindow.contrib.backtest.commands import backtest
from ratewindow.contrib.backtest.curve import Suggestion, curve_of
from ratewindow.contrib.backtest.result import OfPeriod

MINUTE_MS = 60_000
CLIENTS = [ClientPeak(f"ip:{peak}", peak, peak, peak <= 150, range(peak)) for peak in range(1, 200)]


def rows(clients: list[ClientPeak]) -> list[list[str]]:
    curve = curve_of(clients, MINUTE_MS, also=[64, 150])
    table, reason = backtest._period(OfPeriod(64, curve, Suggestion(MINUTE_MS, 150, "Because."), []))
    assert reason == "Suggested: 150/m. Because."
    return [row.split() for row in table.splitlines()[2:]]


def test_about_ten_limits_and_those_that_matter_have_a_row_each() -> None:
    found = rows(CLIENTS)
    assert 8 <= len(found) <= 20
    assert [row for row in found if row[-1] in ("now", "suggested")] == [
        ["64", "135", "86", "9,180", "now"],
        ["150", "49", "0", "1,225", "suggested"],
    ]
    caught = [int(row[1]) for row in found]
    assert caught == sorted(caught, reverse=True) and caught[-1] == 0


def test_so_they_are_where_one_client_takes_far_more() -> None:
    found = rows([*CLIENTS, ClientPeak("ip:far", 200_000, 200_000, False, range(200_000))])
    assert 8 <= len(found) <= 15
    assert found[-1][:2] == ["200,000", "0"] and {"now", "suggested"} <= {row[-1] for row in found}


def test_a_curve_of_nobody_has_a_row() -> None:
    assert ["1", "0", "0", "0"] in rows([])
