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
from redis.asyncio.connection import RedisSSLContext, SSLConnection as AsyncSSLConnection
from redis.connection import SSLConnection

from ratewindow.limiter.redis import thread_deadline
from ratewindow.limiter.redis.thread_deadline import limited, timed
from ratewindow.store import clients, process_clients as ratewindow_connection
from tests.faults.tls import make_certificates


@pytest.fixture(autouse=True)
def _nothing_read() -> None:
    thread_deadline._made.cache_clear()


def made() -> int:
    """How many contexts were made."""
    return thread_deadline._made.cache_info().misses


def connection(**options: Any) -> Any:
    return timed(SSLConnection)(host="127.0.0.1", socket_timeout=0.1, **options)


def test_connections_with_the_same_options_share_what_was_read() -> None:
    first = thread_deadline.context_for(connection(ssl_check_hostname=True))
    assert first is not None and first.verify_mode is ssl.CERT_REQUIRED and first.check_hostname
    assert thread_deadline.context_for(connection(ssl_check_hostname=True)) is first
    other = thread_deadline.context_for(connection(ssl_cert_reqs="none"))
    assert other is not None and other.verify_mode is ssl.CERT_NONE and not other.check_hostname
    assert made() == 2


@pytest.mark.skipif("ssl_min_version" not in signature(SSLConnection).parameters, reason="this redis-py has no such option")
def test_options_of_newer_versions_of_redis_py_hold_too() -> None:
    asked = connection(ssl_min_version=ssl.TLSVersion.TLSv1_3)
    context = thread_deadline.context_for(asked)
    assert context is not None and context.minimum_version is ssl.TLSVersion.TLSv1_3


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here to make certificates with")
def test_a_certificate_that_was_renewed_is_read_anew(tmp_path: Path) -> None:
    authority, certificate, key = map(str, make_certificates(tmp_path))
    options = {"ssl_ca_certs": authority, "ssl_certfile": certificate, "ssl_keyfile": key}
    first = thread_deadline.context_for(connection(**options))
    os.utime(certificate, ns=(1, 1))
    second = thread_deadline.context_for(connection(**options))
    assert second is not first and thread_deadline.context_for(connection(**options)) is second
    assert made() == 2


@pytest.mark.inside
async def test_an_event_loop_reads_nothing_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    readers: list[threading.Thread] = []
    read = RedisSSLContext.get

    def reading(asked: RedisSSLContext) -> ssl.SSLContext:
        readers.append(threading.current_thread())
        return read(asked)

    monkeypatch.setattr(RedisSSLContext, "get", reading)
    asked = clients.prepared(AsyncSSLConnection)(host="127.0.0.1", port=1, ssl_cert_reqs="optional")
    with pytest.raises(OSError):
        await asked._connect()
    assert asked.ssl_context.context.verify_mode is ssl.CERT_OPTIONAL
    assert readers[0] is not threading.current_thread()


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
        await clients.aclose(client)
    assert all(issubclass(kind, clients._Prepared) for kind in kinds)


def test_where_certificates_are_asked_about_redis_py_does_it_itself() -> None:
    assert thread_deadline.context_for(connection(ssl_validate_ocsp=True)) is None


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
        thread_deadline.context_for(connection(ssl_ca_certs=str(tmp_path / "none.pem")))
