"""A line takes time by its length alone, whatever the format that somebody has typed: of twice the length, twice the time."""

from contextlib import suppress
from itertools import product
from time import thread_time

import pytest

from ratewindow.contrib.backtest.logs.entry import Unreadable
from ratewindow.contrib.backtest.logs.formats import FORMATS, named
from ratewindow.contrib.backtest.logs.log import MOST_BYTES

SEPARATORS = [":", " ", "|", '"', ", ", " [", "::", '" "', "\\"]
LOG_FORMATS = [
    *(f"$remote_addr{by}{by.join(['$host'] * 5)}{by}[$time_local] $request" for by in SEPARATORS),
    '$remote_addr:$host:$host:$host:$host:$host [$time_local] "$request"',
    f'$remote_addr {"a" * 900}b$host{"a" * 900} [$time_local] "$request"',
]
LENGTHS = [MOST_BYTES // 2**power for power in range(8, 0, -1)]
UNITS = [
    *(
        "1:",
        "a ",
        '"',
        "\\",
        "\\\\",
        "[",
        "x-",
        ": ",
        '" "',
        "{",
        '{"a":',
        ", ",
        "a, ",
        "=",
        "&",
        '\\"',
        " [",
        "1.",
        "a",
        "9",
        "%2",
    ),
    *("::", "' ", "|", "\t", " - ", "http://", "?", "/", "//", "e\u0301\u0323", "\u0323\u0301", "+00", " +0000", "] ", "\\x41"),
]
LINES = [
    "{}",
    '1.2.3.4 - - [20/Nov/2026:09:00:00 +0000] "{}',
    '1.2.3.4 - - [20/Nov/2026:09:00:00 +0000] "GET http://{} HTTP/1.1" 200 12 "-" "x"',
    '1.2.3.4 - - [20/Nov/2026:09:00:00.{} +0000] "GET / HTTP/1.1" 200 12 "-" "x"',
    '{"time": 1795165200, "ip": "1.2.3.4", "b": "1.2.3.4", "request": "GET {}", "c": "GET http://{}"}',
    '{"time": 9{}, "a": "{}", "ip": "1.2.3.4", "request": "GET / HTTP/1.1"}',
]


def took_s(form, frame, text):
    least = float("inf")
    for ending in "12":  # what was read before may be remembered
        line = frame.replace("{}", text + ending)
        start_s = thread_time()
        with suppress(Unreadable):
            form.read(line)
        least = min(least, thread_time() - start_s)
    return least


def check(form):
    """Each line grows step by step, so that one which takes too long is found before it holds up the run."""
    for frame, unit in product(LINES, UNITS):
        before_s = None
        for length in LENGTHS:
            now_s = took_s(form, frame, unit * (length // len(unit)))
            assert before_s is None or now_s < 3 * before_s + 0.002, (frame, unit, length)
            before_s = now_s


@pytest.mark.pace
@pytest.mark.parametrize("text", [*FORMATS, *LOG_FORMATS])
def test_a_line_of_twice_the_length_takes_twice_the_time(text):
    check(named(text))
