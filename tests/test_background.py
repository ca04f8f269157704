"""The chores of a process; that they run at all is shown by the demo, whose workers hear of edits and send counts."""

import logging
import os
import sys
import threading
from collections.abc import Iterator

import pytest
import redis
from django.db import OperationalError

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


class Outage:
    """A server that does not answer a chore, for as long as it is `on`."""

    def __init__(self) -> None:
        self.on = True
        self.chores = [Chore(self.ask, lambda: 1.0)]

    def ask(self) -> None:
        if self.on:
            raise redis.ConnectionError("refused")

    def pass_by(self) -> None:
        for chore in self.chores:
            background._attempt(chore)


@pytest.fixture
def outage(monkeypatch: pytest.MonkeyPatch) -> Outage:
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
    assert [record.getMessage() for record in caplog.records] == ["ratewindow: Outage.ask fails, and is retried: refused"] * 2
    assert not any(record.exc_info for record in caplog.records)


@pytest.fixture
def own_chores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process without chores; the threads of those that a test assigns end with it."""
    monkeypatch.setattr(background, "_chores", [])
    monkeypatch.setattr(background, "_outage_is_known", background._outage_is_known)
    monkeypatch.setattr(background, "running_in", 0)
    yield
    waiting = background._wake
    background.renew()
    waiting.set()
    for running in own_threads():
        running.join(10)
    assert not own_threads()


def own_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("ratewindow-")]


def assign(*chores: Chore) -> None:
    background.assign(chores, lambda: False)


def never_s() -> float:
    return 1000.0


@pytest.mark.usefixtures("own_chores")
def test_a_chore_that_is_held_up_holds_up_no_chore_of_another_thread() -> None:
    held_up, go_on, done = threading.Event(), threading.Event(), threading.Event()

    def slow() -> None:
        held_up.set()
        go_on.wait(10)

    def quick() -> None:
        assert held_up.wait(10)
        done.set()

    assign(Chore(slow, never_s, "slow"), Chore(quick, never_s))
    start_threads()
    assert done.wait(10)
    assert not go_on.is_set()
    go_on.set()


@pytest.mark.usefixtures("own_chores")
def test_a_chore_in_a_hurry_does_not_wait_for_its_time() -> None:
    times, again = [], threading.Event()

    def chore() -> None:
        times.append(1)
        if len(times) == 1:
            background.hurry(chore)
        else:
            again.set()

    assign(Chore(chore, never_s))
    start_threads()
    assert again.wait(10)


class Work:
    """A chore with a thread of its own, which has something to do when a test says so."""

    def __init__(self) -> None:
        self.waiting, self.done = 0, threading.Semaphore(0)
        self.chore = Chore(self.run, lambda: 0.01, "work", lambda: self.waiting > 0)

    def run(self) -> None:
        self.waiting -= 1
        self.done.release()

    def add(self) -> None:
        self.waiting += 1
        background.hurry(self.run)


def ended(name: str) -> bool:
    for thread in own_threads():
        if thread.name == name:
            thread.join(10)
            return not thread.is_alive()
    return True


@pytest.mark.usefixtures("own_chores")
def test_a_thread_runs_only_while_it_has_something_to_do() -> None:
    work = Work()
    assign(Chore(lambda: None, never_s), work.chore)
    start_threads()
    for _ in range(3):
        assert ended("ratewindow-work")
        assert [thread.name for thread in own_threads()] == ["ratewindow-housekeeping"]
        work.add()
        assert work.done.acquire(timeout=10)


@pytest.mark.usefixtures("own_chores")
def test_a_thread_that_waits_for_one_chore_does_not_keep_another_waiting() -> None:
    work, seen = Work(), threading.Event()
    assign(Chore(lambda: None, lambda: 0.01), Chore(seen.set, never_s, "work", lambda: True), work.chore)
    start_threads()
    assert seen.wait(10)  # from now on the thread waits for the next time
    work.waiting += 1
    assert work.done.acquire(timeout=10)


@pytest.mark.usefixtures("own_chores")
def test_a_thread_that_is_ended_while_it_waits_is_started_again_by_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    worked = threading.Semaphore(0)
    monkeypatch.setattr(threading, "excepthook", lambda told: None)
    assign(Chore(worked.release, never_s))
    with monkeypatch.context() as patch:
        patch.setattr(background, "_rest_s", lambda now_s: sys.exit("as a greenlet that is killed"))
        start_threads()
        assert worked.acquire(timeout=10) and ended("ratewindow-housekeeping")
    assert background.running_in == 0
    background._chores[0].due_s = 0.0
    start_threads()
    assert worked.acquire(timeout=10)


@pytest.mark.usefixtures("own_chores")
def test_what_is_added_while_a_thread_ends_is_done() -> None:
    work = Work()
    assign(Chore(lambda: None, never_s), work.chore)
    start_threads()
    for _ in range(500):  # as fast as it ends
        work.add()
        assert work.done.acquire(timeout=10)


@pytest.mark.usefixtures("own_chores")
def test_work_that_nobody_told_of_is_found_by_the_thread_that_always_runs() -> None:
    work, look = Work(), threading.Event()
    assign(Chore(look.set, lambda: 0.01), work.chore)
    start_threads()
    assert look.wait(10)
    work.waiting += 1
    assert work.done.acquire(timeout=10)


@pytest.mark.usefixtures("own_chores")
def test_a_process_whose_threads_do_not_run_starts_none_for_what_is_added() -> None:
    work = Work()
    assign(Chore(lambda: None, never_s), work.chore)
    work.add()
    assert not own_threads()


class Odd(BaseException):
    def __str__(self) -> str:
        raise self


@pytest.mark.parametrize("error", [RuntimeError("one"), SystemExit(), KeyboardInterrupt(), GeneratorExit(), Odd()], ids=repr)
@pytest.mark.parametrize("place", ["run", "interval_s", "is_needed", "logging"])
@pytest.mark.parametrize("name", [background.ALWAYS, "other"])
@pytest.mark.usefixtures("own_chores")
def test_no_error_ends_a_thread(error: BaseException, place: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "RETRY_S", 0.01)
    failed, mended, worked = threading.Event(), threading.Event(), threading.Event()

    def fail() -> bool:
        if not mended.is_set() and threading.current_thread() in own_threads():
            failed.set()
            raise error
        return True

    def run() -> None:
        if place in ("run", "logging"):
            fail()
        worked.set()

    def interval_s() -> float:
        return 0.01 if place != "interval_s" or fail() else 0.0

    if place == "logging":
        monkeypatch.setattr(background.logger, "error", lambda *_, **__: fail())
    assign(Chore(run, interval_s, name, fail if place == "is_needed" else lambda: True))
    start_threads()
    assert failed.wait(10)
    worked.clear()
    mended.set()
    assert worked.wait(10)


@pytest.mark.usefixtures("own_chores")
def test_a_chore_that_exits_is_an_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    background._attempt(Chore(lambda: sys.exit("enough"), never_s))
    assert "fails, and is retried: enough" in caplog.text


@pytest.mark.usefixtures("own_chores")
def test_where_no_thread_can_be_started_requests_go_on_and_the_next_one_tries_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    work = Work()
    assign(Chore(lambda: None, never_s), work.chore)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        start_threads()
        start_threads()
    assert [record.getMessage() for record in caplog.records] == [
        "ratewindow: no thread can be started for housekeeping: can't start new thread"
    ]
    start_threads()
    assert background.running_in == os.getpid()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        work.add()
    work.add()
    assert work.done.acquire(timeout=10) and work.done.acquire(timeout=10)


class Deciding(logging.Handler):
    """A handler of the log that limits what it sends, as one by HTTP or mail may."""

    def emit(self, record: logging.LogRecord) -> None:
        background.ensure_running()


@pytest.mark.usefixtures("own_chores")
def test_a_handler_of_the_log_may_ask_for_a_decision_while_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    begin = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assign(Chore(lambda: None, never_s))
    handler = Deciding()
    background.logger.addHandler(handler)
    try:
        request = threading.Thread(target=background.ensure_running, daemon=True)
        begin(request)
        request.join(timeout=10)
        assert not request.is_alive()
    finally:
        background.logger.removeHandler(handler)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.usefixtures("own_chores")
def test_in_a_child_that_a_chore_has_forked_the_thread_does_not_go_on_and_requests_start_new_ones() -> None:
    ended_with: list[int] = []
    forked = threading.Event()

    def fork() -> None:
        if os.getpid() != parent:
            return  # else each child's thread would fork another one, without end
        child = os.fork()
        if child:
            ended_with.append(os.waitpid(child, 0)[1])
            forked.set()

    def take_turn(name: str) -> None:
        usual(name)
        if os.getpid() != parent:
            running_in = background.running_in
            start_threads()
            os._exit(0 if not running_in and background.running_in == os.getpid() else 1)

    parent, usual = os.getpid(), background._take_turn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(background, "_take_turn", take_turn)
        assign(Chore(fork, never_s))
        start_threads()
        assert forked.wait(20)
    assert ended_with == [0]
