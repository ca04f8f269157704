"""Whose request it is: REMOTE_ADDR, or what trusted proxies say."""

from typing import Any

import pytest
from django.conf import settings
from django.test import RequestFactory, override_settings
from hypothesis import given, strategies as st

from ratewindow.identity import address
from ratewindow.identity.address import client_address
from tests.support.address_headers import NAMES
from tests.support.doors import behind_middleware, decorated, get, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)

PROXY = "10.0.0.1"


def client(peer: str | None = PROXY, forwarded: str | None = None, **setting: Any) -> str:
    """The client that a request counts for."""
    request = RequestFactory().get("/")
    request.META["REMOTE_ADDR"] = peer
    if peer is None:
        del request.META["REMOTE_ADDR"]
    if forwarded is not None:
        request.META["HTTP_X_FORWARDED_FOR"] = forwarded
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, **setting}):
        return client_address(request)


def behind_proxy(forwarded: str | None, peer: str | None = PROXY) -> str:
    return client(peer, forwarded, TRUSTED_PROXIES=["10.0.0.0/8", "::1"])


def test_without_trusted_proxies_only_the_peer_counts() -> None:
    assert client("203.0.113.9", "198.51.100.1") == "203.0.113.9"


@pytest.mark.parametrize("name", ["X-Forwarded-For", *NAMES])
def test_a_client_cannot_choose_its_address_by_any_header(name: str) -> None:
    view = decorated(False, "address", "2/m")
    rotating = [get(view, headers={name: f"198.51.100.{number}"}).status_code for number in range(4)]
    assert rotating == [200, 200, 429, 429]


def test_behind_a_trusted_proxy_the_right_most_untrusted_address_is_the_client() -> None:
    assert behind_proxy("198.51.100.1") == "198.51.100.1"
    assert behind_proxy("198.51.100.1, 10.9.9.9") == "198.51.100.1"


@pytest.mark.parametrize("forged", ["1.1.1.1", "1.1.1.1, 2.2.2.2", "10.0.0.5", "127.0.0.1", "junk", "", ","])
def test_what_the_client_itself_sent_stands_left_and_changes_nothing(forged: str) -> None:
    assert behind_proxy(f"{forged}, 198.51.100.1") == "198.51.100.1"


def test_two_headers_are_one_list() -> None:
    # Servers join them with a comma, the later one, that of the proxy, on the right.
    assert behind_proxy("1.1.1.1,198.51.100.1") == "198.51.100.1"


def test_a_peer_that_is_no_proxy_is_not_believed() -> None:
    assert behind_proxy("198.51.100.1", peer="203.0.113.9") == "203.0.113.9"


def test_a_chain_of_nothing_but_proxies_began_at_its_left_end() -> None:
    assert behind_proxy("10.1.1.1, 10.2.2.2") == "10.1.1.1"


def test_a_trusted_proxy_may_speak_ipv6_or_mapped_ipv4() -> None:
    assert behind_proxy("198.51.100.1", peer="::1") == "198.51.100.1"
    assert behind_proxy("198.51.100.1", peer="::ffff:10.0.0.1") == "198.51.100.1"


@pytest.mark.parametrize(
    "junk", ["", " ", ",", "198.51.100.1,", "unknown", "_hidden", "localhost", "999.1.1.1", "1.2.3", "x" * 7000]
)
def test_what_the_proxy_passed_on_as_junk_counts_for_the_proxy(junk: str) -> None:
    assert behind_proxy(junk) == PROXY


