"""Counting in the process, and sending: nothing doubles, nothing vanishes."""

import logging
import os
import threading
from dataclasses import replace

import pytest
import redis
from django.test import override_settings

from ratewindow.counting import minutes, sums
from ratewindow.counting.counters import Counters, counters
from ratewindow.counting.sheets import ALL
from ratewindow.counting.sums import Sums
from ratewindow.limiter.types import RuleDecision
from ratewindow.store import process_clients, state_keys
from tests.support.doors import decorated, statuses
from tests.support.made_counts import NOW_MINUTE, NOW_S, decision


class Clock:
    def __init__(self):
        self.now_s = NOW_S

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def process(clock):
    return Counters(clock)


def of_rules(counted):
    return {rule: sums for rule, sums in counted.items() if rule != ALL}


def in_redis(ago=0):
    return of_rules(minutes.read([NOW_MINUTE - ago])[NOW_MINUTE - ago])


def test_each_request_counts_once_in_all_requests_by_what_became_of_it(process):
    process.record([decision("login", "refused", "limit"), decision("api", "other")])
    process.record([decision("login"), decision("api"), decision("search", "would_refuse", "limit")])
    process.record([decision("api")])
    process.record([])
    whole = Sums(passed=2, refused=1, would_refuse=1, reasons={"limit": 1})
    assert process.held()[NOW_MINUTE][ALL] == whole
    process.flush()
    assert minutes.read([NOW_MINUTE])[NOW_MINUTE][ALL] == whole
    assert ALL not in minutes.read_who([NOW_MINUTE])[NOW_MINUTE]


def test_a_request_counts_once_for_each_rule_it_met(process):
    process.record([decision("login", "refused", "limit"), decision("api", "other")])
    process.record([decision("login"), decision("api"), decision("search", "would_refuse", "limit")])
    process.flush()
    assert in_redis() == {
        "login": Sums(passed=1, refused=1, reasons={"limit": 1}),
        "api": Sums(passed=1, other=1),
        "search": Sums(passed=1, would_refuse=1),
    }


def test_what_was_decided_without_the_store_is_counted_as_such_too(process):
    for outcome in ("passed", "refused"):
        process.record([replace(decision("login", outcome, "store"), cause="store:timeout")])
    process.flush()
    assert in_redis() == {"login": Sums(passed=1, refused=1, fallback=2, reasons={"store": 1, "store:timeout": 2})}


def test_refusals_are_counted_by_reason_and_what_failed_by_its_class(process):
    for reason in ("limit", "limit", "penalty", "block", "cost", "missing"):
        process.record([decision("login", "refused", reason)])
    process.record([RuleDecision(rule="login", reason="store", cause="store:timeout")])
    process.record([RuleDecision(False, rule="login", reason="limit", outcome="refused", cause="store:oom")])  # by its share
    process.record([decision("login", "would_refuse", "limit")])
    process.note("login", "function:cost")
    process.flush()
    told = {"limit": 3, "penalty": 1, "block": 1, "cost": 1, "missing": 1}
    told |= {"store:timeout": 1, "store:oom": 1, "function:cost": 1}
    assert in_redis()["login"].reasons == told
    assert in_redis()["login"].fallback == 2


def test_different_reasons_are_bounded(process):
    for number in range(sums.MOST_NAMES + 5):
        process.note("login", f"function:f{number}")
    process.flush()
    assert len(in_redis()["login"].reasons) == sums.MOST_NAMES


def test_how_long_the_store_took_is_counted_where_it_was_asked(process):
    for took_s in (0.000_1, 0.000_1, 0.05, 0.0):
        process.record([RuleDecision(rule="login", took_s=took_s)])
    process.flush()
    assert in_redis()["login"].latency == {"0.128": 2, "65.5": 1}


def test_a_decision_tells_how_long_it_took():
    statuses(decorated(False, "login", "5/m"), 2)
    ((_, told),) = counters.held().items()
    assert sum(told["login"].latency.values()) == 2


def test_sums_sent_twice_do_not_double(process):
    for _ in range(3):
        process.record([decision("login")])
        process.flush()
        process.flush()
    assert in_redis() == {"login": Sums(passed=3)}


def test_a_lost_answer_does_not_double_and_loses_nothing(process, monkeypatch):
    process.record([decision("login")])
    send = minutes.send

    def executed_but_not_heard(*arguments):
        send(*arguments)
        raise redis.TimeoutError

    monkeypatch.setattr(minutes, "send", executed_but_not_heard)
    with pytest.raises(redis.TimeoutError):
        process.flush()
    monkeypatch.setattr(minutes, "send", send)
    process.record([decision("login")])
    process.flush()
    assert in_redis() == {"login": Sums(passed=2)}


