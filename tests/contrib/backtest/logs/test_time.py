"""A log is read as long as there is time, whatever its lines are. Here each look at the clock takes a millisecond."""

import io
from itertools import count

import pytest

from ratewindow.contrib.backtest.logs import log as logs
from ratewindow.contrib.backtest.logs.log import Most, open_logs
from ratewindow.contrib.backtest.run import backtest, of_rates
from tests.support.log_files import line

CHUNK = 16 * 1024
FIRST = '{"time": 1795165200, "ip": "1.2.3.4", "method": "GET", "path": "/"}\n'


@pytest.fixture(autouse=True)
def _looks(monkeypatch):
    times = count()
    monkeypatch.setattr(logs, "monotonic", lambda: next(times) / 1000)
    monkeypatch.setattr(logs, "LOOK_EVERY", 100)


@pytest.mark.parametrize("text", ["\n", " \n", "{}\n"])
def test_lines_that_are_no_requests_take_time_like_others(text):
    data = FIRST.encode() + text.encode() * (40 * CHUNK // len(text))
    log = open_logs([io.BytesIO(data)], "json", Most(seconds=0.02))
    assert (len(list(log)), log.is_cut) == (1, True)


@pytest.mark.parametrize("rows", [30_000, 500])
def test_what_is_read_is_decided_as_long_as_there_is_time(rows):
    data = "\n".join(line(number, f"198.51.100.{number % 250}") for number in range(rows)).encode()
    log = open_logs([io.BytesIO(data)], "combined", Most(seconds=0.25))
    found = backtest(log, of_rates("1/h"))
    assert log.is_cut is (rows > 500)
    assert 0 < found.total.requests == found.seen.requests
    assert (found.total.requests < rows) is log.is_cut
