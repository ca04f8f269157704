"""Samples of real logs: what each is taken for, and the requests in it.

nginx 1.22, Apache 2.4, gunicorn 25, Caddy 2.6 and django-structlog 11 have written theirs for the same six requests, the fifth
of which is no HTTP. Those of AWS, Cloudflare, Heroku and Traefik are from the documentation of their makers.
"""

import json
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from ratewindow.operations.logs.entry import LogError, Unreadable
from ratewindow.operations.logs.formats import NAMES, fitting, guessed, named
from ratewindow.operations.logs.log import open_logs
from tests.support.log_samples import OWN, SAMPLES

TARGETS = ["GET /", "GET /private/?page=2&q=%C3%A9", 'POST /login/?next=/a"b', "GET /caf%C3%A9/", "HEAD /absolute/?x=1"]
# gunicorn answers the fourth itself and does not log it.
FOUND = {
    "nginx-combined.log": ("combined", TARGETS),
    "nginx-main.log": ("main", TARGETS),
    "nginx-own.log": ("log_format", TARGETS),
    "nginx-json.log": ("nginx", TARGETS),
    "apache-combined.log": ("combined", TARGETS),
    "apache-common.log": ("common", TARGETS),
    "apache-vhost.log": ("vhost_combined", TARGETS),
    "gunicorn.log": ("combined", TARGETS[:3] + TARGETS[4:]),
    "gunicorn-json.log": ("gunicorn", TARGETS[:3] + TARGETS[4:]),
    "caddy.log": ("caddy", [*TARGETS, "GET /"]),
    "structlog.log": ("structlog", ["GET /?q=%C3%A9&x=1", "GET /caf%C3%A9/"]),
    "alb.log": ("alb", ["GET /?a=1", "GET /x/"]),
    "cloudfront.log": ("cloudfront", ["GET /index.html?a=1"]),
    "cloudflare.log": ("cloudflare", ["GET /var/www?x=1"]),
    "traefik.log": ("traefik", ["GET /api/?x=1"]),
    "traefik-text.log": ("combined", ["GET /a"]),
}


def entries(sample):
    return list(open_logs([SAMPLES / sample], OWN.get(sample)))


def test_every_sample_is_tried():
    assert {path.name for path in SAMPLES.iterdir()} == set(FOUND)


@pytest.mark.parametrize("sample", FOUND)
def test_the_format_of_a_real_log_is_found_and_its_requests_are_read(sample):
    log = open_logs([SAMPLES / sample], OWN.get(sample))
    targets = [f"{entry.method} {entry.target}" for entry in log]
    assert (log.format, targets) == FOUND[sample]


@pytest.mark.parametrize("sample", ["nginx-combined.log", "nginx-main.log", "nginx-json.log", "apache-combined.log", "caddy.log"])
def test_what_servers_escape_is_as_the_client_sent_it(sample):
    agents = [entry.agent for entry in entries(sample)]
    assert agents[2:4] == ['Agent "x" \\ y', "café"]


def test_backslashes_that_gunicorn_leaves_in_json_are_read():
    assert entries("gunicorn-json.log")[2].agent == 'Agent "x" \\ y'


@pytest.mark.parametrize("sample", ["nginx-main.log", "nginx-json.log", "caddy.log", "gunicorn-json.log"])
def test_the_client_is_the_peer_and_what_proxies_said_is_a_header(sample):
    first = entries(sample)[0]
    assert (first.client, first.headers["x-forwarded-for"]) == ("127.0.0.1", "203.0.113.9, 198.51.100.7")


@pytest.mark.parametrize(
    "sample", ["nginx-combined.log", "nginx-json.log", "apache-vhost.log", "gunicorn.log", "gunicorn-json.log"]
)
def test_who_is_signed_in_is_the_user(sample):
    assert [entry.user for entry in entries(sample)][:3] == ["", "ann", ""]


@pytest.mark.parametrize(
    "sample, at_s, client, status, host",
    [
        ("nginx-own.log", 1795362165.898, "127.0.0.1", 200, "shop.example"),
        ("caddy.log", 1795362251.694602, "127.0.0.1", 200, "shop.example"),
        ("structlog.log", 1795362320.462568, "127.0.0.1", 200, ""),
        ("alb.log", 1530570180.186641, "192.168.131.39", 200, "www.example.com"),
        ("cloudfront.log", 1575493351.0, "192.0.2.100", 200, "www.example.com"),
        ("cloudflare.log", 1545155129.696, "68.178.11.89", 403, "testing.logpull.com"),
        ("traefik.log", 1682669674.123456, "10.0.1.7", 200, "shop.example"),
    ],
)
def test_time_client_status_and_host_are_read(sample, at_s, client, status, host):
    first = entries(sample)[0]
    assert (first.at_s, first.client, first.status, first.host) == (pytest.approx(at_s, abs=1e-6), client, status, host)


