"""Every fault of a server, done to a real one: no request fails, and all is well again once it is over.

What is asserted are the causes of being fast: that nobody touches a socket once the breaker is open, that no
request looks whether the server is back. How long it takes, `make faults` measures.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from threading import Barrier

import pytest

from ratewindow.store import outage
from ratewindow.store.breaker import FAILURES_TO_OPEN
from tests.faults import injectors
from tests.faults.injectors import OwnServer
from tests.faults.proxy import GARBAGE, NIL, SHORT, Proxy
from tests.faults.site import LIMIT, Answer, Touched, Visitor, probe, site_on
from tests.support.servers import until

BEFORE, AFTER = 2, 1  # requests around the fault

# Of the server: how, what it is called, and how many of the requests that got no answer may have counted.
OF_SERVER = [
    (injectors.hung, "timeout", FAILURES_TO_OPEN),
    (injectors.asleep, "timeout", FAILURES_TO_OPEN),
    (injectors.paused, "timeout", FAILURES_TO_OPEN),
    (injectors.busy, "busy", 0),
    (injectors.full, "oom", 0),
    (injectors.demoted, "readonly", 0),
    (injectors.without_master, "masterdown", 0),
    (injectors.unable_to_save, "misconf", 0),
    (injectors.without_replicas, "noreplicas", 0),
    (injectors.crowded, "maxclients or connection", 0),
    (injectors.locked, "auth", 0),
    (injectors.without_right, "noperm", 0),
    (injectors.without_inner_right, "noperm", 0),
]

# Of the way to it.
ON_THE_WAY = [
    (lambda proxy: proxy.black_hole(), "timeout", 0),
    (lambda proxy: proxy.reset(), "connection", 0),
    (lambda proxy: proxy.turned_away(), "connection", 0),
    (lambda proxy: proxy.lost_replies(), "timeout", FAILURES_TO_OPEN),
    (lambda proxy: proxy.drip(0.1), "timeout", FAILURES_TO_OPEN),
    (lambda proxy: proxy.latency(2.0), "timeout", FAILURES_TO_OPEN),
    (lambda proxy: proxy.answers(GARBAGE), "protocol", 0),
    (lambda proxy: proxy.answers(NIL), "protocol", 0),
    (lambda proxy: proxy.answers(SHORT), "protocol", 0),
    (lambda proxy: proxy.answers(b":one\r\n"), "protocol", 0),
    (lambda proxy: proxy.answers(b"*4\r\n+a\r\n+b\r\n+c\r\n+d\r\n"), "protocol", 0),
]
NAMES = ["black hole", "reset", "turned away", "lost replies", "drip", "latency", "garbage", "nil", "short", "no number", "words"]


def suffer(
    fault: AbstractContextManager[None],
    name: str,
    visitor: Visitor,
    touched: Touched,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Two requests, the fault, and its end; what must hold in each."""
    assert visitor.ask(BEFORE) == [Answer(200, "")] * BEFORE
    with fault:
        expected = {Answer(200, f"store:{each}") for each in name.split(" or ")}
        assert set(visitor.ask(FAILURES_TO_OPEN)) <= expected
        assert outage.breaker.open
        with touched() as calls:
            assert set(visitor.ask(5)) <= expected
        assert not calls
        probe()
        assert outage.breaker.open
        assert [record.levelname for record in caplog.records] == ["ERROR"]
    until(_is_back, "the server is back and was not found")
    assert visitor.ask(AFTER) == [Answer(200, "")] * AFTER
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]


def _is_back() -> bool:
    probe()
    return not outage.breaker.open


