"""The clock is looked at whatever the lines of a log are. Here each look at it takes a millisecond."""

import gzip
import io
import json
from itertools import count

import pytest

from ratewindow.operations.backtest.plan import of_rates
from ratewindow.operations.backtest.run import backtest
from ratewindow.operations.logs import lines as log_lines
from ratewindow.operations.logs import log as logs
from ratewindow.operations.logs.log import LogError, Most, open_logs
from tests.support.log_files import line

FIRST = {
    "combined": line(0),
    "json": json.dumps({"time": 1795165200, "ip": "1.2.3.4", "method": "GET", "path": "/"}),
    "structlog": json.dumps({"timestamp": 1795165200, "ip": "1.2.3.4", "request": "GET /", "event": "request_finished"}),
    "cloudfront": "2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\tx.example\t/\t200\t-\tcurl\t-\t-",
}
NO_REQUESTS = [
    ("combined", ""),
    ("combined", " "),
    ("json", "{}"),
    ("json", '{"a": ' + "[" * 400 + "]" * 400 + "}"),
    ("structlog", '{"event": "request_started"}'),
    ("cloudfront", "#"),
    ("cloudfront", "#Fields: " + "a " * 1000),
]
MOST = Most(requests=10**9, seconds=3, file_bytes=10**9)


@pytest.fixture
def looks(monkeypatch):
    """The times at which somebody looked at the clock."""
    seen = []
    times = count()

    def monotonic():
        seen.append(next(times) / 1000)
        return seen[-1]

    for module in (logs, log_lines):
        monkeypatch.setattr(module, "monotonic", monotonic)
    return seen


def packed(*texts):
    return io.BytesIO(b"".join(gzip.compress(text.encode()) for text in texts))


@pytest.mark.parametrize("name, text", NO_REQUESTS)
def test_lines_that_are_no_requests_take_time_like_others(looks, name, text):
    log = open_logs([packed(f"{FIRST[name]}\n" * 20_000, f"{text}\n" * 20_000)], name, MOST)
    log._until_s = log._parts[0].file._until_s = 1e9
    assert len(list(log)) == 20_000
    last_s, begun = looks[-1], len(looks)
    log._until_s = log._parts[0].file._until_s = last_s + 25
    assert len(list(log)) == 20_000
    assert log.is_cut and len(looks) - begun < 25_010


def test_nothing_but_line_ends_is_no_log_that_is_read_to_its_end(looks):
    log = open_logs([packed("\n" * 100_000)], "combined", MOST)
    assert list(log) == []
    assert log.is_cut and len(looks) < 3_010


def test_a_packed_file_of_many_parts_without_anything_in_them_is_out_of_time(looks):
    nothing = gzip.compress(b"")
    with pytest.raises(LogError, match=r"takes too long to read. Use manage.py ratewindow backtest"):
        open_logs([io.BytesIO(nothing * 3_000_000)], "combined", MOST)


@pytest.mark.parametrize("order", [1, -1])
def test_what_is_read_is_decided_as_long_as_there_is_time(looks, order):
    rows = [line(number, f"198.51.100.{number % 250}") for number in range(30_000)][::order]
    most = Most(requests=10**9, seconds=33, file_bytes=10**9)
    log = open_logs([packed("\n".join(rows))], "combined", most)
    found = backtest(log, of_rates("1/h"))
    assert log.is_cut and len(looks) < 33_100
    assert 0 < found.total.requests < 30_000
    assert found.log.requests == found.total.requests
