"""Each client's peak in sliding windows, against windows that are counted one by one."""

import random
from collections.abc import Sequence
from copy import deepcopy

import pytest

from ratewindow.limiter import Limiter, MemoryStore, Window
from ratewindow.operations.backtest import peaks as peaks_module
from ratewindow.operations.backtest.peaks import ClientPeak, Peaks
from ratewindow.operations.backtest.tried_limits import LIMITS

DAY_MS = 86_400_000
Requests = Sequence[tuple[int, int]]  # time, cost


def peak_of(requests: Requests, period_ms: int, **more: object) -> ClientPeak:
    peaks = Peaks(period_ms)
    for at_ms, cost in requests:
        peaks.add("ip:a", at_ms, cost, status=200)
    return next(peaks.taken_clients())


def fullest_window(requests: Requests, period_ms: int) -> int:
    return max(
        sum(cost for at_ms, cost in requests[: number + 1] if at_ms > end_ms - period_ms)
        for number, (end_ms, _) in enumerate(requests)
    )


def refused_by_the_engine(requests: Requests, period_ms: int, limit: int) -> int:
    now = [0]
    limiter = Limiter(MemoryStore(), clock_ms=lambda: now[0])
    refused = 0
    for now[0], cost in requests:
        refused += not limiter.hit("ip:a", [Window(limit, period_ms, "sliding_log")], cost=cost).allowed
    return refused


