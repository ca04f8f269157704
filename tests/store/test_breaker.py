"""What a breaker remembers, whom it tells, and that a fork leaves nothing locked."""

import os
from collections.abc import Iterator

import pytest

from ratewindow.limiter.memory import MemoryStore
from ratewindow.limiter.reply import Refusals
from ratewindow.store import breaker
from ratewindow.store.breaker import FAILURES_TO_OPEN, Breaker, Breakers, State


class Server:
    """What the probes find."""

    def __init__(self) -> None:
        self.away: set[str] = set()

    def probe(self, name: str = "Redis") -> None:
        if name in self.away:
            raise ConnectionError(name)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[State]]:
    states: list[State] = []
    monkeypatch.setattr(breaker, "listeners", [])
    breaker.listeners.append(states.append)
    return states


def holding() -> str:
    return "requests pass"


def test_who_listens_is_told_of_each_transition_once_with_cause_and_time(server: Server, told: list[State]) -> None:
    one = Breaker(server.probe, holding)
    assert one.state == State("Redis", False, None, "")
    server.away.add("Redis")
    for _ in range(FAILURES_TO_OPEN + 2):
        one.failed(TimeoutError())
    one.look()
    server.away.clear()
    one.look()
    one.look()
    one.succeeded()
    one.succeeded()
    assert [(state.open, state.cause) for state in told] == [(True, "store:timeout"), (False, "store:timeout")]
    assert told[0].since_s is not None and told[1].since_s is not None and told[0].since_s <= told[1].since_s


def test_a_listener_that_fails_harms_nobody(server: Server, told: list[State], caplog: pytest.LogCaptureFixture) -> None:
    def fail(state: State) -> None:
        raise ValueError(state)

    breaker.listeners.insert(0, fail)
    one = Breaker(server.probe, holding)
    for _ in range(FAILURES_TO_OPEN):
        one.failed(TimeoutError())
    assert one.open and len(told) == 1
    assert "fails" in caplog.text


def test_a_listener_may_ask_the_breaker(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is called without the lock."""
    one, seen = Breaker(server.probe, holding), []
    monkeypatch.setattr(breaker, "listeners", [lambda _: seen.append(one.state.open)])
    for _ in range(FAILURES_TO_OPEN):
        one.failed(TimeoutError())
    assert seen == [True]


def test_each_server_of_a_cluster_has_a_breaker_of_its_own(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    several = Breakers(server.probe, holding)
    server.away.add("one:7000")
    several.succeeded("two:7000")
    for _ in range(FAILURES_TO_OPEN):
        several.failed("one:7000", ConnectionError())
        several.failed("two:7000", TimeoutError())
        several.succeeded("two:7000")
    assert (several.away("one:7000"), several.away("two:7000"), several.away("three:7000")) == ("connection", None, None)
    several.look()
    assert several.away("one:7000")
    server.away.clear()
    several.look()
    assert several.away("one:7000") is None
    several.succeeded("one:7000")
    several.succeeded("two:7000")
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
    assert {state.server for state in several.states} == {"one:7000", "two:7000"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_lock_that_is_held_while_forking_is_free_in_the_child(server: Server) -> None:
    one, refusals, store = Breaker(server.probe, holding), Refusals(), MemoryStore()
    with one._lock, refusals._lock, store._lock:
        child = os.fork()
        if not child:
            one.failed(TimeoutError())
            refusals.forget()
            store.clear()
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
