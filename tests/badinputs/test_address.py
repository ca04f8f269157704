"""Addresses, on real servers: headers with nothing in them, a server that corrects the peer itself, and a socket."""

import contextlib
import socket
from pathlib import Path

import pytest

from tests.serving.fixtures import Servers
from tests.serving.rawhttp import TIMEOUT_S, answers
from tests.serving.servers import KINDS, Served, new_address, place

pytestmark = pytest.mark.slow

PROXY = "127.0.0.1"
OTHER_PROXY = "127.3.0.1"  # whom uvicorn does not correct by itself


def status(served: Served, forwarded: str, peer: str = PROXY) -> int:
    with socket.create_connection((PROXY, served.port), TIMEOUT_S, source_address=(peer, 0)) as line:
        return _asked(line, forwarded)


def _asked(line: socket.socket, forwarded: str) -> int:
    line.sendall(f"GET /path/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Forwarded-For:{forwarded}\r\n\r\n".encode())
    return answers(line, ["GET"])[0].status


def test_a_header_with_nothing_where_the_address_should_be_is_one_client(served: Served) -> None:
    nothings = ["1.2.3.4,", " 1.2.3.4 , ", " ,", ",,,", "", "   ", '""', "[]", '"', "[", ":80"]
    told = [status(served, each, OTHER_PROXY) for each in nothings]
    assert (told.count(200), told.count(429)) == (2, len(nothings) - 2), dict(zip(nothings, told, strict=True))
    assert status(served, f" {new_address()}", OTHER_PROXY) == 200
    assert "Traceback" not in served.said()


@pytest.fixture(params=["nothing", "the proxy"])
def corrected(request: pytest.FixtureRequest, servers: Servers) -> Served:
    """Uvicorn as it is when nobody configures it: it believes what 127.0.0.1 forwards, and puts it where the peer was."""
    return servers.get("uvicorn", **({"TRUSTED_PROXIES": []} if request.param == "nothing" else {}))


def test_an_address_that_uvicorn_has_rewritten_is_taken_as_it_is(corrected: Served) -> None:
    client = new_address()
    assert [status(corrected, client) for _ in range(3)] == [200, 200, 429]
    assert status(corrected, new_address()) == 200


def test_what_a_client_forges_left_of_it_changes_nothing_there_either(corrected: Served) -> None:
    client = new_address()
    assert [status(corrected, f"6.6.6.{number}, {client}") for number in range(3)] == [200, 200, 429]


@pytest.mark.parametrize("trusts", [[], ["10.0.0.0/8"]], ids=["nothing", "networks"])
def test_without_an_address_of_the_peer_nobody_chooses_one(
    trusts: list[str], site_database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a socket of the file system ASGI has no peer; uvicorn leaves the header to us."""
    monkeypatch.setitem(KINDS, "uvicorn", KINDS["uvicorn"].replace("--workers 2", "--workers 1 --uds {folder}/socket"))

    def asked(folder: Path, forwarded: str) -> int:
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as line:
            line.settimeout(TIMEOUT_S)
            line.connect(str(folder / "socket"))
            return _asked(line, forwarded)

    with place(site_database) as made:
        monkeypatch.setattr(Served, "_wait_until_ready", lambda served: _until_it_answers(made.folder / "socket"))
        made.serve("uvicorn", TRUSTED_PROXIES=trusts)
        client = new_address()
        told = [asked(made.folder, f"6.6.6.{number}, {client}") for number in range(3)]
        assert told == [200, 200, 429]
        assert asked(made.folder, new_address()) == (200 if trusts else 429)  # who trusts nobody has one client behind it


def _until_it_answers(path: Path) -> None:
    from tests.serving.servers import until

    def answers_there() -> bool:
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as line, contextlib.suppress(OSError):
            line.connect(str(path))
            return True
        return False

    until(answers_there, f"nothing listened at {path}")