def some_requests(seed: int) -> tuple[list[tuple[int, int]], int]:
    chance = random.Random(seed)
    period_ms, at_ms, requests = chance.choice([1, 7, 50, 1000]), 1_700_000_000_000, []
    for _ in range(chance.randint(1, 90)):
        at_ms += chance.choice([0, 0, 1, 2, 5, 30, period_ms // 2, period_ms - 1, period_ms, period_ms + 1])
        requests.append((at_ms, chance.choice([1, 1, 2, 5]) if seed % 2 else 1))
    return requests, period_ms


@pytest.mark.parametrize("seed", range(60))
def test_the_peak_is_that_of_the_fullest_window(seed: int) -> None:
    requests, period_ms = some_requests(seed)
    assert peak_of(requests, period_ms).peak == fullest_window(requests, period_ms)


@pytest.mark.parametrize("seed", range(30))
def test_each_limit_below_the_peak_refuses_what_the_engine_refuses(seed: int) -> None:
    requests, period_ms = some_requests(seed)
    found = peak_of(requests, period_ms)
    limits = [limit for limit in LIMITS if limit < found.peak]
    assert found.refused == tuple(refused_by_the_engine(requests, period_ms, limit) for limit in limits)


def test_a_window_begins_one_period_before_its_end() -> None:
    assert peak_of([(0, 1), (1000, 1)], 1000).peak == 1
    assert peak_of([(0, 1), (999, 1)], 1000).peak == 2


def test_a_clock_that_goes_back_stands_still() -> None:
    assert peak_of([(1000, 1), (400, 1), (1999, 1), (2000, 1)], 1000).peak == 3


def test_times_beyond_the_bound_are_joined_and_the_peak_is_that_of_a_window_a_little_longer() -> None:
    chance = random.Random(1)
    requests = [(at_ms, 1) for at_ms in sorted(chance.sample(range(4 * DAY_MS), 24_000))]
    at_most_longer_ms = DAY_MS // 2048
    found = peak_of(requests, DAY_MS).peak
    times = [at_ms for at_ms, _ in requests]
    assert busiest(times, DAY_MS) <= found <= busiest(times, DAY_MS + at_most_longer_ms)


def busiest(times: Sequence[int], period_ms: int) -> int:
    first, most = 0, 0
    for number, at_ms in enumerate(times):
        while times[first] <= at_ms - period_ms:
            first += 1
        most = max(most, number - first + 1)
    return most


def test_a_client_never_keeps_more_times_than_the_bound() -> None:
    peaks = Peaks(DAY_MS)
    for number in range(20_000):
        peaks.add("ip:a", number * 1000)
    assert len(peaks._clients["ip:a"].times) <= 2 * peaks_module.MOST_TIMES


def test_each_half_has_its_own_peak() -> None:
    peaks = Peaks(60_000)
    for hour in range(48):
        for number in range(10 if hour < 24 else 3):
            peaks.add("ip:steady", hour * 3_600_000 + number, status=200)
        if hour >= 30:
            peaks.add("ip:late", hour * 3_600_000 + 5000, status=200)
    steady, late = peaks.taken_clients(0, 2 * DAY_MS)
    assert (steady.first_half, steady.second_half) == (10, 3)
    assert (late.first_half, late.second_half) == (0, 1)


@pytest.mark.parametrize("seed", range(20))
def test_halves_are_those_of_all_requests_wherever_the_middle_is(seed: int) -> None:
    """By windows that are counted one by one; the middle is that of a span, of which the time has 32 to 64."""
    chance, requests, peaks = random.Random(seed), [(0, 1)], Peaks(300_000)
    for _ in range(150):
        after_ms = chance.choice([0, 299_999, 300_000, chance.randrange(2, 20_000_000)])
        requests.append((requests[-1][0] + after_ms, chance.randint(1, 9)))
    for at_ms, cost in requests:
        peaks.add("ip:a", at_ms, cost)
    used = []
    for number, (end_ms, _) in enumerate(requests, 1):
        used.append(sum(cost for at_ms, cost in requests[:number] if at_ms > end_ms - 300_000))
    times = [at_ms for at_ms, _ in requests]
    span_ms = 60_000
    while times[-1] >= 64 * span_ms:
        span_ms *= 2
    for end_ms in range(0, 2 * times[-1] + 4 * span_ms, span_ms):
        middle_ms = round(end_ms / 2 / span_ms) * span_ms
        halves: tuple[list[int], list[int]] = ([], [])
        for at_ms, units in zip(times, used, strict=True):
            halves[at_ms >= middle_ms].append(units)
        [found] = deepcopy(peaks).taken_clients(0, end_ms)
        assert (found.first_half, found.second_half) == tuple(max(half, default=0) for half in halves)


def test_halves_are_those_of_the_whole_log_and_not_of_the_requests_of_one_rule() -> None:
    peaks = Peaks(60_000)
    for hour in (30, 35):
        peaks.add("ip:a", hour * 3_600_000)
    [whole], [own] = deepcopy(peaks).taken_clients(0, 2 * DAY_MS), peaks.taken_clients()
    assert (whole.first_half, whole.second_half) == (0, 1)
    assert (own.first_half, own.second_half) == (1, 1)


@pytest.mark.parametrize(
    ("requests", "innocent"),
    [
        ([{"status": 200}, {"status": 302}, {"status": 101}], True),
        ([{"status": 200}, {"status": 404}], False),
        ([{"status": 0}], False),  # the log does not say
        ([{"status": 403, "signed_in": True}, {"status": 200, "signed_in": True}, {"status": 401}], True),
        ([{"status": 401}, {"status": 401}, {"status": 200, "signed_in": True}], False),
        ([{"status": 500, "never": True}, {"status": 404}], True),
    ],
)
def test_who_is_likely_innocent(requests: list[dict[str, int]], innocent: bool) -> None:
    peaks = Peaks(1000)
    for number, request in enumerate(requests):
        peaks.add("ip:a", number, **request)
    assert next(peaks.taken_clients()).likely_innocent is innocent


def test_only_clients_with_the_highest_peaks_have_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peaks_module, "MOST_SAMPLED", 5)
    peaks = Peaks(60_000)
    for number in range(200):
        for at_ms in range(number % 20 + 1):
            peaks.add(f"ip:{number}", number * 1000 + at_ms, status=200, target=f"/{number}?secret=1", method="GET", agent="curl")
    sampled = [client for client in peaks.taken_clients() if client.did is not None]
    assert 5 <= len(sampled) <= 10
    highest = max(sampled, key=lambda client: client.peak)
    assert highest.peak == 20
    assert highest.did is not None
    assert [*highest.did.paths] == [f"GET /{highest.client.removeprefix('ip:')}"]
    assert {*highest.did.statuses} == {200}
    assert {*highest.did.agents} == {"curl"}


def test_a_client_that_has_gone_quiet_keeps_no_times_and_no_limits_and_goes_on_as_it_would_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peaks_module, "LEAST_SWEEP", 50)
    swept, plain = Peaks(60_000), Peaks(60_000)
    plain._until_sweep = 10**9
    for hour in (0, 1):
        for number in range(40):
            for peaks in (swept, plain):
                peaks.add("ip:busy", 3_600_000 * hour + number)
        for number in range(100):
            for peaks in (swept, plain):
                peaks.add(f"ip:{number}", 3_600_000 * hour + 120_000 + 1000 * number)
    busy = swept._clients["ip:busy"]
    assert not busy.times and busy.tried is not None and not busy.tried._admitted
    assert sum(bool(each.times) for each in swept._clients.values()) <= 100
    assert [*swept.taken_clients()] == [*plain.taken_clients()]
