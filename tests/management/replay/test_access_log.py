"""Lines of real logs, and lines that no log should have."""

import gzip

import pytest

from ratewindow.management.replay.access_log import Entry, parse, read

COMMON = '199.72.81.55 - - [01/Jul/1995:00:00:01 -0400] "GET /history/apollo/ HTTP/1.0" 200 6245'
COMBINED = (
    '2001:db8::7 - ann [20/Nov/2026:09:00:00 +0000] "POST /login/?next=/ HTTP/1.1" 302 0 "https://a.example/" "Agent \\"x\\""'
)


def test_a_line_of_the_common_format_is_a_request():
    assert parse(COMMON) == Entry("199.72.81.55", 804571201.0, "GET", "/history/apollo/")


def test_a_line_of_the_combined_format_is_a_request():
    assert parse(COMBINED) == Entry("2001:db8::7", 1795165200.0, "POST", "/login/?next=/")


@pytest.mark.parametrize(
    "request_line, method, target",
    [
        ("GET /ksc.html", "GET", "/ksc.html"),
        ("GET /a b.html HTTP/1.0", "GET", "/a%20b.html"),
        ("GET /a%20b?c=%2F HTTP/1.1", "GET", "/a%20b?c=%2F"),
        ("GET http://site.example/x?y=1 HTTP/1.1", "GET", "/x?y=1"),
        ("HEAD http://site.example HTTP/1.1", "HEAD", "/"),
        ("PROPFIND /dav/ HTTP/1.1", "PROPFIND", "/dav/"),
        ("GET /é HTTP/1.1", "GET", "/%C3%A9"),
        (r"GET /say\"hi\" HTTP/1.1", "GET", r"/say\"hi\""),
    ],
)
def test_request_lines_go_on_the_wire_as_the_client_meant_them(request_line, method, target):
    entry = parse(f'c - - [01/Jul/1995:00:00:01 -0400] "{request_line}" 200 1')
    assert (entry.method, entry.target) == (method, target)


@pytest.mark.parametrize(
    "line, complaint",
    [
        ("hello", "not in the common"),
        ("", "not in the common"),
        ('c - - [01/Jul/1995:00:00:01 -0400] "-" 408 0', "no request"),
        (r'c - - [01/Jul/1995:00:00:01 -0400] "\x16\x03\x01" 400 0', "no request"),
        ('c - - [01/Jul/1995:00:00:01 -0400] "CONNECT a.example:443 HTTP/1.1" 400 0', "no path"),
        ('c - - [01/Jul/1995:00:00:01 -0400] "OPTIONS * HTTP/1.1" 200 0', "no path"),
        ('c - - [yesterday] "GET / HTTP/1.0" 200 0', "no time"),
        ('c - - [31/Feb/1995:00:00:01 -0400] "GET / HTTP/1.0" 200 0', "day"),
        ('- - - [01/Jul/1995:00:00:01 -0400] "GET / HTTP/1.0" 200 0', "no client"),
        ('c - - [01/Jul/1995:00:00:01 -0400] "GET http://[::1 HTTP/1.0" 200 0', "IPv6"),
    ],
)
def test_a_line_that_is_no_request_says_why(line, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse(line)


def test_bad_lines_are_told_with_their_number_and_the_others_still_read(tmp_path):
    log = tmp_path / "access.log"
    log.write_bytes(f"{COMMON}\n\xff\x00junk\n\n{COMBINED}\n".encode("latin-1"))
    found = list(read(log))
    assert [number for number, _ in found] == [1, 2, 4]
    assert isinstance(found[1][1], ValueError)


def test_bytes_that_are_no_text_reach_the_wire_as_they_are(tmp_path):
    log = tmp_path / "access.log"
    log.write_bytes(b'c - - [01/Jul/1995:00:00:01 -0400] "GET /caf\xe9 HTTP/1.0" 200 1\n')
    assert [entry.target for _, entry in read(log)] == ["/caf%E9"]


def test_a_packed_log_reads_like_a_plain_one_and_only_as_far_as_asked(tmp_path):
    log = tmp_path / "access.log.gz"
    log.write_bytes(gzip.compress(f"{COMMON}\n{COMBINED}\n".encode()))
    assert len(list(read(log))) == 2
    assert len(list(read(log, most=1))) == 1
