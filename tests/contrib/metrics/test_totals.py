"""Totals in Redis grow by what processes count, once, and nothing lowers them."""

from types import SimpleNamespace

import pytest
import redis

from ratewindow.contrib.metrics import totals
from ratewindow.contrib.metrics.totals import Totals
from ratewindow.counting import collecting, minutes
from ratewindow.counting.counters import Counters
from ratewindow.counting.sums import Sums
from ratewindow.store import process_clients
from tests.support.made_counts import NOW_S, decision


@pytest.fixture
def clock() -> SimpleNamespace:
    return SimpleNamespace(now_s=NOW_S)


@pytest.fixture
def process(clock: SimpleNamespace) -> Counters:
    return Counters(lambda: clock.now_s)


def read() -> Totals:
    return totals.read(process_clients.patient_client())


def refuse(process: Counters, times: int = 1) -> None:
    process.record([decision("login", "refused", "limit")] * times)


def test_processes_and_minutes_add_up(process: Counters, clock: SimpleNamespace) -> None:
    for other in (process, Counters(lambda: clock.now_s)):
        for _ in range(3):
            refuse(other, 2)
            other.record([decision("search"), decision("login", "would_refuse")])
            other.flush()
            clock.now_s += 61
    found = read()
    assert found.numbers["refused"] == {"login": 12}
    assert found.numbers["passed"] == {"search": 6, "login": 6}
    assert found.numbers["would_refuse"] == {"login": 6}
    assert found.reasons == {("login", "limit"): 12}


def test_a_lost_answer_counts_once(process: Counters, monkeypatch: pytest.MonkeyPatch) -> None:
    send = minutes.send

    def executed_but_not_heard(*arguments: object) -> None:
        send(*arguments)  # type: ignore[arg-type]
        raise redis.TimeoutError

    refuse(process)
    monkeypatch.setattr(minutes, "send", executed_but_not_heard)
    with pytest.raises(redis.TimeoutError):
        process.flush()
    monkeypatch.setattr(minutes, "send", send)
    refuse(process)
    process.flush()
    process.flush()
    assert read().numbers["refused"] == {"login": 2}


@pytest.mark.django_db
def test_collecting_and_deleting_rows_lowers_nothing(process: Counters, clock: SimpleNamespace) -> None:
    refuse(process)
    process.flush()
    collecting.collect_stats(NOW_S)
    collecting.collect_stats(NOW_S + 3 * 365 * 86_400)
    clock.now_s += 7 * 3600
    refuse(process)
    process.flush()
    assert read().numbers["refused"] == {"login": 2}


def test_a_field_of_another_program_hides_none_of_the_others(redis_client: redis.Redis) -> None:
    odd = {"passed|login": "many", "reason:limit|login": "-1", b"\xff|login": "x"}
    redis_client.hset(totals.key(), mapping={**odd, "refused|login": "7", "latency:0.181|": "3"})
    found = read()
    assert found.numbers["refused"] == {"login": 7} and not found.numbers["passed"] and not found.reasons
    assert found.latency == {"0.181": 3}


def test_the_totals_of_a_process_have_the_minutes_that_it_has_dropped(process: Counters, clock: SimpleNamespace) -> None:
    for _ in range(3):
        refuse(process)
        process.flush()
        clock.now_s += 61
    assert process.since_start()["login"] == Sums(refused=3, reasons={"limit": 3})
    assert totals.of_process(process.since_start()).counts().keys() == {"login"}
    assert totals.of_process(process.since_start()).numbers["refused"] == {"login": 3}


class TestNamesMadeOfWhatClientsSend:
    def test_once_the_hash_is_full_new_ones_count_together_and_known_ones_as_before(
        self, process: Counters, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        refuse(process)
        process.flush()
        monkeypatch.setattr(totals, "MOST_FIELDS", redis_client.hlen(totals.key()))
        for number in range(300):
            process.record([decision(f"user-{number}"), decision(f"user-{number}", "refused", "limit")])
        refuse(process, 4)
        process.record([decision("login", "refused", "penalty")])
        process.flush()
        found = read()
        assert found.numbers["refused"] == {"login": 6, totals.OTHERS: 300}
        assert found.numbers["passed"] == {totals.OTHERS: 300}
        assert found.reasons == {("login", "limit"): 5, ("login", "penalty"): 1, (totals.OTHERS, "limit"): 300}

    def test_the_hash_stays_bounded_and_the_sum_is_all_that_was_counted(
        self, process: Counters, clock: SimpleNamespace, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(totals, "MOST_FIELDS", 500)
        for minute in range(10):
            process.record([decision(f"user-{minute}-{number}") for number in range(200)])
            process.flush()
            clock.now_s += 61
        found = read().numbers["passed"]
        assert sum(found.values()) == 2000
        assert redis_client.hlen(totals.key()) <= 501 and found[totals.OTHERS] >= 1500

    def test_a_process_keeps_as_many_of_minutes_that_are_over(
        self, process: Counters, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ratewindow.counting.counters.MOST_GONE", 50)
        for minute in range(10):
            process.record([decision(f"user-{minute}-{number}") for number in range(20)])
            process.flush()
            clock.now_s += 61
        found = totals.of_process(process.since_start()).numbers["passed"]
        assert sum(found.values()) == 200 and len(found) <= 60 + 1 + 20  # of whole minutes, and of the one that is open
