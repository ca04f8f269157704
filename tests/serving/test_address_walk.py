"""Nobody chooses the address that he counts for: through real servers, whose ways with headers differ.

The tests speak from addresses of the loopback network, which are their own peers: 127.0.0.1 is the proxy that is trusted,
any other is somebody who came past it. Each walk is requests of one client at two an hour: the third is refused.
"""

import contextlib
import itertools
import socket
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.serving.fixtures import Servers, elsewhere, kinds
from tests.serving.rawhttp import TIMEOUT_S, answers
from tests.serving.servers import KINDS, MORE_KINDS, Served, new_address, place
from tests.support.address_headers import NAMES

pytestmark = pytest.mark.slow

PROXY = "127.0.0.1"
INNER = "10.0.0.2"  # the outer one of two proxies, as the inner one tells it
SETTINGS = {
    "nothing": [],
    "networks": [f"{PROXY}/32", "10.0.0.0/8"],
    "one proxy": 1,
    "two proxies": 2,
}
_peers = (f"127.1.{third}.{fourth}" for third in range(256) for fourth in range(1, 255))
_networks = (f"2001:db8:{number:x}" for number in itertools.count(1))


@dataclass
class Site:
    """A server, and what it trusts."""

    served: Served
    trusts: str

    def status(self, *forwarded: str, peer: str = PROXY, lines: tuple[str, ...] = ()) -> int:
        """The answer to a request with these lines of X-Forwarded-For, and others."""
        sent = ["GET /path/ HTTP/1.1", "Host: localhost", "Connection: close"]
        sent += [f"X-Forwarded-For: {value}" for value in forwarded]
        with socket.create_connection((PROXY, self.served.port), TIMEOUT_S, source_address=(peer, 0)) as line:
            line.sendall("\r\n".join([*sent, *lines, "", ""]).encode("utf-8", "surrogateescape"))
            return answers(line, ["GET"])[0].status

    def behind(self, *forwarded: str) -> int:
        """The same through the proxies that are trusted: the last of them adds nothing of its own."""
        return self.status(*forwarded[:-1], f"{forwarded[-1]}, {INNER}" if self.trusts == "two proxies" else forwarded[-1])


