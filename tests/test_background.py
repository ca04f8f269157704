"""The chores of a process; that they run at all is shown by the demo, whose workers hear of edits and send counts."""

import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import redis
from django.db import OperationalError
from django.test import override_settings

from ratewindow import background
from ratewindow.background import Chore
from ratewindow.store import outage as known_outages
from ratewindow.store.breaker import FAILURES_TO_OPEN

start_threads = background.ensure_running  # before the tests' fixture keeps them from running


def test_a_chore_that_fails_is_told_once_and_again_after_it_has_worked(caplog: pytest.LogCaptureFixture) -> None:
    outcomes = iter([RuntimeError("one"), RuntimeError("two"), None, RuntimeError("three")])

    def chore() -> None:
        outcome = next(outcomes)
        if outcome is not None:
            raise outcome

    kept = Chore(chore, lambda: 1.0)
    for _ in range(4):
        background._attempt(kept)
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["one", "three"]


def test_a_database_that_is_away_is_told_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    def chore() -> None:
        raise OperationalError("refused")

    away = Chore(chore, lambda: 1.0)
    for _ in range(3):
        background._attempt(away)
    (record,) = caplog.records
    assert record.getMessage().endswith("fails, and is retried: refused")
    assert not record.exc_info


def test_a_chore_whose_server_a_test_has_changed_under_it_fails_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    tests = []

    def chore() -> None:
        tests.append(override_settings(RATEWINDOW={"REDIS": "memory://"}))
        tests[-1].enable()
        raise OSError("the connection was closed meanwhile")

    try:
        background._attempt(Chore(chore, lambda: 1.0))
    finally:
        tests[0].disable()
    assert not caplog.records


class Outage:
    """A server that does not answer three chores, for as long as it is `on`."""

    def __init__(self) -> None:
        self.on = True
        self.chores = [Chore(self.ask, lambda: 1.0) for _ in range(3)]

    def ask(self) -> None:
        if self.on:
            raise redis.ConnectionError("refused")

    def pass_by(self) -> None:
        for chore in self.chores:
            background._attempt(chore)


@pytest.fixture
def outage(monkeypatch: pytest.MonkeyPatch) -> Outage:
    monkeypatch.setattr(background, "_logged", set())
    return Outage()


def test_an_outage_that_decisions_met_is_the_breakers_line_and_no_chores(
    outage: Outage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    outage.pass_by()  # chores may meet it first
    breaker = known_outages.breaker
    monkeypatch.setattr(breaker, "_probe", lambda: None)
    for _ in range(FAILURES_TO_OPEN):
        breaker.failed(redis.ConnectionError("refused"))
    outage.pass_by()
    outage.pass_by()
    breaker.look()
    breaker.succeeded()
    outage.pass_by()  # what was under way
    outage.on = False
    outage.pass_by()
    assert [record.getMessage().partition(",")[0] for record in caplog.records] == [
        "ratewindow: Redis does not answer",
        "ratewindow: Redis answers again after 0.0 s",
    ]


def test_where_no_decision_met_it_the_chores_say_so_in_one_line_for_each_time(
    outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        outage.on = True
        for _ in range(4):
            outage.pass_by()
        outage.on = False
        outage.pass_by()
    assert [record.getMessage() for record in caplog.records] == [
        "ratewindow: Outage.ask fails, and is retried: ConnectionError: refused"
    ] * 2
    assert not any(record.exc_info for record in caplog.records)


@pytest.fixture
def no_chores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process without chores; those of the test end their threads by SystemExit, which nobody need hear of."""
    monkeypatch.setattr(background, "_threads", [])
    monkeypatch.setattr(background, "_outage_is_known", background._outage_is_known)
    monkeypatch.setattr(background, "running_in", 0)
    monkeypatch.setattr(threading, "excepthook", lambda told: None)
    yield
    for thread in threading.enumerate():
        if thread.name.startswith("ratewindow-"):
            thread.join(10)


@pytest.mark.usefixtures("no_chores")
def test_a_chore_that_is_held_up_holds_up_no_chore_of_another_thread() -> None:
    held_up, go_on, done = threading.Event(), threading.Event(), threading.Event()

    def slow() -> None:
        held_up.set()
        go_on.wait(10)
        raise SystemExit

    def quick() -> None:
        assert held_up.wait(10)
        done.set()
        raise SystemExit

    background.assign([Chore(slow, lambda: 1000.0, thread="slow"), Chore(quick, lambda: 1000.0)], lambda: False)
    start_threads()
    assert done.wait(10)
    assert not go_on.is_set()
    go_on.set()


@pytest.mark.usefixtures("no_chores")
def test_a_chore_in_a_hurry_does_not_wait_for_its_time() -> None:
    times, again = [], threading.Event()

    def chore() -> None:
        times.append(1)
        if len(times) == 1:
            return background.hurry(chore)
        again.set()
        raise SystemExit

    background.assign([Chore(chore, lambda: 1000.0)], lambda: False)
    start_threads()
    assert again.wait(10)


@pytest.mark.parametrize(
    "options, told",
    [({"master": True, b"processes": b"2"}, 1), ({"enable-threads": True}, 0), ({b"threads": b"4"}, 0), (None, 0)],
)
@pytest.mark.usefixtures("no_chores")
def test_a_uwsgi_that_runs_no_threads_is_told_once_in_each_process(
    options: object, told: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "uwsgi", SimpleNamespace(opt=options))
    start_threads()
    start_threads()
    assert [record.getMessage().count("--enable-threads") for record in caplog.records] == [1] * told
