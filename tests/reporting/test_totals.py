"""Totals in Redis grow by what processes count, once, and nothing lowers them."""

from types import SimpleNamespace

import pytest
import redis

from ratewindow.reporting import collecting, minutes, totals
from ratewindow.reporting.counters import Counters
from ratewindow.reporting.sums import Sums
from ratewindow.reporting.totals import Totals
from ratewindow.store import process_clients, state_keys
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


@pytest.mark.parametrize("key", ["totals", "minutes"])
def test_another_programs_value_under_a_key_is_replaced_and_nothing_counts_twice(
    process: Counters, redis_client: redis.Redis, key: str
) -> None:
    refuse(process)
    process.flush()
    name = getattr(state_keys, key)()
    redis_client.delete(name)
    redis_client.set(name, "foreign")
    refuse(process)
    process.flush()
    refuse(process)
    process.flush()
    assert read().numbers["refused"] == {"login": 3 if key == "minutes" else 2}


def test_odd_fields_are_left_out(redis_client: redis.Redis) -> None:
    odd = {
        "refused|": "1",
        "x|login": "1",
        "refused|a\x07b": "1",
        "passed|login": "many",
        "latency:9|": "1",
        "reason:limit|": "2",
    }
    redis_client.hset(state_keys.totals(), mapping={**odd, "refused|login": "7", "latency:0.181|": "3"})
    found = read()
    assert found.numbers["refused"] == {"login": 7} and not found.numbers["passed"] and not found.reasons
    assert found.latency == {"0.181": 3}


def test_the_totals_of_a_process_have_the_minutes_that_it_has_dropped(process: Counters, clock: SimpleNamespace) -> None:
    for _ in range(3):
        refuse(process)
        process.flush()
        clock.now_s += 61
    assert process.since_start() == {"login": Sums(refused=3, reasons={"limit": 3})}
    assert totals.of_process(process.since_start()).numbers["refused"] == {"login": 3}


class TestNamesMadeOfWhatClientsSend:
    def test_once_the_hash_is_full_new_ones_count_together_and_known_ones_as_before(
        self, process: Counters, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        refuse(process)
        process.flush()
        monkeypatch.setattr(totals, "MOST_FIELDS", redis_client.hlen(state_keys.totals()))
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
        assert redis_client.hlen(state_keys.totals()) <= 501 and found[totals.OTHERS] >= 1500

    def test_a_process_keeps_as_many_of_minutes_that_are_over(
        self, process: Counters, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(totals, "MOST_NAMES", 50)
        for minute in range(10):
            process.record([decision(f"user-{minute}-{number}") for number in range(20)])
            process.flush()
            clock.now_s += 61
        found = totals.of_process(process.since_start()).numbers["passed"]
        assert sum(found.values()) == 200 and len(found) <= 50 + 1 + 20  # and those of the minute that is open
