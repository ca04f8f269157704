"""The requests of each client: its peak, against windows that are counted one by one, and what it asked for."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from ratewindow.contrib.backtest import clients as clients_module
from ratewindow.contrib.backtest.clients import Clients, fullest, refused
from ratewindow.contrib.backtest.logs.entry import Entry
from ratewindow.limiter import Limiter, MemoryStore, Window


def request(status: int = 200, **more: Any) -> Entry:
    return Entry(0.0, "a", "GET", "/", status, **more)


def fullest_window(times: Sequence[int], period_ms: int) -> int:
    return max(sum(at_ms > end_ms - period_ms for at_ms in times[:number]) for number, end_ms in enumerate(times, 1))


def refused_by_the_engine(times: Sequence[int], period_ms: int, limit: int) -> int:
    now = [0]
    limiter = Limiter(MemoryStore(), clock_ms=lambda: now[0])
    count = 0
    for now[0] in times:
        count += not limiter.hit("ip:a", [Window(limit, period_ms, "sliding_log")]).allowed
    return count


def some_times(seed: int) -> tuple[list[int], int]:
    chance = random.Random(seed)
    period_ms, at_ms, times = chance.choice([1, 7, 50, 1000]), 1_700_000_000_000, []
    for _ in range(chance.randint(1, 90)):
        at_ms += chance.choice([0, 0, 1, 2, 5, 30, period_ms // 2, period_ms - 1, period_ms, period_ms + 1])
        times.append(at_ms)
    return times, period_ms


@pytest.mark.parametrize("seed", range(40))
def test_the_peak_is_that_of_the_fullest_window(seed: int) -> None:
    times, period_ms = some_times(seed)
    assert fullest(times, period_ms) == fullest_window(times, period_ms)


@pytest.mark.parametrize("seed", range(20))
def test_each_limit_below_the_peak_refuses_what_the_engine_refuses(seed: int) -> None:
    times, period_ms = some_times(seed)
    for limit in range(1, fullest(times, period_ms) + 1):
        assert refused(times, period_ms, limit) == refused_by_the_engine(times, period_ms, limit)


def test_a_window_begins_one_period_before_its_end() -> None:
    assert fullest([0, 1000], 1000) == 1
    assert fullest([0, 999], 1000) == 2


def test_both_times_of_a_request_are_kept() -> None:
    clients = Clients(2)
    for times_ms in ((1000, 1000), (1000, 1500), (2000, 2000)):
        clients.add("ip:a", times_ms, request())
    assert [[*times_ms] for times_ms in clients.times_ms("ip:a")] == [[1000, 1000, 2000], [1000, 1500, 2000]]
    assert (len(clients), clients.total, len(clients.kinds("ip:a"))) == (1, 3, 3)


@pytest.mark.parametrize(
    ("requests", "innocent"),
    [
        ([request(200), request(302), request(101)], True),
        ([request(200), request(404)], False),
        ([request(0)], False),  # the log does not say
        ([request(403, user="ann"), request(200, user="ann"), request(401)], True),
        ([request(401), request(401), request(200, user="ann")], False),
    ],
)
def test_who_is_likely_innocent(requests: Sequence[Entry], innocent: bool) -> None:
    clients = Clients(1)
    for number, each in enumerate(requests):
        clients.add("ip:a", (number,), each)
    assert next(clients.peaks(1000, 1, lambda status: True)).likely_innocent is innocent


def test_what_a_rule_does_not_count_is_in_no_peak() -> None:
    clients = Clients(1)
    for number in range(10):
        clients.add("ip:a", (number,), request(401 if number % 2 else 200))
        clients.add("ip:b", (number,), request(200))
    [peak] = clients.peaks(1000, 3, lambda status: status == 401)
    assert (peak.client, peak.peak, peak.requests, [*peak.times_ms]) == ("ip:a", 15, 5, [1, 3, 5, 7, 9])


def test_what_a_client_asked_for_is_counted_without_queries() -> None:
    clients = Clients(1)
    for number in range(9):
        clients.add(
            "ip:a", (number,), Entry(0.0, "a", "POST", f"/{number // 3}/?secret={number}", 200 + number % 2, agent="curl")
        )
    sample = clients.sample("ip:a")
    assert sample.paths == {"POST /0/": 3, "POST /1/": 3, "POST /2/": 3}
    assert (sample.statuses, sample.agents) == ({200: 5, 201: 4}, {"curl": 9})


def test_of_more_kinds_of_requests_than_are_told_apart_the_statuses_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients_module, "MOST_KINDS", 5)
    clients = Clients(1)
    for number in range(20):
        clients.add("ip:a", (number,), Entry(0.0, "a", "GET", f"/{number}", 404))
    sample = clients.sample("ip:a")
    assert (len(sample.paths), sample.statuses) == (5, {404: 20})
    assert len(clients._numbers) == 6