def test_a_load_balancer_of_ipv6_has_the_address_without_its_port():
    assert entries("alb.log")[1].client == "2001:db8::7"


def test_cloudfront_has_the_agent_without_its_encoding():
    assert entries("cloudfront.log")[0].agent == "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"


def test_lines_of_other_programs_are_skipped_not_unreadable():
    log = open_logs([SAMPLES / "structlog.log"])
    list(log)
    assert (log.read, log.skipped, log.unreadable) == (2, 3, 0)


@pytest.mark.parametrize("sample, whole", [("nginx-combined.log", True), ("caddy.log", False), ("cloudfront.log", True)])
def test_it_is_known_whether_the_log_has_fractions_of_seconds(sample, whole):
    log = open_logs([SAMPLES / sample])
    list(log)
    assert log.whole_seconds is whole


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_a_format(name):
    assert named(name).name == name


@pytest.mark.parametrize("sample", [name for name in FOUND if name not in OWN])
def test_the_name_that_is_said_reads_the_log_again(sample):
    assert list(open_logs([SAMPLES / sample], FOUND[sample][0])) == entries(sample)


def test_programs_that_write_text_or_json_are_read_in_both_by_their_name():
    assert list(open_logs([SAMPLES / "nginx-combined.log"], "nginx")) == entries("nginx-combined.log")
    assert list(open_logs([SAMPLES / "nginx-json.log"], "nginx")) == entries("nginx-json.log")


def test_a_map_says_where_the_fields_of_json_are():
    form = named('{"time": "at.when", "client": ["proxy", "peer"], "request": "line", "header.x-tenant": "tenant"}')
    entry = form.read('web | {"at": {"when": 1795165200123}, "peer": "1.2.3.4:99", "line": "GET /a HTTP/2", "tenant": "b"}')
    assert (entry.at_s, entry.client, entry.target, entry.headers) == (1795165200.123, "1.2.3.4", "/a", {"x-tenant": "b"})


def test_a_map_says_which_lines_are_requests():
    form = named('{"time": "t", "client": "c", "method": "m", "target": "p", "only": {"kind": "access"}}')
    assert form.read('{"kind": "query", "t": 1795165200, "c": "a", "m": "GET", "p": "/"}') is None
    assert form.read('{"kind": "access", "t": 1795165200, "c": "a", "m": "get", "p": "/"}').method == "GET"


@pytest.mark.parametrize(
    "line",
    [
        (
            '{"@timestamp": "2026-11-20T09:00:00Z", "client": {"ip": "1.2.3.4"}, "http": {"request": {"method": "GET"}}, '
            '"url": {"path": "/x", "query": "a=b"}}'
        ),
        '{"time": "20/Nov/2026:09:00:00 +0000", "remote_addr": "1.2.3.4", "request": "GET /x?a=b HTTP/1.1"}',
        '{"ts": 1795165200, "ip": "1.2.3.4", "method": "GET", "url": "https://shop.example:443/x?a=b"}',
    ],
)
def test_json_with_the_usual_names_needs_no_map(line):
    entry = guessed([line]).read(line)
    assert (entry.at_s, entry.client, entry.method, entry.target) == (1795165200.0, "1.2.3.4", "GET", "/x?a=b")


def test_a_whole_directive_is_understood_as_it_stands_in_the_configuration():
    nginx = """log_format  main  '$remote_addr - $remote_user [$time_local] '
                                 '"$request" $status "$http_x_forwarded_for"';"""
    entry = named(nginx).read('1.2.3.4 - - [20/Nov/2026:09:00:00 +0000] "GET / HTTP/1.1" 200 "5.6.7.8"')
    assert (entry.client, entry.headers) == ("1.2.3.4", {"x-forwarded-for": "5.6.7.8"})


