"""Samples of real logs: what each is taken for, and the requests in it.

nginx 1.22, Apache 2.4, gunicorn 25, Caddy 2.6 and django-structlog 11 have written theirs for the same six requests, the fifth
of which is no HTTP. That of Traefik is from its documentation.
"""

import json
from contextlib import suppress

import pytest

from ratewindow.contrib.backtest.logs.entry import LogError, Unreadable
from ratewindow.contrib.backtest.logs.formats import FORMATS, guessed, named
from ratewindow.contrib.backtest.logs.log import open_logs
from tests.contrib.backtest.support.samples import SAMPLES

TARGETS = ["GET /", "GET /private/?page=2&q=%C3%A9", 'POST /login/?next=/a"b', "GET /caf%C3%A9/", "HEAD /absolute/?x=1"]
# gunicorn answers the fourth itself and does not log it.
FOUND = {
    "nginx-combined.log": ("combined", TARGETS),
    "nginx-main.log": ("combined", TARGETS),
    "nginx-json.log": ("json", TARGETS),
    "apache-combined.log": ("combined", TARGETS),
    "apache-common.log": ("common", TARGETS),
    "gunicorn.log": ("combined", TARGETS[:3] + TARGETS[4:]),
    "gunicorn-json.log": ("json", [*TARGETS[:2], *TARGETS[4:]]),  # of the third it writes no JSON
    "caddy.log": ("json", [*TARGETS, "GET /"]),
    "structlog.log": ("json", ["GET /?q=%C3%A9&x=1", "GET /caf%C3%A9/"]),
    "traefik.log": ("json", ["GET /api/?x=1"]),
    "traefik-text.log": ("combined", ["GET /a"]),
}


def entries(sample, log_format=None):
    return list(open_logs([SAMPLES / sample], log_format))


def test_every_sample_is_tried():
    assert {path.name for path in SAMPLES.iterdir()} == set(FOUND)


@pytest.mark.parametrize("sample", FOUND)
def test_the_format_of_a_real_log_is_found_and_its_requests_are_read(sample):
    log = open_logs([SAMPLES / sample])
    targets = [f"{entry.method} {entry.target}" for entry in log]
    assert (log.format, targets) == FOUND[sample]
    assert entries(sample, FOUND[sample][0]) == entries(sample)


def test_what_a_server_has_hidden_is_no_header():
    """Else everybody who is signed in would be one client."""
    sent = {"Cookie": ["REDACTED"], "Authorization": ["REDACTED"], "X-App": ["a"]}
    line = json.dumps({"ts": 1790000000.0, "request": {"method": "GET", "uri": "/", "remote_ip": "203.0.113.9", "headers": sent}})
    assert named("json").read(line).headers == {"x-app": "a"}


@pytest.mark.parametrize("sample", ["nginx-combined.log", "nginx-main.log", "nginx-json.log", "apache-combined.log", "caddy.log"])
def test_what_servers_escape_is_as_the_client_sent_it(sample):
    agents = [entry.agent for entry in entries(sample)]
    assert agents[2:4] == ['Agent "x" \\ y', "café"]


@pytest.mark.parametrize("sample", ["nginx-json.log", "caddy.log", "gunicorn-json.log"])
def test_the_client_is_the_peer_and_what_proxies_said_is_a_header(sample):
    first = entries(sample)[0]
    assert (first.client, first.headers["x-forwarded-for"]) == ("127.0.0.1", "203.0.113.9, 198.51.100.7")


@pytest.mark.parametrize("sample", ["nginx-combined.log", "nginx-json.log", "gunicorn.log"])
def test_who_is_signed_in_is_the_user(sample):
    assert [entry.user for entry in entries(sample)][:3] == ["", "ann", ""]


@pytest.mark.parametrize(
    "sample, at_s, client, status, host",
    [
        ("caddy.log", 1795362251.694602, "127.0.0.1", 200, "shop.example"),
        ("structlog.log", 1795362320.462568, "127.0.0.1", 200, ""),
        ("traefik.log", 1682669674.123456, "10.0.1.7", 200, "shop.example"),
    ],
)
def test_time_client_status_and_host_are_read(sample, at_s, client, status, host):
    first = entries(sample)[0]
    assert (first.at_s, first.client, first.status, first.host) == (pytest.approx(at_s, abs=1e-6), client, status, host)


@pytest.mark.parametrize("name", FORMATS)
def test_every_name_is_a_format(name):
    assert named(name).name == name


