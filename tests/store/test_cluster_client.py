"""A Cluster's client for threads: it asks when it is first used, within the limit of whoever uses it, and so it can wait."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis
from django.conf import settings
from django.test import override_settings
from redis.connection import Connection, SSLConnection

from ratewindow.limiter.redis.thread_deadline import limited, timed
from ratewindow.limiter.types import Check, Window
from ratewindow.store import cluster_client, process_clients, stores
from ratewindow.store.cluster_client import ClusterClient
from tests.faults.proxy import Proxy, proxied

CHECK = Check("rule", (Window(5, 60_000),), ("rw:{begin}",))
LONG_S = 3.0  # a drip takes several times as long


@contextmanager
def site_on(*ports: int, timeout: str = "5s") -> Iterator[None]:
    url = "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in ports)
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": url, "TIMEOUT": timeout}):
        yield
    process_clients.close()


@pytest.fixture
def proxy(cluster: redis.RedisCluster, cluster_ports: list[int]) -> Iterator[Proxy]:
    with proxied(cluster_ports[0]) as made:
        yield made


def test_nothing_is_asked_before_it_is_used_and_then_once(proxy: Proxy) -> None:
    with site_on(proxy.port):
        client = process_clients.client()
        assert proxy.connections == 0
        assert len(process_clients.masters(client)) == 3
        asked = proxy.calls
        assert len(process_clients.masters(client)) == 3
        assert (proxy.calls, process_clients.client()) == (asked, client)


def test_what_background_work_has_learnt_decisions_know(cluster_ports: list[int]) -> None:
    with site_on(*cluster_ports, timeout="50ms"):
        assert process_clients.client() is process_clients.patient_client()
        process_clients.patient_client().set("rw:token", "x")
        first = process_clients.masters()[0].connection_pool.connection_kwargs
        assert first["socket_timeout"] == process_clients.PATIENT_S / 4


def test_the_first_decision_on_a_cluster_that_drips_ends_with_the_limit(proxy: Proxy) -> None:
    with site_on(proxy.port, timeout="100ms"), proxy.drip(0.05):
        began_s = time.monotonic()
        with pytest.raises((redis.ConnectionError, redis.TimeoutError)):
            stores.store().run([CHECK], "hit")
        assert time.monotonic() - began_s < LONG_S


def test_and_so_do_what_background_work_asks_first_and_a_renewal(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_client, "MOST_S", 0.1)
    monkeypatch.setattr("ratewindow.limiter.redis.cluster.store.RENEW_S", 0.1)
    with site_on(proxy.port):
        began_s = time.monotonic()
        with proxy.drip(0.05), pytest.raises((redis.ConnectionError, redis.TimeoutError)):
            process_clients.patient_client().get("rw:token")
        monkeypatch.setattr(cluster_client, "MOST_S", 5.0)
        store = stores.store()
        store.run([CHECK], "hit")
        client: redis.RedisCluster = process_clients.client()  # type: ignore[assignment]
        client.nodes_manager.startup_nodes = {"only": redis.cluster.ClusterNode("127.0.0.1", proxy.port)}
        with proxy.drip(0.05), pytest.raises((redis.ConnectionError, redis.TimeoutError)):
            store.renew()  # type: ignore[union-attr]
        assert time.monotonic() - began_s < 2 * LONG_S


def test_a_cluster_that_was_away_is_asked_again_at_the_next_use(proxy: Proxy) -> None:
    with site_on(proxy.port):
        with proxy.turned_away(), pytest.raises(redis.ConnectionError):
            process_clients.client().get("rw:token")
        assert process_clients.client().get("rw:token") is None
        assert stores.store().run([CHECK], "hit")[0].windows[0].remaining == 4


def test_one_thread_asks_and_the_others_wait_no_longer_than_they_may(proxy: Proxy) -> None:
    client = ClusterClient((("127.0.0.1", proxy.port),), socket_timeout=5.0)
    assert client._connect_lock.acquire()  # as one that is asking
    told: list[BaseException] = []

    def ask() -> None:
        try:
            with limited(0.01):
                client.get("rw:token")
        except redis.RedisError as error:
            told.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    client._connect_lock.release()
    assert [type(error) for error in told] == [redis.TimeoutError]
    assert client.get("rw:token") is None
    client.close()


def test_closing_one_that_was_never_used_asks_nobody(proxy: Proxy) -> None:
    ClusterClient((("127.0.0.1", proxy.port),)).close()
    assert proxy.connections == 0


@pytest.mark.parametrize(("options", "kind"), [({"ssl": True, "ssl_ca_certs": "/ca.pem"}, SSLConnection), ({}, Connection)])
def test_connections_to_every_server_are_timed_with_tls_or_without(
    options: dict[str, Any], kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[str, Any] = {}

    def make(client: Any, **options: Any) -> None:
        made.update(options)
        client.nodes_manager = None

    monkeypatch.setattr(redis.RedisCluster, "__init__", make)
    assert ClusterClient((("::1", 7000), ("two", 7001)), **options).nodes_manager is None
    assert made["connection_class"] is timed(kind) and "ssl" not in made
    assert made["url"] == "redis://[::1]:7000" and [node.name for node in made["startup_nodes"]] == ["two:7001"]


def test_what_it_has_not_is_told_as_of_any_object(cluster_ports: list[int]) -> None:
    client = ClusterClient((("127.0.0.1", cluster_ports[0]),), socket_timeout=5.0)
    assert not hasattr(client, "no_such_thing")
    client.close()
