"""Lines that clients, broken disks and other programs have written: each is a request, is skipped, or is counted."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ratewindow.operations.logs.entry import Entry, LogError, Unreadable
from ratewindow.operations.logs.formats import NAMES, named
from ratewindow.operations.logs.lines import MOST_BYTES, TOO_LONG, lines
from ratewindow.operations.logs.log import open_logs
from ratewindow.operations.logs.times import MONTHS, iso
from tests.support.log_samples import OWN, SAMPLES
from tests.support.worst_strings import WORST

FORMS = [named(text) for text in (*NAMES, *OWN.values())]
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


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=300).map(lambda data: data.replace(b"0", b"\n")), st.lists(st.integers(1, 40), min_size=1))
@example(b"\r\n\n", [1])
def test_lines_are_the_same_however_the_bytes_come(data, sizes):
    chunks, at = [], 0
    while at < len(data):
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(data[at : at + size])
        at += size
    found = [line for batch in lines(chunks) for line in batch]
    whole = [line for batch in lines([data]) for line in batch]
    assert [line for line in found if line] == [line for line in whole if line]


@pytest.mark.parametrize("size", [1, 1000, MOST_BYTES - 1, MOST_BYTES + 1, 1_000_000])
def test_of_a_line_that_is_too_long_nothing_is_held(size):
    data = b"first\n" + b"x" * 1_000_000 + b"\nlast\n"
    found = [line for batch in lines(data[at : at + size] for at in range(0, len(data), size)) for line in batch]
    assert [line for line in found if line != ""] == ["first", TOO_LONG, "last"]


@pytest.mark.parametrize("unit", ["a ", '"', "\\", "[", "x-", ":", ": ", '" "', "{", '{"a":', ", ", "=", "&", '\\"', " [", "1."])
def test_the_longest_lines_are_decided_in_one_pass(unit):
    """Were a pattern to go back on its steps, these would take hours, and the run would not end."""
    text = unit * (MOST_BYTES // len(unit))
    check(text)
    check(f'1.2.3.4 - {text} [20/Nov/2026:09:00:00 +0000] "GET / HTTP/1.1" 200 12 "-" "x"')
    check(f'1.2.3.4 - - [20/Nov/2026:09:00:00 +0000] "{text}')


@pytest.mark.parametrize("name", ["access.log", "access.log.gz", "access.log.zst"])
@pytest.mark.parametrize("magic", [b"", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08\x00", b"\xef\xbb\xbf", b"\xff\xfe"])
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
    day, month, year = at[:11].split("/")
    with pytest.raises(Unreadable, match="no time"):
        iso(f"{year}-{MONTHS[month]:02}-{day}T{at[12:20]}{at[21:24]}:{at[24:]}")