@pytest.mark.parametrize(
    "line",
    [
        (
            '{"@timestamp": "2026-11-20T09:00:00Z", "client": {"ip": "1.2.3.4"}, "http": {"request": {"method": "GET"}}, '
            '"url": {"path": "/x", "query": "a=b"}}'
        ),
        'web | {"time": "20/Nov/2026:09:00:00 +0000", "remote_addr": "1.2.3.4:99", "request": "GET /x?a=b HTTP/1.1"}',
        '{"ts": 1795165200, "ip": "1.2.3.4", "method": "get", "url": "https://shop.example:443/x?a=b"}',
        '{"msec": "1795165200.000", "remote_addr": "1.2.3.4", "request_method": "GET", "uri": "/x", "args": "a=b"}',
    ],
)
def test_json_with_the_usual_names_is_read(line):
    entry = guessed([line]).read(line)
    assert (entry.at_s, entry.client, entry.method, entry.target) == (1795165200.0, "1.2.3.4", "GET", "/x?a=b")


@pytest.mark.parametrize(
    "headers", [{"http_x_key": "a"}, {"headers": {"X-Key": ["a"]}}, {"request": {"headers": {"x-key": "a"}}}]
)
def test_headers_are_known_by_their_names(headers):
    line = json.dumps({"time": 1795165200, "ip": "1.2.3.4", "method": "GET", "path": "/", **headers})
    assert named("json").read(line).headers == {"x-key": "a"}


def test_a_whole_directive_is_understood_as_it_stands_in_the_configuration():
    nginx = """log_format  main  '$remote_addr - $remote_user [$time_local] '
                                 '"$request" $status "$http_x_forwarded_for" ${http_x_key}';"""
    entry = named(nginx).read('1.2.3.4 - - [20/Nov/2026:09:00:00 +0000] "GET / HTTP/1.1" 200 "5.6.7.8" seven')
    assert (entry.client, entry.headers) == ("1.2.3.4", {"x-forwarded-for": "5.6.7.8", "x-key": "seven"})


def test_a_format_of_ones_own_is_read_by_its_variables():
    form = named("$msec|$remote_addr|$http_host|$request_method|$uri?$args|$status")
    entry = form.read("1795362165.898|2001:db8::7|shop.example|POST|/a?b=c|404")
    assert (entry.at_s, entry.client, entry.host) == (1795362165.898, "2001:db8::7", "shop.example")
    assert (entry.method, entry.target, entry.status) == ("POST", "/a?b=c", 404)


def test_the_last_forwarded_address_is_the_client_where_the_log_has_no_other():
    form = named('"$http_x_forwarded_for" [$time_local] "$request"')
    assert form.read('"1.1.1.1, 2.2.2.2" [20/Nov/2026:09:00:00 +0000] "GET / HTTP/1.1"').client == "2.2.2.2"


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("combind", "Unknown format 'combind': write combined, common, json, or nginx's log_format itself."),
        ("$remote_addr $request", "needs a time"),
        ("[$time_local] $request", "needs a time, an address"),
        ("$remote_addr [$time_local] $status", "a request line or method and path"),
        ("$remote_addr [$time_local] $http_a$http_b $request", "Nothing separates $http_a from $http_b"),
        ('{"time": "t"}', "Unknown format"),
    ],
)
def test_what_is_no_format_is_an_error_that_says_what_to_write(text, complaint):
    with pytest.raises(LogError) as said:
        named(text)
    assert complaint in str(said.value)


@pytest.mark.parametrize("client", ['"1.2.3.4', "'1.2.3.4"])
def test_no_client_begins_with_a_quote(client):
    with pytest.raises(Unreadable, match="no client"):
        named("common").read(f'{client} - - [20/Nov/2026:09:00:00 +0000] "GET / HTTP/1.1" 200 12')


def test_a_time_without_its_zone_is_no_time():
    with pytest.raises(Unreadable):
        named("$remote_addr $time_local $request_method $uri").read("1.2.3.4 20/Nov/2026:09:00:00 +0530 GET /a")


def test_values_as_deep_as_a_line_is_long_are_no_values():
    deep = "[" * 900 + "]" * 900
    for field in ("time", "ip", "path", "status", "user"):
        known = {"time": 1795165200, "ip": "1.2.3.4", "method": "GET", "path": "/"}
        line = json.dumps({**known, field: 0}).replace(f'"{field}": 0', f'"{field}": {deep}')
        with suppress(Unreadable):
            assert named("json").read(line) is not None or field == "path"