def test_the_last_forwarded_address_is_the_client_where_the_log_has_no_other():
    form = named('$http_x_forwarded_for [$time_local] "$request"')
    assert form.read('1.1.1.1, 2.2.2.2 [20/Nov/2026:09:00:00 +0000] "GET / HTTP/1.1"').client == "2.2.2.2"


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("combind", "Unknown format 'combind': write combined,"),
        ("something else", "write alb, caddy, "),
        ("$remote_addr $request", "has no time"),
        ("[$time_local] $request", "has no address"),
        ("$remote_addr [$time_local] $status", "neither a request line nor method and path"),
        ("$remote_addr [$time_local] $http_a$http_b $request", "Nothing separates $http_a from $http_b"),
        ("$remote_addr:$host$uri [$time_local] $request", "Nothing separates $remote_addr from $host"),
        ("{", "is no JSON"),
        ('{"tme": "t"}', "has no 'tme': write 'time'"),
        ('{"time": "t"}', "needs time, client, and either request"),
        ('{"time": 3}', "no path at 'time'"),
        ('{"only": "x"}', 'no object at "only"'),
    ],
)
def test_what_is_no_format_is_an_error_that_says_what_to_write(text, complaint):
    with pytest.raises(LogError) as said:
        named(text)
    assert complaint in str(said.value)


WHOLE = [
    '1.2.3.4 - - [20/Nov/2026:09:00:00 +0000] "GET /a HTTP/1.1" 200 12 "-" "Agent/1"',
    '{"time": 1795165200, "ip": "1.2.3.4", "method": "GET", "path": "/a", "user_agent": "Agent/1"}',
]


@pytest.mark.parametrize("line", WHOLE)
@pytest.mark.parametrize("within", ['"', '""', '\\"'])
def test_lines_in_quotes_as_a_whole_are_read_without_them(line, within):
    quoted = '"' + line.replace('"', within) + '"'
    for form in (fitting([quoted] * 3, None), fitting([quoted], named("combined" if line in WHOLE[:1] else "json"))):
        entry = form.read(quoted)
        assert (entry.client, entry.target, entry.agent) == ("1.2.3.4", "/a", "Agent/1")


def test_a_format_whose_lines_begin_and_end_with_quotes_is_read_as_it_is():
    form = named('"$remote_addr" "$time_iso8601" "$request"')
    quoted = '"1.2.3.4" "2026-11-20T09:00:00Z" "GET /a HTTP/1.1"'
    assert fitting([quoted], form).read(quoted).client == "1.2.3.4"


@pytest.mark.parametrize("client", ['"1.2.3.4', "'1.2.3.4"])
def test_no_client_begins_with_a_quote(client):
    with pytest.raises(Unreadable, match="no client"):
        named("common").read(f'{client} - - [20/Nov/2026:09:00:00 +0000] "GET / HTTP/1.1" 200 12')


@pytest.mark.parametrize(
    "text, line, found",
    [
        ("$remote_addr:$remote_port ", "2001:db8::7:4711 ", ("2001:db8::7", "")),
        ("$host:$server_port $remote_addr ", "[::1]:80 1.2.3.4 ", ("1.2.3.4", "[::1]")),
        ("$remote_port:$remote_addr:$host ", "80:2001:db8::7:a.example ", ("2001:db8::7", "a.example")),
        ("$remote_addr|$scheme://$host$uri$is_args$args|", "1.2.3.4|https://a.example/x?b=c|", ("1.2.3.4", "a.example")),
    ],
)
def test_addresses_with_ports_and_variables_side_by_side_are_told_apart(text, line, found):
    entry = named(f'{text}[$time_local] "$request"').read(f'{line}[20/Nov/2026:09:00:00 +0000] "GET / HTTP/1.1"')
    assert (entry.client, entry.host) == found


@pytest.mark.parametrize("at", [1, 3])
def test_a_bare_time_keeps_its_zone_wherever_it_stands(at):
    fields, values = ["$remote_addr", "$request_method", "$uri"], ["203.0.113.9", "GET", "/a"]
    fields.insert(at, "$time_local")
    values.insert(at, "20/Nov/2026:09:00:00 +0530")
    assert named(" ".join(fields)).read(" ".join(values)).at_s == datetime(2026, 11, 20, 3, 30, tzinfo=UTC).timestamp()


def test_values_as_deep_as_a_line_is_long_are_no_values():
    deep = "[" * 900 + "]" * 900
    for field in ("time", "ip", "path", "status", "user"):
        known = {"time": 1795165200, "ip": "1.2.3.4", "method": "GET", "path": "/"}
        line = json.dumps({**known, field: 0}).replace(f'"{field}": 0', f'"{field}": {deep}')
        with suppress(Unreadable):
            assert named("json").read(line) is not None or field == "path"
