"""A cluster of three masters with a replica each, and a master under Sentinels, behind gunicorn under traffic."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.clusters import copied, kill_a_master, move_slots
from tests.faults.ground import template
from tests.faults.traffic import Traffic, breakers
from tests.serving.servers import Served, needs_a_server, new_address, place
from tests.support.servers import Cluster, cluster_with_replicas, watched_by_sentinels

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    needs_a_server()
    with cluster_with_replicas() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def served(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with place(template(tmp_path_factory.mktemp("clusters"))) as made:
        # Long enough that a busy machine does not look like a fault.
        yield made.serve("gthread", {"SERVED_TIMED": "1"}, REDIS=cluster.url, TIMEOUT="2s")


def test_slots_that_move_under_traffic_fail_no_request_and_take_no_limit_with_them(cluster: Cluster, served: Served) -> None:
    clients = [new_address() for _ in range(12)]
    assert {served.get("/path/", client).status for client in clients} == {200}
    met, slots = move_slots(cluster, served)
    assert slots > 1
    assert (met.failed, met.alone) == (0, 0)
    assert {tuple(served.statuses("/path/", 2, client)) for client in clients} == {(200, 429)}


def test_a_master_that_is_killed_under_traffic_concerns_nobody_elses_clients(cluster: Cluster, served: Served) -> None:
    clients = [new_address() for _ in range(12)]
    assert {served.get("/path/", client).status for client in clients} == {200}
    copied(cluster.masters[0])  # a failover loses what is not
    others, own = kill_a_master(cluster, served)
    assert others.requests and (others.failed, others.alone) == (0, 0)
    assert own.alone and own.failed == 0
    assert {tuple(served.statuses("/path/", 2, client)) for client in clients} == {(200, 429)}
    said = served.said()
    assert said.count(f"127.0.0.1:{cluster.masters[0]} does not answer") == served.workers_wanted


def test_a_failover_of_sentinels_fails_no_request_and_takes_no_limit_with_it(tmp_path: Path) -> None:
    needs_a_server()
    with watched_by_sentinels() as watched, place(template(tmp_path)) as made:
        served = made.serve("gthread", {"SERVED_TIMED": "1"}, REDIS=watched.url, TIMEOUT="2s")
        clients = [new_address() for _ in range(5)]
        assert {served.get("/path/", client).status for client in clients} == {200}
        copied(watched.master)  # a failover loses what is not
        with Traffic(served) as traffic:
            traffic.wait_for(20)
            watched.kill_master()
            traffic.until(lambda: breakers(served) == {"open"}, "not every worker has noticed")
            traffic.until(lambda: breakers(served) == {"closed"}, "not every worker has found the new master")
            back_s = time.monotonic()
            traffic.wait_for(20)
        assert {sample.status for sample in traffic.samples} == {200}
        assert {sample.cause for sample in traffic.since(back_s)} == {""}
        assert {tuple(served.statuses("/path/", 2, client)) for client in clients} == {(200, 429)}