class Sites:
    """Every kind of server with every setting."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    def get(self, kind: str, trusts: str) -> Site:
        given = {} if trusts == "networks" else {"TRUSTED_PROXIES": SETTINGS[trusts]}  # those networks the site trusts anyway
        return Site(self._servers.get(kind, **given), trusts)


@pytest.fixture(scope="session")
def sites(servers: Servers) -> Sites:
    return Sites(servers)


@pytest.fixture(params=kinds("preload", "asgi", "uvicorn"))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["nothing", "networks", elsewhere("one proxy"), elsewhere("two proxies")])
def any_site(request: pytest.FixtureRequest, kind: str, sites: Sites) -> Site:
    return sites.get(kind, request.param)


@pytest.fixture(params=["nothing", "networks"])
def careful(request: pytest.FixtureRequest, kind: str, sites: Sites) -> Site:
    """A site that knows its proxies from others. A number of hops believes whoever can reach the server."""
    return sites.get(kind, request.param)


@pytest.fixture(params=["networks", elsewhere("one proxy"), elsewhere("two proxies")])
def trusting(request: pytest.FixtureRequest, kind: str, sites: Sites) -> Site:
    return sites.get(kind, request.param)


def hexadecimal(address: str) -> str:
    first, second, third, fourth = map(int, address.split("."))
    return f"{first:02X}{second:02x}:{third:02x}{fourth:02X}"


def test_who_comes_past_the_proxy_is_not_believed(careful: Site) -> None:
    peer = next(_peers)
    assert [careful.status(new_address(), peer=peer) for _ in range(4)] == [200, 200, 429, 429]
    assert careful.status(new_address(), peer=next(_peers)) == 200


def test_without_the_header_the_peer_counts(any_site: Site) -> None:
    peer = next(_peers)
    assert [any_site.status(peer=peer) for _ in range(3)] == [200, 200, 429]


def test_no_other_header_tells_an_address(any_site: Site) -> None:
    assert len(NAMES) > 30
    peer = next(_peers)
    told = [any_site.status(peer=peer, lines=(f"{name}: {new_address()}", f"{name}: for={new_address()}")) for name in NAMES]
    assert told == [200, 200, *[429] * (len(NAMES) - 2)]


def test_a_header_with_underscores_is_not_that_of_the_proxy(careful: Site) -> None:
    peer = next(_peers)
    told = [careful.status(peer=peer, lines=(f"X_Forwarded_For: {new_address()}", f"REMOTE_ADDR: {peer}")) for _ in range(3)]
    assert told == [200, 200, 429]


def test_what_the_client_sent_itself_stands_left_and_changes_nothing(trusting: Site) -> None:
    client = new_address()
    forged = ["6.6.6.1", "6.6.6.2, 6.6.6.3", INNER, PROXY, "unknown", "", ",", '"[2001:db8::1]:4711"', "x" * 3000]
    assert [trusting.behind(f"{each}, {client}") for each in forged] == [200, 200, *[429] * (len(forged) - 2)]


def test_two_lines_of_the_header_are_one_list(trusting: Site) -> None:
    client = new_address()
    assert [trusting.behind(f"6.6.6.{number}", client) for number in range(3)] == [200, 200, 429]
    assert trusting.behind("6.6.6.6", new_address()) == 200


def test_a_mapped_address_is_the_address(trusting: Site) -> None:
    client = new_address()
    spellings = [client, f"::ffff:{client}", f"::FFFF:{hexadecimal(client)}", f"0:0:0:0:0:ffff:{client}"]
    assert [trusting.behind(each) for each in spellings] == [200, 200, 429, 429]


def test_two_mapped_addresses_are_two_clients(trusting: Site) -> None:
    assert [trusting.behind(f"::ffff:{new_address()}") for _ in range(4)] == [200] * 4


def test_addresses_of_one_network_of_64_bits_are_one_client(trusting: Site) -> None:
    network = next(_networks)
    assert [trusting.behind(f"{network}::{number:x}") for number in range(1, 6)] == [200, 200, 429, 429, 429]
    assert trusting.behind(f"{network}:1::1") == 200  # the next one


def test_however_an_address_is_written_it_is_one_client(trusting: Site) -> None:
    network = next(_networks)
    spellings = [
        f"{network}::1",
        f"{network.upper()}::1",
        f"{network}:0000:0000:0000:0000:0001",
        f"{network}::1%eth0",
        f"{network}::1%25",
        f"[{network}::1]:4711",
        f'"[{network}::1]"',
    ]
    told = [trusting.behind(each) for each in spellings]
    assert told[:2] == [200, 200]
    assert set(told[2:]) == {429}


def test_a_port_behind_an_address_makes_no_other_client(trusting: Site) -> None:
    client = new_address()
    told = [trusting.behind(each) for each in (client, f"{client}:80", f'"{client}:8080"', f" {client} ")]
    assert told == [200, 200, 429, 429]


JUNK = [
    "unknown",
    "_hidden",
    "localhost",
    "1.2.3",
    "999.1.1.1",
    "010.0.0.1",
    "0x7f.1",
    "2130706433",
    "１.2.3.4",
    "::g",
    "%",
    "1.2.3.4/8",
]


def test_junk_where_the_address_should_be_is_one_client_and_no_error(trusting: Site) -> None:
    told = [trusting.behind(each) for each in JUNK]
    assert (told.count(200), told.count(429)) == (2, len(JUNK) - 2)


def test_more_proxies_declared_than_there_are_count_for_the_peer(kind: str, sites: Sites) -> None:
    site, peer = sites.get(kind, "two proxies"), next(_peers)
    assert [site.status(new_address(), peer=peer) for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize(
    "known, name, listens",
    [
        (KINDS, "sync", "--bind unix:{folder}/socket"),  # no address
        elsewhere(MORE_KINDS, "uwsgi", "--http-socket {folder}/socket"),  # 0.0.0.0
    ],
)
def test_a_proxy_at_a_unix_socket_is_believed_where_proxies_are_trusted(
    known: dict[str, str], name: str, listens: str, site_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(known, name, f"{known[name]} {listens}")

    def status(folder: Path, forwarded: str) -> int:
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as line:
            line.settimeout(TIMEOUT_S)
            line.connect(str(folder / "socket"))
            line.sendall(f"GET /path/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Forwarded-For: {forwarded}\r\n\r\n".encode())
            return answers(line, ["GET"])[0].status

    with place(site_database) as made:
        made.serve(name, TRUSTED_PROXIES=["10.0.0.0/8"])
        client = new_address()
        assert [status(made.folder, f"6.6.6.{number}, {client}, {INNER}") for number in range(3)] == [200, 200, 429]
        assert status(made.folder, new_address()) == 200
    with place(site_database) as made:
        made.serve(name, TRUSTED_PROXIES=[])
        assert [status(made.folder, new_address()) for _ in range(3)] == [200, 200, 429]  # all are one
