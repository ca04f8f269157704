"""The two classic mistakes behind a proxy, told once, from a sample of requests."""

import logging
from typing import Any

import pytest
from django.conf import settings
from django.test import RequestFactory, override_settings

from ratewindow.identity import proxy_warning
from ratewindow.identity.address import client_address
from ratewindow.identity.proxy_warning import AGAIN_S, SAMPLE, address_warnings


@pytest.fixture(autouse=True)
def _like_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("watching", True), ("_sample", proxy_warning._Sample()), ("_warnings", []), ("_logged", {})):
        monkeypatch.setattr(proxy_warning, name, value)


def visits(
    count: int = SAMPLE, peers: int = 1, agents: int = 5, setting: Any = (), server: str = "shop.example", **extra: str
) -> None:
    """So many requests, of so many addresses (10.0.0.1 and up, unless told) and browsers."""
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "TRUSTED_PROXIES": setting}):
        for number in range(count):
            told = {name: value.format(n=number % 200) for name, value in extra.items()}
            client_address(
                RequestFactory().get(
                    "/",
                    **{
                        "REMOTE_ADDR": f"10.0.0.{1 + number % peers}",
                        "HTTP_USER_AGENT": f"browser {number % agents}",
                        "SERVER_NAME": server,
                        **told,
                    },
                )
            )


