"""Curves and suggestions as JSON."""

import json

from ratewindow.operations.backtest import curve_json
from ratewindow.operations.backtest.curve import curve_of
from ratewindow.operations.backtest.peaks import ClientPeak, Peaks
from ratewindow.operations.backtest.suggestion import suggest

MINUTE_MS, DAY_MS = 60_000, 86_400_000


def crowd(clients: int) -> list[ClientPeak]:
    return [ClientPeak(f"ip:{number}", peak, peak, True, peak, peak) for number in range(clients) for peak in [1 + number % 10]]


def attacker() -> ClientPeak:
    return ClientPeak("ip:203.0.113.9", 90, 900, False, 0, 90)


def test_a_curve_has_its_points_and_the_clients_with_the_highest_peaks() -> None:
    peaks = Peaks(MINUTE_MS)
    for number in range(3):
        peaks.add("ip:203.0.113.9", number, status=404, method="GET", target="/a?b", agent="curl")
    values = json.loads(json.dumps(curve_json.of_curve(curve_of(peaks.taken_clients(), MINUTE_MS), named=str.upper)))
    assert (values["period"], values["clients"], values["likely_innocent"], values["requests"]) == ("1m", 1, 0, 3)
    assert values["limits"][0] == {
        "limit": 1,
        "clients_caught": 1,
        "likely_innocent_caught": 0,
        "requests_refused": 2,
        "likely_innocent_refused": 0,
    }
    assert values["highest"] == [
        {
            "client": "IP:203.0.113.9",
            "peak": 3,
            "requests": 3,
            "likely_innocent": False,
            "peak_of_halves": [0, 3],
            "paths": {"GET /a": 3},
            "statuses": {"404": 3},
            "agents": {"curl": 3},
        }
    ]


def test_a_client_of_a_recording_has_no_sample() -> None:
    [client] = curve_json.of_curve(curve_of([attacker()], MINUTE_MS))["highest"]
    assert "paths" not in client


def test_a_suggestion_has_a_rate_its_reason_and_how_sure_it_is() -> None:
    values = json.loads(json.dumps(curve_json.of_suggestion(suggest([*crowd(300), attacker()], MINUTE_MS, DAY_MS))))
    found = values["suggestion"]
    assert (found["rate"], found["limit"], found["period"], found["stable"], found["basis"]) == ("20/m", 20, "1m", True, "gap")
    assert (found["clients_caught"], found["likely_innocent_caught"]) == (1, 0)
    assert found["reason"] == values["reason"]
    assert len(found["cautions"]) == 2


def test_without_a_number_there_is_a_reason_alone() -> None:
    values = curve_json.of_suggestion(suggest([attacker()], MINUTE_MS, DAY_MS))
    assert values["suggestion"] is None
    assert "at least 200" in values["reason"]
