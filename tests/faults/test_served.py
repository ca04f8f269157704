"""Every fault on a site under traffic, behind gunicorn: no request fails, nobody waits for a server that is known to be away."""

import contextlib
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from django.test import override_settings

from ratewindow.counting import minutes
from tests.faults.catalogue import FAULTS
from tests.faults.injectors import OwnServer, own_server
from tests.faults.proxy import Proxy, proxied
from tests.faults.traffic import Traffic, breakers
from tests.serving.servers import Served, make_database, new_address, place

pytestmark = pytest.mark.slow

DOWN, BACK = "Redis does not answer, requests pass uncounted", "Redis answers again"


UNLIKE = ("not running, back empty", "hung (SIGSTOP)", "out of memory", "lost replies", "garbage")
"""Faults that a worker notices each in another way; `make faults` tries the others."""


class Site(NamedTuple):
    served: Served
    server: OwnServer
    proxy: Proxy


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    template = tmp_path_factory.mktemp("faults") / "template.sqlite3"
    make_database(template)
    with own_server() as server, proxied(server.port) as proxy, place(template) as made:
        url = f"redis://127.0.0.1:{proxy.port}/0"
        # Long enough that a busy machine does not look like a fault.
        yield Site(made.serve("gthread", {"SERVED_TIMED": "1"}, REDIS=url, TIMEOUT="500ms"), server, proxy)


@pytest.mark.parametrize("name", [name if name in UNLIKE else pytest.param(name, marks=pytest.mark.pace) for name in FAULTS])
def test_under_traffic_no_request_fails_and_nobody_asks_a_server_that_is_away(site: Site, name: str) -> None:
    served, server, proxy = site
    lines = served.said()
    client = new_address()
    assert served.statuses("/path/", 3, client) == [200, 200, 429]
    with Traffic(served) as traffic:
        traffic.wait_for(20)
        with FAULTS[name](server, proxy):
            traffic.until(lambda: breakers(served) == {"open"}, f"{name}: not every worker has noticed")
            traffic.settle()  # who had been let through by then
            began_s, states = time.monotonic(), proxy.states
            traffic.wait_for(40)
            while_open = [sample for sample in traffic.since(began_s) if sample.answered_s]
            assert all(sample.cause.startswith("store:") for sample in while_open)
            assert proxy.states == states  # no decision went to the server
        traffic.until(lambda: breakers(served) == {"closed"}, f"{name}: not every worker has come back")
        back_s = time.monotonic()
        traffic.wait_for(20)
    assert {sample.status for sample in traffic.samples} == {200}
    assert {sample.cause for sample in traffic.since(back_s)} == {""}
    assert served.statuses("/path/", 4) == [200, 200, 429, 429]  # the limit holds again, exactly
    said = served.said().removeprefix(lines)
    assert said.count(DOWN) == said.count(BACK) == served.workers_wanted, said


def test_what_was_decided_without_redis_is_counted_each_once(site: Site) -> None:
    served, server, proxy = site
    with Traffic(served, ("/amany/",)) as traffic:  # a rule that nobody else asks about here
        traffic.wait_for(20)
        with FAULTS["hung (SIGSTOP)"](server, proxy):
            traffic.until(lambda: breakers(served) == {"open"}, "not every worker has noticed")
            traffic.wait_for(40)
        traffic.until(lambda: breakers(served) == {"closed"}, "not every worker has come back")
        traffic.wait_for(20)
    alone = sum(bool(sample.cause) for sample in traffic.samples)
    assert alone >= 40
    traffic.until(lambda: _counted(server, "amany") == (len(traffic.samples), alone), f"of {alone} not all are counted")


def _counted(server: OwnServer, rule: str) -> tuple[int, int]:
    """How many requests the report has of this rule, and how many of them were decided without Redis."""
    with override_settings(RATEWINDOW={"REDIS": server.url}):
        found = minutes.read(minutes.waiting(time.time()))
    sums = [by_rule[rule] for by_rule in found.values() if rule in by_rule]
    return sum(each.passed for each in sums), sum(each.fallback for each in sums)


