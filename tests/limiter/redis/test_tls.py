"""TLS for timed connections: what it needs is read once, and the handshake has no more time than is left."""

import os
import shutil
import ssl
import threading
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import redis
from django.test import override_settings
from redis.asyncio.connection import SSLConnection as AsyncSSLConnection
from redis.connection import SSLConnection

from ratewindow.limiter.redis import thread_deadline, tls
from ratewindow.limiter.redis.thread_deadline import limited, timed
from ratewindow.limiter.redis.tls import prepared
from ratewindow.store import process_clients as ratewindow_connection
from tests.faults.tls import make_certificates


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The options of each context that is made."""
    seen: list[dict[str, Any]] = []
    make = tls._made

    def counting(**options: Any) -> ssl.SSLContext:
        seen.append(options)
        return make(**options)

    monkeypatch.setattr(tls, "_kept", {})
    monkeypatch.setattr(tls, "_made", counting)
    return seen


def connection(**options: Any) -> Any:
    return timed(SSLConnection)(host="127.0.0.1", socket_timeout=0.1, **options)


def test_connections_with_the_same_options_share_what_was_read(made: list[dict[str, Any]]) -> None:
    first = tls.context_for(connection(ssl_check_hostname=True))
    assert first is not None and first.verify_mode is ssl.CERT_REQUIRED and first.check_hostname
    assert tls.context_for(connection(ssl_check_hostname=True)) is first
    other = tls.context_for(connection(ssl_cert_reqs="none"))
    assert other is not None and other.verify_mode is ssl.CERT_NONE and not other.check_hostname
    assert len(made) == 2


@pytest.mark.skipif("ssl_min_version" not in signature(SSLConnection).parameters, reason="this redis-py has no such option")
def test_options_of_newer_versions_of_redis_py_hold_too() -> None:
    asked = connection(ssl_min_version=ssl.TLSVersion.TLSv1_3)
    context = tls.context_for(asked)
    assert context is not None and context.minimum_version is ssl.TLSVersion.TLSv1_3


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here to make certificates with")
def test_a_certificate_that_was_renewed_is_read_anew(made: list[dict[str, Any]], tmp_path: Path) -> None:
    authority, certificate, key = map(str, make_certificates(tmp_path))
    options = {"ssl_ca_certs": authority, "ssl_certfile": certificate, "ssl_keyfile": key}
    first = tls.context_for(connection(**options))
    os.utime(certificate, ns=(1, 1))
    second = tls.context_for(connection(**options))
    assert second is not first and tls.context_for(connection(**options)) is second
    assert len(made) == 2


@pytest.mark.inside
async def test_an_event_loop_shares_it_with_threads_and_reads_nothing_itself(
    made: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    readers: list[threading.Thread] = []
    read = tls._read

    def reading(options: Any) -> ssl.SSLContext:
        readers.append(threading.current_thread())
        return read(options)

    monkeypatch.setattr(tls, "_read", reading)
    for _ in range(2):
        asked = prepared(AsyncSSLConnection)(host="127.0.0.1", port=1, ssl_cert_reqs="optional")
        with pytest.raises(OSError):
            await asked._connect()
        assert asked.ssl_context.context is tls.context_for(connection(ssl_cert_reqs="optional"))
    assert len(made) == 1 and readers != [threading.current_thread()]


@pytest.mark.parametrize(
    "url",
    ["rediss://h/0", "rediss+sentinel://one,two/m/0", "rediss+cluster://one,two"],
)
async def test_all_connections_of_a_loop_are_prepared(url: str) -> None:
    with override_settings(RATEWINDOW={"REDIS": url}):
        client: Any = ratewindow_connection.async_client()
        if "cluster" in url:
            kinds = [node.connection_class for node in client.nodes_manager.startup_nodes.values()]
            kinds.append(client.connection_kwargs["connection_class"])
        else:
            manager = getattr(client.connection_pool, "sentinel_manager", None)
            kinds = [each.connection_pool.connection_class for each in [client, *(manager.sentinels if manager else ())]]
        await ratewindow_connection.aclose(client)
    assert all(issubclass(kind, tls._Prepared) for kind in kinds)


def test_where_certificates_are_asked_about_redis_py_does_it_itself() -> None:
    assert tls.context_for(connection(ssl_validate_ocsp=True)) is None


@pytest.mark.inside
def test_a_handshake_has_what_reading_the_authorities_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1000.0
    monkeypatch.setattr(thread_deadline, "monotonic", lambda: now_s)

    class Socket:
        timeout_s = 0.1

        def settimeout(self, timeout_s: float) -> None:
            self.timeout_s = timeout_s

    class Context:
        def wrap_socket(self, sock: Socket, server_hostname: str) -> tuple[float, str]:
            return sock.timeout_s, server_hostname

    def slowly(connection: Any) -> Context:
        nonlocal now_s
        now_s += 0.08
        return Context()

    monkeypatch.setattr(thread_deadline, "context_for", slowly)
    with limited(0.1):
        assert connection()._wrap_socket_with_ssl(Socket()) == (pytest.approx(0.02), "127.0.0.1")


def test_a_file_that_is_not_there_is_an_error_of_the_connection(tmp_path: Path) -> None:
    with pytest.raises((redis.ConnectionError, OSError)):
        tls.context_for(connection(ssl_ca_certs=str(tmp_path / "none.pem")))