def test_an_outage_over_several_minutes_loses_nothing(process, clock, monkeypatch):
    def refuse(*arguments):
        raise redis.ConnectionError

    send = minutes.send
    monkeypatch.setattr(minutes, "send", refuse)
    for _ in range(3):
        process.record([decision("login")])
        with pytest.raises(redis.ConnectionError):
            process.flush()
        clock.now_s += 60
    monkeypatch.setattr(minutes, "send", send)
    process.flush()
    assert [in_redis(-later) for later in range(3)] == [{"login": Sums(passed=1)}] * 3


def test_processes_add_up(clock):
    for _ in range(3):
        process = Counters(clock)
        process.record([decision("login")])
        process.flush()
    assert in_redis() == {"login": Sums(passed=3)}


def test_nothing_is_sent_when_nothing_changed(process, redis_client):
    process.record([decision("login")])
    process.flush()
    before = redis_client.info("commandstats").get("cmdstat_hset", {}).get("calls")
    process.flush()
    assert redis_client.info("commandstats").get("cmdstat_hset", {}).get("calls") == before


def test_a_minute_that_is_over_and_sent_is_forgotten(process, clock):
    process.record([decision("login")])
    process.flush()
    assert of_rules(process.held()[NOW_MINUTE]) == {"login": Sums(passed=1)}
    clock.now_s += 60
    process.flush()
    assert process.held() == {}


def test_counts_for_a_forgotten_minute_are_added_to_it(process, clock):
    process.record([decision("login")])
    process.flush()
    clock.now_s += 60
    process.flush()
    clock.now_s -= 60  # the clock was set back
    process.record([decision("login")])
    process.flush()
    assert in_redis() == {"login": Sums(passed=2)}


def test_no_counting_key_is_without_expiry(process, redis_client):
    process.record([decision("login")])
    process.flush()
    keys = [state_keys.minute(NOW_MINUTE), state_keys.minutes()]
    assert all(0 < redis_client.ttl(key) <= minutes.UNCOLLECTED_S for key in keys)


def test_threads_lose_no_count(process):
    def work():
        for number in range(500):
            process.record([decision("login"), decision("api")])
            if number % 50 == 0:
                process.flush()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    process.flush()
    assert in_redis() == {"login": Sums(passed=4000), "api": Sums(passed=4000)}


def test_a_forked_process_counts_anew_and_sends_nothing_of_its_parent(clock, redis_client):
    counters._clock_s, before = clock, counters._clock_s
    try:
        counters.record([decision("login")])
        child = os.fork()
        if child == 0:
            try:
                process_clients.close()
                counters.record([decision("api")])
                counters.flush()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert in_redis() == {"api": Sums(passed=1)}
        counters.flush()
        assert in_redis() == {"login": Sums(passed=1), "api": Sums(passed=1)}
    finally:
        counters._clock_s = before


def test_too_many_rule_names_are_told_once_and_not_counted(process, caplog, monkeypatch):
    monkeypatch.setattr("ratewindow.counting.counters.MOST_RULES", 3)
    with caplog.at_level(logging.WARNING, "ratewindow"):
        for number in range(10):
            process.record([decision(f"rule-{number}")])
    assert sorted(process.held()[NOW_MINUTE]) == [ALL, "rule-0", "rule-1", "rule-2"]
    assert len(caplog.records) == 1


def test_a_very_long_outage_drops_the_oldest_minutes_and_says_so_once(process, clock, caplog, monkeypatch):
    monkeypatch.setattr("ratewindow.counting.counters.MOST_MINUTES", 3)
    with caplog.at_level(logging.WARNING, "ratewindow"):
        for _ in range(10):
            process.record([decision("login")])
            clock.now_s += 60
    assert list(process.held()) == [NOW_MINUTE + 7, NOW_MINUTE + 8, NOW_MINUTE + 9]
    assert len(caplog.records) == 1


def test_nothing_is_counted_where_counting_is_switched_off(process):
    process.record([decision("login")], stats=False)
    assert process.held() == {}


def test_in_memory_the_counts_stay_in_the_process(process, settings, redis_client):
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "memory://"}):
        process.record([decision("login")])
        process.flush()
        assert of_rules(process.held()[NOW_MINUTE]) == {"login": Sums(passed=1)}
    assert not redis_client.exists(state_keys.minutes())


def test_a_clock_that_is_behind_does_not_make_a_minute_look_abandoned(redis_client):
    minutes.send({NOW_MINUTE: {"p1|login": Sums(1)}}, NOW_S)
    minutes.send({NOW_MINUTE: {"p2|login": Sums(1)}}, NOW_S - 3600)
    assert redis_client.zscore(state_keys.minutes(), str(NOW_MINUTE)) == NOW_S


def test_foreign_fields_in_a_minute_are_passed_over(redis_client):
    redis_client.hset(
        state_keys.minute(NOW_MINUTE),
        mapping={"p|login": "[[1,0,0,0,0,0],{},{}]", "p|api": "many", "x": "[[1,1,1,1,1,1],{},{}]", "p|b": "[1,2]"},
    )
    assert in_redis() == {"login": Sums(passed=1)}