@pytest.mark.parametrize(
    ("header", "name"),
    [("HTTP_X_FORWARDED_FOR", "X-Forwarded-For"), ("HTTP_FORWARDED", "Forwarded"), ("HTTP_X_REAL_IP", "X-Real-Ip")],
)
def test_forwarded_headers_that_arrive_though_nothing_is_trusted_are_told(
    header: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    visits(**{header: "203.0.113.{n}"})
    (told,) = address_warnings()
    assert told.startswith(
        f"100 of 100 requests came with {name}, and no proxy is trusted: all clients behind 10.0.0.1 count as one"
    )
    assert "RATEWINDOW['TRUSTED_PROXIES']" in told
    assert [record.getMessage() for record in caplog.records] == [f"ratewindow: {told}"]


def test_everybody_at_one_private_address_is_told(caplog: pytest.LogCaptureFixture) -> None:
    visits()
    (told,) = address_warnings()
    assert told.startswith("All of 100 requests, of several browsers, count for 10.0.0.1: let the proxy send X-Forwarded-For")
    assert len(caplog.records) == 1


@pytest.mark.parametrize("extra", [{"REMOTE_ADDR": ""}, {"REMOTE_ADDR": "127.0.0.1"}, {"REMOTE_ADDR": "fd00::1"}])
def test_a_socket_and_a_proxy_on_the_same_machine_are_private_too(extra: dict[str, str]) -> None:
    visits(**extra)
    assert len(address_warnings()) == 1


@pytest.mark.parametrize("peer", ["", "localhost", "0.0.0.0"])
def test_behind_a_unix_socket_the_remedy_is_a_number_since_there_is_no_address_to_name(peer: str) -> None:
    visits(REMOTE_ADDR=peer, HTTP_X_FORWARDED_FOR="203.0.113.{n}")
    (told,) = address_warnings()
    assert "all clients behind this server's unix socket count as one; set RATEWINDOW['TRUSTED_PROXIES'] to the number" in told


@pytest.mark.parametrize("peer", ["", "localhost", "0.0.0.0"])
def test_a_unix_socket_whose_proxy_forwards_nothing_is_told(peer: str) -> None:
    visits(REMOTE_ADDR=peer)
    (told,) = address_warnings()
    assert "count for unknown: let the proxy send X-Forwarded-For, and set RATEWINDOW['TRUSTED_PROXIES'] to the number" in told


def test_under_waitress_the_remedy_is_its_own_option() -> None:
    visits(SERVER_SOFTWARE="waitress")
    (told,) = address_warnings()
    assert "waitress removes X-Forwarded-For unless it is started with --no-clear-untrusted-proxy-headers" in told


def test_a_trusted_proxy_that_forwards_nothing_is_told() -> None:
    visits(setting=["10.0.0.0/8"])
    assert "count for 10.0.0.1" in address_warnings()[0]


@pytest.mark.parametrize(
    "given",
    [
        {"setting": ["10.0.0.0/8"], "HTTP_X_FORWARDED_FOR": "203.0.113.{n}"},  # as it should be
        {"setting": 1, "HTTP_X_FORWARDED_FOR": "203.0.113.{n}"},
        {"peers": 20},  # an office without a proxy
        {"REMOTE_ADDR": "203.0.113.{n}"},  # the internet without one
        {"REMOTE_ADDR": "203.0.113.7"},  # one visitor, or a proxy in another network
        {"REMOTE_ADDR": "203.0.113.{n}", "HTTP_X_FORWARDED_FOR": "203.0.113.{n}"},  # uvicorn has corrected the address
        {"agents": 1},  # nothing but the health checks of a load balancer
        {"server": "testserver"},  # a site's own tests
        {"count": SAMPLE - 1},  # too early to tell
    ],
)
def test_nothing_is_told_where_nothing_is_wrong(given: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    visits(**given)
    assert address_warnings() == []
    assert caplog.records == []


EDGE = {"HTTP_X_FORWARDED_FOR": "198.51.100.{n}, 104.16.0.5"}


@pytest.mark.parametrize(
    ("setting", "extra", "client", "line"),
    [
        (["10.0.0.0/8"], EDGE, "104.16.0.5", '"TRUSTED_PROXIES": ["10.0.0.0/8", "104.16.0.5"]'),
        (1, EDGE, "104.16.0.5", '"TRUSTED_PROXIES": 2'),
        (
            ["10.0.0.0/8"],
            {"HTTP_X_FORWARDED_FOR": "6.6.6.6, 2001:db8:{n}::1, 2606:4700::5, 10.0.0.7"},
            "2606:4700::/64",
            '"TRUSTED_PROXIES": ["10.0.0.0/8", "2606:4700::/64"]',
        ),
        (
            ["10.0.0.0/8"],  # without a balancer
            {"REMOTE_ADDR": "104.16.0.5", "HTTP_X_FORWARDED_FOR": "198.51.100.{n}"},
            "104.16.0.5",
            '"TRUSTED_PROXIES": ["10.0.0.0/8", "104.16.0.5"]',
        ),
        (
            ["10.0.0.1/32"],
            {"HTTP_X_FORWARDED_FOR": "198.51.100.{n}, 10.0.0.9"},
            "10.0.0.9",
            '"TRUSTED_PROXIES": ["10.0.0.1/32", "10.0.0.9"]',
        ),
    ],
)
def test_a_cdn_that_is_not_trusted_behind_a_balancer_that_is(
    setting: Any, extra: dict[str, str], client: str, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    visits(setting=setting, **extra)
    (told,) = address_warnings()
    assert told.startswith(
        f"100 of 100 requests have another address to the left of their client's in X-Forwarded-For. If {client} is a"
    )
    assert f"If {client} is a proxy or CDN, all its visitors count as one: write {line} in RATEWINDOW, with all its" in told
    assert [record.getMessage() for record in caplog.records] == [f"ratewindow: {told}"]


def test_a_cdn_of_several_edges_is_told_too() -> None:
    for edge in range(5):
        visits(20, agents=20, setting=["10.0.0.0/8"], HTTP_X_FORWARDED_FOR=f"198.51.100.{{n}}, 104.16.0.{edge}")
    assert "If 104.16.0." in address_warnings()[0]


THROUGH_TWO = {"HTTP_X_FORWARDED_FOR": "198.51.100.{n}, 104.16.0.5, 151.101.1.1"}
TO_BALANCER = {"HTTP_X_FORWARDED_FOR": "203.0.113.{n}"}


@pytest.mark.parametrize(
    ("parts", "client", "count"),
    [
        ([(100, THROUGH_TWO)], "151.101.1.1", 100),
        ([(34, {"HTTP_USER_AGENT": "health check"}), (66, EDGE)], "104.16.0.5", 66),
        ([(75, {"HTTP_USER_AGENT": "health check"}), (25, EDGE)], "104.16.0.5", 25),
        ([(20, TO_BALANCER), (80, EDGE)], "104.16.0.5", 80),
        ([(50, TO_BALANCER), (50, EDGE)], "104.16.0.5", 50),
        ([(60, {"REMOTE_ADDR": "203.0.113.{n}", **TO_BALANCER}), (40, EDGE)], "104.16.0.5", 40),  # past the balancer
    ],
)
def test_a_cdn_is_told_though_not_all_requests_show_it(parts: list[tuple[int, dict[str, str]]], client: str, count: int) -> None:
    for requests, extra in parts:
        visits(requests, setting=["10.0.0.0/8"], **extra)
    (told,) = address_warnings()
    assert told.startswith(f"{count} of 100 requests have another")
    assert f"If {client} is a proxy" in told


def test_a_proxy_within_a_company_is_told_too() -> None:
    visits(setting=["10.0.0.1/32"], HTTP_X_FORWARDED_FOR="192.168.1.{n}, 10.0.0.9")
    assert "If 10.0.0.9 is a proxy or CDN" in address_warnings()[0]


def test_a_cdn_of_almost_as_many_edges_as_visits_is_told_too() -> None:
    visits(75, setting=1, HTTP_X_FORWARDED_FOR="198.51.100.{n}, 104.16.0.{n}")
    visits(25, setting=1, HTTP_X_FORWARDED_FOR="203.0.113.{n}, 104.16.0.{n}")
    assert "If 104.16.0." in address_warnings()[0]


def test_a_client_that_reaches_the_server_past_the_balancer_is_no_cdn() -> None:
    visits(98, setting=["10.0.0.0/8"], REMOTE_ADDR="203.0.113.250", HTTP_X_FORWARDED_FOR="6.6.{n}.6")
    visits(2, setting=["10.0.0.0/8"])
    assert address_warnings() == []


@pytest.mark.parametrize(
    ("forged", "behind_proxies", "health_checks"), [(44, 0, 0), (40, 20, 0), (19, 0, 81)], ids=["half", "among proxies", "few"]
)
def test_a_client_that_forges_fewer_than_half_of_the_headers_is_no_cdn(
    forged: int, behind_proxies: int, health_checks: int
) -> None:
    visits(forged, setting=["10.0.0.0/8"], HTTP_X_FORWARDED_FOR="6.6.{n}.6, 203.0.113.250")
    visits(behind_proxies, setting=["10.0.0.0/8"], HTTP_X_FORWARDED_FOR="8.8.8.{n}, 82.145.0.{n}")
    visits(health_checks, setting=["10.0.0.0/8"])
    visits(SAMPLE - forged - behind_proxies - health_checks, setting=["10.0.0.0/8"], **TO_BALANCER)
    assert address_warnings() == []


@pytest.mark.parametrize(
    "forwarded",
    [
        "192.168.1.{n}, 203.0.113.1, 104.16.0.5",  # a company with two proxies
        "192.168.1.{n}, 104.16.0.{n}",  # each visitor behind a proxy of their own
        "6.6.6.6, 104.16.0.{n}",
        "104.16.0.{n}, 104.16.0.{n}",
    ],
)
def test_visitors_that_send_the_header_themselves_are_no_cdn(forwarded: str) -> None:
    visits(setting=["10.0.0.0/8"], HTTP_X_FORWARDED_FOR=forwarded)
    assert address_warnings() == []


def test_some_visitors_of_one_company_are_no_cdn() -> None:
    visits(80, setting=["10.0.0.0/8"], HTTP_X_FORWARDED_FOR="192.168.1.{n}, 104.16.0.5")
    visits(20, setting=["10.0.0.0/8"], HTTP_X_FORWARDED_FOR="198.51.100.{n}")
    assert address_warnings() == []


def test_one_client_that_forges_headers_is_no_proxy() -> None:
    visits(80, HTTP_X_FORWARDED_FOR="203.0.113.{n}", REMOTE_ADDR="198.51.100.1")
    visits(20, REMOTE_ADDR="198.51.100.{n}")
    assert address_warnings() == []


@pytest.mark.parametrize("server", ["shop.example", "testserver"])
def test_after_the_sample_nothing_is_looked_at(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    visits(server=server)
    monkeypatch.setattr(proxy_warning, "observe", None)
    visits()


def test_another_sample_begins_when_somebody_asks_after_a_while(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    visits()
    now = proxy_warning._concluded_at_s
    address_warnings()
    assert not proxy_warning.watching
    monkeypatch.setattr(proxy_warning.time, "monotonic", lambda: now + AGAIN_S + 1)
    assert len(address_warnings()) == 1
    assert proxy_warning.watching
    visits()
    assert len(address_warnings()) == 1
    assert len(caplog.records) == 1  # a process says it once
    monkeypatch.setattr(proxy_warning.time, "monotonic", lambda: now + 3 * AGAIN_S)
    address_warnings()
    visits(setting=["10.0.0.0/8"], HTTP_X_FORWARDED_FOR="203.0.113.{n}")
    assert address_warnings() == []


def test_what_is_logged_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    visits()
    assert [(record.name, record.levelno) for record in caplog.records] == [("ratewindow", logging.WARNING)]


def test_requests_that_nobody_has_sent_are_in_no_sample() -> None:
    visits(**{proxy_warning.SUPPOSED: "1"})
    assert (proxy_warning._sample.seen, proxy_warning.watching) == (0, True)
