"""Lines that clients, broken disks and other programs have written: each is a request, is skipped, or is counted."""

import io
import json
import math

import pytest
from hypothesis import given, settings, strategies as st

from ratewindow.contrib.backtest.logs.entry import Entry, LogError, Unreadable, iso
from ratewindow.contrib.backtest.logs.formats import FORMATS, named
from ratewindow.contrib.backtest.logs.log import MOST_BYTES, LogFile, open_logs
from tests.contrib.backtest.support.samples import SAMPLES
from tests.support.worst_strings import WORST

FORMS = [*map(named, FORMATS), named("$msec|$remote_addr|$http_host|$request_method|$uri?$args|$status")]
REAL = [line for path in sorted(SAMPLES.iterdir()) for line in path.read_text().splitlines()]

OBJECTS = [json.loads(line) for line in REAL if line.startswith("{") and "\\ y" not in line.replace("\\\\", "")]


def check(line):
    """No format fails on the line, and what is found in it can be shown, sent and stored."""
    for form in FORMS:
        try:
            entry = form.read(line)
        except Unreadable as why:
            str(why).encode("utf-8", "surrogatepass")
            continue
        if entry is not None:
            assert isinstance(entry, Entry)
            texts = [entry.client, entry.method, entry.user, entry.agent, entry.host, *entry.headers, *entry.headers.values()]
            assert "\0" not in "".join(texts).encode("utf-8").decode("utf-8")
            assert entry.target.isascii() and entry.target.startswith("/") and " " not in entry.target
            assert 0 <= entry.status <= 999 and isinstance(entry.at_s, float) and entry.client and entry.method


def test_the_worst_texts_are_no_lines():
    for text in WORST:
        check(text)


@pytest.mark.parametrize("place", ["client", "user", "time", "request", "path", "status", "agent"])
def test_the_worst_texts_in_a_field_of_a_line_fail_nothing(place):
    for text in WORST:
        at = {"client": "1.2.3.4", "user": "-", "time": "20/Nov/2026:09:00:00 +0000", "status": "200", "agent": "x", "path": "/"}
        at = {**at, "request": "GET / HTTP/1.1", place: text}
        if place == "path":
            at["request"] = f"GET /{text} HTTP/1.1"
        check('{client} - {user} [{time}] "{request}" {status} 12 "-" "{agent}"'.format(**at))
        known = {"time": at["time"], "ip": at["client"], "request": at["request"], "status": at["status"], "user": at["user"]}
        check(json.dumps({**known, "user_agent": at["agent"]}))
        check(json.dumps({**known, "user_agent": at["agent"]}, ensure_ascii=False))


@pytest.mark.parametrize("wrong", [None, True, -1, 1e400, 10**400, float("nan"), [], [[]], {}, {"a": 1}, ["a", None], "", "-"])
def test_any_kind_of_value_in_a_line_of_json_fails_nothing(wrong):
    for found in OBJECTS:
        for key in found:
            check(json.dumps({**found, key: wrong}))


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(REAL), st.data())
def test_a_real_line_with_bytes_changed_cut_out_or_put_in_fails_nothing(line, data):
    start = data.draw(st.integers(0, len(line)))
    end = data.draw(st.integers(start, min(len(line), start + 20)))
    check(line[:start] + data.draw(st.text(max_size=10)) + line[end:])


@pytest.mark.parametrize("size", [10, MOST_BYTES - 1, MOST_BYTES, MOST_BYTES + 1, 2 * MOST_BYTES + 2, 1_000_000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_of_a_line_that_is_too_long_its_beginning_is_held(size, end):
    data = b"first\n" + b"x" * size + (end + b"last" if end else b"")
    found = [*LogFile(io.BytesIO(data), FORMATS["json"], math.inf).lines]
    assert found == ["first", "x" * min(size, MOST_BYTES), *(["last"] if end else [])]


@pytest.mark.parametrize("unit", ["a ", '"', "\\", "[", "x-", ":", ": ", '" "', "{", '{"a":', ", ", "=", "&", '\\"', " [", "1."])
def test_the_longest_lines_are_decided_in_one_pass(unit):
    """Were a pattern to go back on its steps, these would take hours, and the run would not end."""
    text = unit * (MOST_BYTES // len(unit))
    check(text)
    check(f'1.2.3.4 - {text} [20/Nov/2026:09:00:00 +0000] "GET / HTTP/1.1" 200 12 "-" "x"')
    check(f'1.2.3.4 - - [20/Nov/2026:09:00:00 +0000] "{text}')


@pytest.mark.parametrize("name", ["access.log", "access.log.gz"])
@pytest.mark.parametrize("magic", [b"", b"\x1f\x8b", b"\x1f\x8b\x08\x00", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_a_file_of_random_bytes_is_an_error_that_names_it(tmp_path, name, magic):
    path = tmp_path / name
    path.write_bytes(magic + bytes(number * 7919 % 251 for number in range(50_000)))
    with pytest.raises(LogError, match=r"access\.log") as said:
        list(open_logs([path]))
    assert len(str(said.value)) < 1500


@pytest.mark.parametrize("at", ["01/Jan/0001:00:00:01 +0530", "31/Dec/1969:23:59:59 +0000", "31/Dec/9999:23:59:59 -0100"])
def test_a_time_that_not_every_zone_has_is_none(at):
    with pytest.raises(Unreadable, match="no time"):
        named("common").read(f'203.0.113.9 - - [{at}] "GET / HTTP/1.1" 200 12')


@pytest.mark.parametrize("at", ["0001-01-01T00:00:01+05:30", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59-01:00", "now"])
def test_nor_is_one_in_iso(at):
    with pytest.raises(Unreadable, match="no time"):
        iso(at)
