"""Webhooks to a real server: signed, never to internal addresses, without redirects, and given up."""

import contextlib
import hashlib
import hmac
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ratewindow.contrib.alerts import webhook
from ratewindow.contrib.alerts.webhook import NotDelivered, post
from tests.support.webhook_receiver import receiving


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(webhook, "is_public", lambda address: address == "127.0.0.1")
    with receiving() as receiver:
        yield receiver


def test_the_receiver_can_check_who_sent_it_and_when(receiver: Any) -> None:
    post(receiver.url, b'{"a": 1}', "s3cret", "1800000000")
    ((path, headers, body),) = receiver.received
    assert (path, body, headers["Content-Type"]) == ("/hook?team=ops", b'{"a": 1}', "application/json")
    assert headers["X-Ratewindow-Timestamp"] == "1800000000"
    expected = hmac.new(b"s3cret", b'1800000000.{"a": 1}', hashlib.sha256).hexdigest()
    assert headers["X-Ratewindow-Signature"] == f"sha256={expected}"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(receiver: Any, status: int) -> None:
    receiver.status = status
    with pytest.raises(NotDelivered, match=f"answered {status}: redirects are not followed"):
        post(receiver.url, b"{}", "s", "1")
    assert len(receiver.received) == 1


def test_an_error_of_the_receiver_is_an_error(receiver: Any) -> None:
    receiver.status = 500
    with pytest.raises(NotDelivered, match="answered 500"):
        post(receiver.url, b"{}", "s", "1")


def test_a_receiver_that_does_not_answer_is_given_up(receiver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "ALL_S", 0.2)
    receiver.status = None
    with pytest.raises(NotDelivered):
        post(receiver.url, b"{}", "s", "1")


@pytest.fixture
def dripping() -> Iterator[str]:
    """A receiver that answers a byte now and then, for ever."""
    ended = threading.Event()

    def drip() -> None:
        connection, _ = server.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
            while not ended.wait(0.02):
                connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        ended.set()
        thread.join()


def attempts() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "ratewindow-webhook"]


def have_ended(within_s: float = 5.0) -> bool:
    until_s = time.monotonic() + within_s
    while attempts() and time.monotonic() < until_s:
        time.sleep(0.01)
    return not attempts()


def test_a_receiver_that_drips_holds_neither_a_thread_nor_a_socket(dripping: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "is_public", lambda address: True)
    monkeypatch.setattr(webhook, "ALL_S", 0.3)
    with pytest.raises(NotDelivered, match="no answer within"):
        post(dripping, b"{}", "s", "1")
    assert have_ended()


def test_a_name_that_is_found_too_late_gets_nothing(receiver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The alert is said not to be delivered, and is sent anew."""
    found, real = threading.Event(), socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: found.wait(5) and real(*a, **k))
    monkeypatch.setattr(webhook, "ALL_S", 0.1)
    with pytest.raises(NotDelivered, match="no answer"):
        post(receiver.url, b"{}", "s", "1")
    found.set()
    assert have_ended() and receiver.received == []


def test_nobody_listening_is_an_error(receiver: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # bound, so that nobody else listens there
        with pytest.raises(NotDelivered, match="refused"):
            post(f"http://127.0.0.1:{free.getsockname()[1]}/", b"{}", "s", "1")


def test_it_connects_to_the_address_that_was_checked(receiver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that leads elsewhere the next time is asked for once."""
    asked: list[str] = []

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *a, **k: look_up(host, *a, **k) if "test" in host else real(host, *a, **k)
    )
    post(receiver.url.replace("127.0.0.1", "hooks.test"), b"{}", "s", "1")
    assert asked == ["hooks.test"]
    ((_, headers, _),) = receiver.received
    assert headers["Host"].startswith("hooks.test:")


def test_the_guard_refuses_loopback_by_itself() -> None:
    with receiving() as receiver:
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
            with pytest.raises(NotDelivered, match="internal address"):
                post(receiver.url.replace("127.0.0.1", host), b"{}", "s", "1")
        assert receiver.received == []


@pytest.mark.parametrize(
    "url", ["ftp://example.com/", "https:///path", "file:///etc/passwd", "http://example.com:99999/", "http://[::1"]
)
def test_other_urls_are_errors(url: str) -> None:
    with pytest.raises(NotDelivered):
        post(url, b"{}", "s", "1")
