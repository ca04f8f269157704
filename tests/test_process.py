"""The process as one object: what its threads do, and what a fork, other settings and the end make of it."""

import os
from collections import Counter

import pytest
from django.conf import settings
from django.test import override_settings

from ratewindow import process
from ratewindow.health import outage_signals, processes
from ratewindow.limiter.types import Decision
from ratewindow.reporting import counters
from ratewindow.rulebook import announce, current, edits
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rule import Rule
from ratewindow.store import outage, process_clients, stores
from ratewindow.store.breaker import FAILURES_TO_OPEN


def test_receivers_of_signals_and_the_database_delay_no_other_chore() -> None:
    threads = {chore.run: chore.thread for chore in process.CHORES}
    assert {run for run, thread in threads.items() if thread == "signals"} == {announce.send_waiting, outage_signals.send}
    assert {run for run, thread in threads.items() if thread == "rules"} == {edits.reread, edits.reread_switch}
    assert threads[edits.check_redis] == threads[stores.close_unused] == "housekeeping"


def test_each_chore_is_listed_once_and_has_an_interval() -> None:
    assert set(Counter(chore.run for chore in process.CHORES).values()) == {1}
    assert all(chore.interval_s() > 0 for chore in process.CHORES)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_has_the_rules_of_its_parent_but_neither_its_counts_nor_its_connections_nor_its_name() -> None:
    current.hold(Rulebook([Rule("login", ())]), 0)
    counters.record([Decision(rule="login")])
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
        counters.record([Decision(rule="login")])
        assert counters.held()
    assert not counters.held()


def test_a_test_resets_all_of_it_at_once() -> None:
    current.hold(Rulebook([Rule("login", ())]), 0)
    counters.record([Decision(rule="login")])
    outage.failures.add("store:timeout", "login")
    process.reset()
    assert current.is_empty() and not counters.held() and not outage.failures.by_cause()
