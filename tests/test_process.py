"""The process as one object: what its threads do, and what a fork, other settings and the end make of it."""

import asyncio
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.test import modify_settings, override_settings

from ratewindow import background, conf, process
from ratewindow.conf import site_functions
from ratewindow.counting import minutes
from ratewindow.counting.counters import counters
from ratewindow.health import processes
from ratewindow.limiter.types import RuleDecision
from ratewindow.models import Override, RateRule
from ratewindow.rulebook import current, edits, reading
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rule import Rule
from ratewindow.store import breaker, clients, outage, process_clients, shared_prefix, stores
from ratewindow.store.breaker import FAILURES_TO_OPEN
from tests.support.fresh_process import reset_process


def test_receivers_of_signals_and_the_database_delay_no_other_chore() -> None:
    threads = {chore.run: chore.thread for chore in process.CHORES}
    assert {run for run, thread in threads.items() if thread == "signals"} == {reading.send_changes_apart, processes.send_turns}
    of_rules = {edits.reread, edits.reread_switch, shared_prefix.announce_unless_tested}
    assert {run for run, thread in threads.items() if thread == "rules"} == of_rules
    assert threads[edits.check_redis] == threads[processes.beat] == background.ALWAYS


def connected() -> list[str]:
    """What is called of a refusal, of a function that fails, and of a breaker that opens or closes."""
    called = (*counters.observers, *minutes.also, *site_functions.listeners, *breaker.listeners)
    return [each.__qualname__ for each in called]


def test_started_again_as_django_does_when_the_installed_apps_change_it_connects_nothing_twice() -> None:
    before = connected()
    with modify_settings(INSTALLED_APPS={"append": "django.contrib.sitemaps"}):
        assert connected() == before
    assert connected() == before


def has_work() -> set[str]:
    """The threads that have something to do now, apart from the one that always runs."""
    now_s = time.monotonic()
    needed = [chore for chore in process.CHORES if chore.has_work and (chore.is_needed or chore.due_s <= now_s)]
    return {chore.thread for chore in needed if chore.thread != background.ALWAYS}


