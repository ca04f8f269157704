"""A backtest decides each request of a log as the engine would have, at the log's times."""

from collections import Counter
from itertools import groupby

import pytest

from ratewindow.contrib.backtest.result import Bounds
from ratewindow.contrib.backtest.run import backtest, of_rates
from tests.contrib.backtest.support.logged import Heard, Logged, asked, nasa
from tests.support.oracle import Limit, Oracle, Question


def expected(entries, limit, spread=False, key=lambda entry: entry.client):
    """Whether each request is refused, by the oracle: all of a second at its start, or spread over it."""
    oracle, refused = Oracle(), []
    for second, group in groupby(entries, key=lambda entry: int(entry.at_s)):
        together = list(group)
        for place, entry in enumerate(together):
            now = second * 1000 + (place * 1000 // len(together) if spread else 0)
            reply = oracle.run([Question({key(entry): limit}, 1)], "hit", now)
            refused.append(reply[1] != 0)
    return refused


@pytest.mark.parametrize(
    "rates, limit", [("10/m", Limit("sliding_log", 10, 60_000)), ("30/h", Limit("sliding_log", 30, 3_600_000))]
)
def test_a_sliding_log_refuses_of_a_real_log_what_the_oracle_refuses_line_by_line(rates, limit, monkeypatch):
    entries = list(nasa())
    heard = Heard(monkeypatch, entries)
    found = backtest(Logged(entries), of_rates(rates, algorithm="sliding_log"))
    at_start, spread = expected(entries, limit), expected(entries, limit, spread=True)
    assert heard[0] == at_start
    assert heard[1] == spread
    assert found.total.refused == Bounds(sum(at_start), sum(spread))
    assert found.total.requests == len(entries)
    assert found.total.clients == len({entry.client for entry in entries})
    refused = Counter(entry.client for entry, is_refused in zip(entries, at_start, strict=True) if is_refused)
    assert found.total.clients_refused.least == len(refused)
    assert {
        each.name or each.client.removeprefix("ip:"): each.refused.least for each in found.caught if each.refused.least
    } == refused


@pytest.mark.parametrize(
    "rates, limit", [("10/m", Limit("sliding_window", 10, 60_000)), ("300/h", Limit("sliding_window", 300, 3_600_000))]
)
def test_a_sliding_window_refuses_what_its_oracle_refuses_line_by_line(rates, limit, monkeypatch):
    entries = list(nasa())[:1500]
    heard = Heard(monkeypatch, entries)
    key = "global" if limit.limit == 300 else "ip"
    backtest(Logged(entries), of_rates(rates, key))
    assert heard[0] == expected(entries, limit, key=lambda entry: entry.client if key == "ip" else "all")


def test_a_log_with_fractions_of_seconds_is_decided_once():
    found = backtest(Logged(asked(number / 4) for number in range(12)), of_rates("4/s"))
    assert found.total.refused == Bounds(0, 0)
    found = backtest(Logged(asked(number / 8) for number in range(16)), of_rates("4/s"))
    assert found.total.refused == Bounds(8, 8)
    assert not found.seen.whole_seconds


def test_whole_seconds_leave_open_what_came_first():
    """One client comes five times late in a second, and five times early in the next, if they come in the order of lines."""
    first, second = [asked(0, "203.0.113.1")] * 5, [asked(0, "203.0.113.2")] * 5
    log = [*first, *second, *[asked(1, "203.0.113.2")] * 5, *[asked(1, "203.0.113.1")] * 5]
    found = backtest(Logged(log), of_rates("5/s"))
    assert found.total.refused == Bounds(0, 5)
    assert found.total.clients_refused == Bounds(0, 1)


def test_two_limits_charge_both_or_none():
    """The second refuses what it must, and what it refuses is not charged to the first."""
    found = backtest(Logged([asked(at + 0.5) for at in range(20)]), of_rates("15/m; 1/2s"))
    assert found.total.refused == Bounds(10, 10)


def test_a_log_without_requests_has_a_result():
    found = backtest(Logged([]), of_rates("5/s"))
    assert (found.total.requests, found.total.refused, found.caught) == (0, Bounds(0, 0), [])
    assert [each.name for each in found.rules] == ["backtest"]


def test_caught_clients_come_with_what_they_asked_for():
    log = [asked(number / 10, target=f"/login/?next={number}", method="POST", status=401, agent="curl") for number in range(10)]
    caught = backtest(Logged(log), of_rates("2/m")).caught[0]
    assert (caught.client, caught.requests, caught.refused) == ("ip:203.0.113.9", 10, Bounds(8, 8))
    assert set(caught.did.paths) == {"POST /login/"}
    assert set(caught.did.statuses) == {401}
    assert set(caught.did.agents) == {"curl"}