def test_a_flushed_script_is_no_fault(site: Site) -> None:
    served, server, _ = site
    with Traffic(served) as traffic:
        for _ in range(5):
            server.tell("SCRIPT", "FLUSH")
            traffic.wait_for(10)
    assert {(sample.status, sample.cause) for sample in traffic.samples} == {(200, "")}


def test_what_somebody_wrote_under_a_key_concerns_that_client_alone(site: Site) -> None:
    served, server, _ = site
    with server.client() as client, Traffic(served) as traffic:
        traffic.wait_for(20)  # all that it counts is there by then
        before = set(client.scan_iter("rw:s:*"))
        assert served.get("/keyed/", X_Api_Key="harmed").status == 200
        (harmed,) = set(client.scan_iter("rw:s:*")) - before
        client.delete(harmed)
        client.lpush(harmed, "not ours")
        answers = [served.get("/keyed/", X_Api_Key="harmed") for _ in range(5)]
        assert [(answer.status, answer["X-Cause"]) for answer in answers] == [(200, "store:wrongtype")] * 5
        assert [served.get("/keyed/", X_Api_Key="another").status for _ in range(2)] == [200, 429]
        traffic.wait_for(20)
        client.delete(harmed)
    assert {(sample.status, sample.cause) for sample in traffic.samples} == {(200, "")}
    assert [served.get("/keyed/", X_Api_Key="harmed").status for _ in range(2)] == [200, 429]
    assert breakers(served) == {"closed"}


def test_where_redis_evicts_it_still_decides(site: Site) -> None:
    served, server, _ = site
    with server.client() as client, Traffic(served) as traffic:
        server.configure(maxmemory_policy="allkeys-lru", maxmemory=int(client.info("memory")["used_memory"]) + 400_000)
        traffic.wait_for(10)
        for number in range(1500):
            client.set(f"other:{number}", "x" * 1000)
        traffic.wait_for(40)
        assert client.info("stats")["evicted_keys"]
        server.configure(maxmemory=0, maxmemory_policy="noeviction")
        client.flushall()
    assert {(sample.status, sample.cause) for sample in traffic.samples} == {(200, "")}


def test_a_pool_of_one_connection_that_an_address_asks_for_is_not_what_threads_wait_for(site: Site) -> None:
    url = f"redis://127.0.0.1:{site.server.port}/0?max_connections=1"
    served = site.served.place.serve("gthread", {"SERVED_TIMED": "1"}, REDIS=url, TIMEOUT="2s")
    with Traffic(served, askers=8, pause_s=0.0) as traffic:
        traffic.wait_for(200)
    assert {(sample.status, sample.cause) for sample in traffic.samples} == {(200, "")}


def test_a_database_that_is_held_up_holds_up_no_request(site: Site) -> None:
    served, server, _ = site
    with contextlib.closing(sqlite3.connect(served.place.database, isolation_level=None)) as database, Traffic(served) as traffic:
        database.execute("BEGIN EXCLUSIVE")
        server.tell("DEL", "rw:token")  # each process reads its rules again
        traffic.wait_for(200)
        database.execute("ROLLBACK")
    assert {(sample.status, sample.cause) for sample in traffic.samples} == {(200, "")}


def test_a_worker_that_is_killed_takes_no_limit_with_it(site: Site) -> None:
    served = site.served
    client = new_address()
    assert served.statuses("/path/", 1, client) == [200]
    before = set(served.workers())
    with Traffic(served) as traffic:
        traffic.wait_for(20)
        os.kill(min(before), signal.SIGKILL)
        traffic.until(lambda: min(before) not in served.workers(), "no other worker has come")
        traffic.wait_for(20)
    assert {sample.status for sample in traffic.samples} <= {200, 0}
    assert served.statuses("/path/", 3, client) == [200, 429, 429]