@pytest.fixture
def _idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has read its rules and announced its site a moment ago."""
    reading.changed.clear()
    processes.send_turns()
    for chore in process.CHORES:
        monkeypatch.setattr(chore, "due_s", float("inf"))
    edits.check_redis()
    reading.reload()
    edits._state.edited = False


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_idle")
def test_an_idle_process_needs_one_thread_and_others_while_they_have_something_to_do() -> None:
    assert has_work() == set()
    counters.record([RuleDecision(rule="login")])
    assert has_work() == {"reports"}
    counters.flush()
    edits._state.edited = True
    assert has_work() == {"rules"}
    edits._state.edited = False
    reading.changed.append("login")
    assert has_work() == {"signals"}
    reading.send_changes()
    stores.shards.failed("127.0.0.1:1", TimeoutError())
    for _ in range(FAILURES_TO_OPEN):
        outage.breaker.failed(TimeoutError())
    assert has_work() == {"probes", "signals"}
    processes.send_turns()
    outage.breaker.look()
    assert not outage.breaker.open and has_work() == {"probes"}  # it is on trial
    outage.reset()
    assert has_work() == set()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_idle")
def test_what_an_idle_process_asks_of_redis_in_a_minute(redis_client: Any) -> None:
    def commands() -> int:
        told: dict[str, Any] = redis_client.info("commandstats")
        return sum(each["calls"] for name, each in told.items() if name != "cmdstat_info")

    asked = {"commands": 0.0, "calls": 0.0}
    for chore in (each for each in process.CHORES if each.thread == background.ALWAYS):
        chore.run()  # which may connect
        before = commands()
        chore.run()
        asked["commands"] += (commands() - before) * 60 / chore.interval_s()
        asked["calls"] += (commands() > before) * 60 / chore.interval_s()
    assert asked == {"commands": 120 + 4 * 24, "calls": 120 + 24}


@pytest.mark.django_db(transaction=True)
def test_what_an_idle_process_asks_of_the_database_twice_a_minute(django_assert_num_queries: Any) -> None:
    reading.reload()
    with django_assert_num_queries(3):  # rules, overrides, the switch
        reading.reload()
    RateRule.objects.define("login", "5/m; 20/h")
    with django_assert_num_queries(4):
        reading.reload()
    Override.objects.block("ip:203.0.113.9")
    with django_assert_num_queries(5):
        reading.reload()


@pytest.mark.django_db(transaction=True)
def test_edits_are_looked_for_twice_within_refresh() -> None:
    for refresh, interval_s in (("1s", 0.5), ("200ms", 0.1), ("10s", edits.CHECK_S)):
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REFRESH": refresh}):
            assert edits.interval_s() == pytest.approx(interval_s)


def test_each_chore_is_listed_once_and_has_an_interval() -> None:
    assert set(Counter(chore.run for chore in process.CHORES).values()) == {1}
    assert all(chore.interval_s() > 0 for chore in process.CHORES)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_has_the_rules_of_its_parent_but_neither_its_counts_nor_its_connections_nor_its_name() -> None:
    current.hold(Rulebook([Rule("login", ())]), 0)
    counters.record([RuleDecision(rule="login")])
    client, name = process_clients.client(), processes._self.name
    child = os.fork()
    if not child:
        is_right = (
            set(current.held().by_name) == {"login"}
            and not counters.held()
            and process_clients.client() is not client
            and processes._self.name != name
        )
        os._exit(0 if is_right else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_other_settings_begin_with_a_closed_breaker_and_send_no_counts_of_memory() -> None:
    for _ in range(FAILURES_TO_OPEN):
        outage.breaker.failed(TimeoutError())
    assert outage.breaker.open
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "memory://"}):
        assert not outage.breaker.open and process_clients.in_memory()
        counters.record([RuleDecision(rule="login")])
        assert counters.held()
    assert not counters.held()


NEW = {"REDIS": "redis://127.0.0.1:1/0"}


@contextmanager
def interrupted(work: Callable[[], object], module: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Do `work` in a thread that is held up where it returns from this function, while the settings become NEW."""
    usual, held_up, go_on = getattr(module, name), threading.Event(), threading.Event()

    def slow(*arguments: Any, **options: Any) -> Any:
        found = usual(*arguments, **options)
        if threading.current_thread() is thread:
            held_up.set()
            assert go_on.wait(20)
        return found

    process._follow_settings(setting=conf.SETTING)  # so that all is made anew
    thread = threading.Thread(target=work)
    monkeypatch.setattr(module, name, slow)
    thread.start()
    assert held_up.wait(20)
    with override_settings(RATEWINDOW=NEW):
        go_on.set()
        thread.join(20)
        yield


def port_of(store: Any) -> int:
    return int(store._client.connection_pool.connection_kwargs["port"])


@pytest.mark.parametrize(
    "module, name", [(conf, "read"), (clients, "connect"), (process_clients, "client"), (stores, "store_of")]
)
def test_what_a_thread_makes_by_settings_that_change_meanwhile_is_not_used_after_them(
    module: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with interrupted(stores.store, module, name, monkeypatch):
        assert conf.current().redis == NEW["REDIS"]
        assert process_clients.client().connection_pool.connection_kwargs["port"] == 1
        assert process_clients.patient_client().connection_pool.connection_kwargs["port"] == 1
        assert port_of(stores.store()) == 1


@pytest.mark.parametrize("module, name", [(conf, "read"), (clients, "aconnect"), (stores, "store_of")])
def test_nor_is_what_an_event_loop_makes(module: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ports = []

    async def make_two() -> None:
        await stores.astore()
        ports.append(port_of(await stores.astore()))

    with interrupted(lambda: asyncio.run(make_two()), module, name, monkeypatch):
        assert ports == [1]


def test_a_test_resets_all_of_it_at_once() -> None:
    current.hold(Rulebook([Rule("login", ())]), 0)
    counters.record([RuleDecision(rule="login")])
    outage._failures.append((time.monotonic(), "store:timeout", "login"))
    reset_process()
    assert current.read_at_s() is None and not counters.held() and not outage.failures_by_cause()