@pytest.mark.parametrize(
    ("hops", "forwarded", "expected"),
    [
        (1, "198.51.100.1", "198.51.100.1"),
        (1, "1.1.1.1, 198.51.100.1", "198.51.100.1"),
        (2, "198.51.100.1, 10.0.0.2", "198.51.100.1"),
        (2, "1.1.1.1, 198.51.100.1, 10.0.0.2", "198.51.100.1"),
        (0, "198.51.100.1", PROXY),
        (3, "198.51.100.1, 10.0.0.2", PROXY),
        (2, "", PROXY),
        (1, "198.51.100.1,", PROXY),
    ],
)
def test_with_a_number_of_hops_so_many_are_counted_from_the_right(hops: int, forwarded: str, expected: str) -> None:
    assert client(PROXY, forwarded, TRUSTED_PROXIES=hops) == expected


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1.2.3.4", "1.2.3.4"),
        (" 1.2.3.4 ", "1.2.3.4"),
        ("1.2.3.4:80", "1.2.3.4"),
        ('"1.2.3.4:80"', "1.2.3.4"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("::FFFF:0102:0304", "1.2.3.4"),
        ("[::ffff:1.2.3.4]:443", "1.2.3.4"),
        ("64:ff9b::1.2.3.4", "1.2.3.4"),
        ("64:FF9B:0:0:0:0:102:304", "1.2.3.4"),
        ("[64:ff9b:1::102:304]:443", "1.2.3.4"),
        ("::ffff:0:1.2.3.4", "1.2.3.4"),
        ("64:ff9b:0:0:1::102:304", "64:ff9b::/64"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:DB8:0000:0000:ffff:0:0:1", "2001:db8::/64"),
        ('"[2001:db8::1]:4711"', "2001:db8::/64"),
        ("[2001:db8::1]", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("fe80::1%1", "fe80::/64"),
    ],
)
def test_one_client_is_one_client_however_it_is_written(written: str, meant: str) -> None:
    assert client(written) == meant
    assert behind_proxy(written) == meant


@pytest.mark.parametrize(
    "digits", ["010.0.0.1", "0x7f.0.0.1", "2130706433", "１.2.3.4", "١.2.3.4", "1.2.3.4\x00", "1.2.3.4\r\nX: y", "1.2.3.4/8"]
)
def test_other_ways_to_write_digits_are_no_address(digits: str) -> None:
    assert client(digits) == "unknown"
    assert behind_proxy(digits) == PROXY


@pytest.mark.parametrize("network", ["::ffff:", "::ffff:0:", "64:ff9b::", "64:ff9b:1::"])
def test_two_addresses_of_ipv4_in_ipv6_are_two_clients(network: str) -> None:
    # Masked to /64 before they are translated, all of IPv4 would be one client.
    assert client(f"{network}1.2.3.4") != client(f"{network}1.2.3.5")


def test_addresses_of_one_network_of_64_bits_are_one_client() -> None:
    view = decorated(False, "rotation", "2/m")
    assert [get(view, REMOTE_ADDR=f"2001:db8::{number:x}").status_code for number in range(1, 5)] == [200, 200, 429, 429]
    assert get(view, REMOTE_ADDR="2001:db8:0:1::1").status_code == 200


def test_how_much_of_an_address_is_one_client_can_be_set() -> None:
    assert client("203.0.113.9", IPV4_PREFIX=24) == "203.0.113.0/24"
    assert client("2001:db8:1:2ff::1", IPV6_PREFIX=56) == "2001:db8:1:200::/56"
    assert client("2001:db8::1", IPV6_PREFIX=128) == "2001:db8::1"


@pytest.mark.parametrize("peer", ["", None, "localhost", "0.0.0.0"])
def test_without_an_address_all_are_one_client(peer: str | None) -> None:
    assert client(peer) == "unknown"


@pytest.mark.parametrize("peer", ["", "localhost", "0.0.0.0"])  # gunicorn and granian, waitress, uWSGI
def test_behind_a_unix_socket_the_proxy_that_writes_to_it_is_believed_where_proxies_are_trusted(peer: str) -> None:
    assert behind_proxy("198.51.100.1", peer=peer) == "198.51.100.1"
    assert behind_proxy("1.1.1.1, 198.51.100.1, 10.0.0.2", peer=peer) == "198.51.100.1"
    assert client(peer, "198.51.100.1") == "unknown"


def test_an_address_that_a_server_has_already_corrected_is_taken_as_it_is() -> None:
    # uvicorn --proxy-headers: REMOTE_ADDR is the client, and X-Forwarded-For still there.
    assert behind_proxy("1.1.1.1, 198.51.100.1", peer="198.51.100.1") == "198.51.100.1"


def test_long_junk_is_not_remembered() -> None:
    before = address._parsed.cache_info().currsize
    behind_proxy("9" * 7000)
    assert address._parsed.cache_info().currsize <= before + 1


def test_a_long_chain_of_proxies_is_read_but_not_remembered() -> None:
    address._client.cache_clear()
    assert behind_proxy("198.51.100.7, " * 50 + "203.0.113.9") == "203.0.113.9"
    assert address._client.cache_info().currsize == 0
    assert behind_proxy("203.0.113.9") == "203.0.113.9"
    assert address._client.cache_info().currsize == 0, "a setting that changes, as it does here, forgets all"


@given(st.text(max_size=60))
def test_no_header_makes_an_error(text: str) -> None:
    assert client_address(_request(text))


def _request(forwarded: str) -> Any:
    request = RequestFactory().get("/")
    request.META["HTTP_X_FORWARDED_FOR"] = forwarded
    return request


@override_settings(RATEWINDOW={**settings.RATEWINDOW, "TRUSTED_PROXIES": ["127.0.0.1"]})
@given(st.text(max_size=60))
def test_no_header_makes_an_error_behind_a_proxy(text: str) -> None:
    assert client_address(_request(text))


def test_a_forged_address_does_not_get_round_a_rule_in_the_middleware() -> None:
    from ratewindow.models import RateRule

    RateRule.objects.define("login", "2/m", path="/login/", mode="enforce")
    site = behind_middleware(plain(False))
    assert [get(site, "/login/", headers={"X-Forwarded-For": f"198.51.100.{n}"}).status_code for n in range(3)] == [200, 200, 429]
    assert statuses(site, 1, "/login/", REMOTE_ADDR="203.0.113.1") == [200]