@pytest.mark.parametrize("fault, name, lost", OF_SERVER, ids=[fault.__name__ for fault, *_ in OF_SERVER])
def test_a_server_in_trouble_fails_no_request_and_is_used_again_when_it_is_over(
    fault: Callable[[OwnServer], AbstractContextManager[None]],
    name: str,
    lost: int,
    server: OwnServer,
    visitor: Visitor,
    touched: Touched,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ratewindow.limiter.redis.connections.IDLE_S", -1.0)  # as if some time had passed since the last request
    with site_on(server.url):
        suffer(fault(server), name, visitor, touched, caplog)
        # What was sent and not answered may have counted once, and no more often.
        assert LIMIT - BEFORE - AFTER - lost <= visitor.admitted() <= LIMIT - BEFORE - AFTER


@pytest.mark.parametrize("fault, name, lost", ON_THE_WAY, ids=NAMES)
def test_a_bad_way_to_the_server_is_a_fault_like_any_other(
    fault: Callable[[Proxy], AbstractContextManager[None]],
    name: str,
    lost: int,
    proxy: Proxy,
    visitor: Visitor,
    touched: Touched,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with site_on(f"redis://127.0.0.1:{proxy.port}/0"):
        suffer(fault(proxy), name, visitor, touched, caplog)
        assert LIMIT - BEFORE - AFTER - lost <= visitor.admitted() <= LIMIT - BEFORE - AFTER


def test_a_server_that_was_started_again_without_its_data_locks_nobody_out(
    server: OwnServer, visitor: Visitor, touched: Touched, caplog: pytest.LogCaptureFixture
) -> None:
    with site_on(server.url):
        assert visitor.admitted() == LIMIT
        outage.refusals.forget()
        caplog.clear()
        with injectors.stopped(server):
            assert visitor.ask(FAILURES_TO_OPEN) == [Answer(200, "store:connection")] * FAILURES_TO_OPEN
        until(_is_back, "the server is back and was not found")
        assert visitor.admitted() == LIMIT


def test_a_server_that_loads_its_data_is_used_when_it_has_them(
    server: OwnServer, visitor: Visitor, touched: Touched, caplog: pytest.LogCaptureFixture
) -> None:
    with site_on(server.url):
        visitor.ask(BEFORE)
        with injectors.loading(server):
            assert visitor.ask(FAILURES_TO_OPEN)[-1] == Answer(200, "store:loading")
            with touched() as calls:
                visitor.ask(5)
            assert not calls
        until(_is_back, "the server is back and was not found")
        assert visitor.admitted() == LIMIT - BEFORE


def test_scripts_that_are_flushed_under_load_are_sent_again(server: OwnServer, visitor: Visitor) -> None:
    with site_on(server.url, "5s"):
        for _ in range(LIMIT):
            server.tell("SCRIPT", "FLUSH")
            assert visitor.ask() == [Answer(200, "")]
        assert visitor.ask() == [Answer(429, "")]


def test_connections_that_somebody_kills_while_they_rest_are_opened_anew(
    server: OwnServer, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ratewindow.limiter.redis.connections.IDLE_S", -1.0)  # every one has rested
    with site_on(server.url, "5s"):
        for _ in range(LIMIT):
            assert visitor.ask() == [Answer(200, "")]
            with server.client() as client:
                client.client_kill_filter(skipme=True)
        assert visitor.ask() == [Answer(429, "")]


def test_connections_that_are_killed_in_the_middle_of_traffic_cost_one_request_together(server: OwnServer) -> None:
    with site_on(server.url, "5s"), asyncio.Runner() as runner, ThreadPoolExecutor(8) as pool:
        together = Barrier(8)

        def ask(_: int) -> None:
            together.wait()
            Visitor(False, runner).ask()

        list(pool.map(ask, range(8)))
        with server.client() as client:
            client.client_kill_filter(skipme=True)
        causes = [Visitor(False, runner).ask()[0].cause for _ in range(8)]
        assert causes.count("store:connection") <= 1 and set(causes) <= {"", "store:connection"}
        assert not outage.breaker.open


def test_a_wrong_type_under_one_key_concerns_that_client_alone(
    server: OwnServer, visitor: Visitor, caplog: pytest.LogCaptureFixture
) -> None:
    with site_on(server.url, "5s"):
        visitor.ask(client="harmed")
        with server.client() as client:
            (key,) = client.keys("rw:s:*")
            client.delete(key)
            client.lpush(key, "not ours")
        assert visitor.ask(5, client="harmed") == [Answer(200, "store:wrongtype")] * 5
        assert visitor.admitted(client="another") == LIMIT
        assert not outage.breaker.open
        assert [record.levelname for record in caplog.records if record.name == "ratewindow"] == ["ERROR"]


def test_where_the_server_evicts_it_still_decides(server: OwnServer, visitor: Visitor) -> None:
    """Who is evicted is forgotten, and admitted again: that is what the policy means, and no fault."""
    with site_on(server.url, "5s"), server.client() as client:
        before = int(client.info("memory")["used_memory"])
        server.configure(maxmemory_policy="allkeys-lru", maxmemory=before + 400_000)
        for number in range(1500):
            client.set(f"other:{number}", "x" * 1000)
        assert {answer.cause for number in range(300) for answer in visitor.ask(client=str(number))} == {""}


def test_a_plain_address_of_one_server_of_a_cluster_is_a_fault_with_a_name(
    cluster_ports: list[int], visitor: Visitor, cluster: object
) -> None:
    with site_on(f"redis://127.0.0.1:{cluster_ports[0]}/0", "5s"):
        causes = {answer.cause for number in range(20) for answer in visitor.ask(client=str(number))}
    assert causes <= {"", "store:cluster"} and "store:cluster" in causes
