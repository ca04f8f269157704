"""Lines of real logs, and lines that no log should have."""

import pytest

from ratewindow.contrib.backtest.logs.entry import Entry, Unreadable
from ratewindow.contrib.backtest.logs.formats import guessed

COMMON = '199.72.81.55 - - [01/Jul/1995:00:00:01 -0400] "GET /history/apollo/ HTTP/1.0" 200 6245'
COMBINED = (
    '2001:db8::7 - ann [20/Nov/2026:09:00:00 +0000] "POST /login/?next=/ HTTP/1.1" 302 0 "https://a.example/" "Agent \\"x\\""'
)


def parse(line):
    return (guessed([line]) or guessed([COMMON])).read(line)


def test_a_line_of_the_common_format_is_a_request():
    assert parse(COMMON) == Entry(804571201.0, "199.72.81.55", "GET", "/history/apollo/", 200)


def test_the_name_of_a_user_may_have_blanks():
    assert parse(COMMON.replace("- -", "- ann b", 1)).user == "ann b"


def test_a_line_of_the_combined_format_is_a_request():
    headers = {"referer": "https://a.example/"}
    agent = 'Agent "x"'
    assert parse(COMBINED) == Entry(
        1795165200.0, "2001:db8::7", "POST", "/login/?next=/", 302, user="ann", agent=agent, headers=headers
    )


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
        (r"GET /say\"hi\" HTTP/1.1", "GET", '/say"hi"'),
        (r"GET /caf\xc3\xa9\x22 HTTP/1.1", "GET", '/caf%C3%A9"'),
    ],
)
def test_request_lines_go_on_the_wire_as_the_client_meant_them(request_line, method, target):
    entry = parse(f'c - - [01/Jul/1995:00:00:01 -0400] "{request_line}" 200 1')
    assert (entry.method, entry.target) == (method, target)


@pytest.mark.parametrize(
    "line, complaint",
    [
        ("hello", "not in the format common"),
        ("", "not in the format common"),
        ('c - - [01/Jul/1995:00:00:01 -0400] "-" 408 0', "no request"),
        (r'c - - [01/Jul/1995:00:00:01 -0400] "\x16\x03\x01" 400 0', "no request"),
        ('c - - [01/Jul/1995:00:00:01 -0400] "CONNECT a.example:443 HTTP/1.1" 400 0', "no path"),
        ('c - - [01/Jul/1995:00:00:01 -0400] "OPTIONS * HTTP/1.1" 200 0', "no path"),
        ('c - - [yesterday] "GET / HTTP/1.0" 200 0', "no time"),
        ('c - - [31/Feb/1995:00:00:01 -0400] "GET / HTTP/1.0" 200 0', "no time"),
        ('- - - [01/Jul/1995:00:00:01 -0400] "GET / HTTP/1.0" 200 0', "no client"),
    ],
)
def test_a_line_that_is_no_request_says_why(line, complaint):
    with pytest.raises(Unreadable, match=complaint):
        parse(line)
