"""The suggested limit, on seeded mixtures of ordinary clients and attackers, and why there is none."""

import math
import random
from collections.abc import Callable

import pytest

from ratewindow.contrib.backtest.clients import ClientPeak
from ratewindow.contrib.backtest.curve import Suggestion, round_limits, suggest
from ratewindow.limiter.rates import parse_rates

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
TOO_SHORT = "takes a log of at least"
Draw = Callable[[random.Random], float]

# Peaks of ordinary clients: some alike, some with a long tail, as on a site with a few heavy users.
CROWDS: dict[str, Draw] = {
    "alike": lambda chance: 1,
    "few": lambda chance: 1 + min(6, chance.expovariate(0.7)),
    "bell": lambda chance: chance.gauss(20, 5),
    "exponential": lambda chance: 1 + chance.expovariate(0.1),
    "lognormal": lambda chance: chance.lognormvariate(3, 0.5),
    "long tail": lambda chance: chance.lognormvariate(2, 1),
}


def crowd(chance: random.Random, draw: Draw, clients: int, with_errors: float = 0.0) -> list[ClientPeak]:
    """Ordinary clients; a share `with_errors` of them has met a 404, and so is not likely innocent."""
    made = []
    for number in range(clients):
        peak = max(1, int(draw(chance)), int(draw(chance)))
        made.append(ClientPeak(f"ip:{number}", peak, peak, chance.random() >= with_errors))
    return made


def ordinary(clients: list[ClientPeak]) -> int:
    peaks = sorted(each.peak for each in clients if each.likely_innocent)
    return peaks[math.ceil(0.999 * len(peaks)) - 1]


def attacker(peak: int, name: str = "ip:attacker") -> ClientPeak:
    return ClientPeak(name, peak, peak, False)


def innocent_caught(found: Suggestion, clients: list[ClientPeak]) -> int:
    assert found.limit is not None
    return sum(each.peak > found.limit for each in clients if each.likely_innocent)


@pytest.mark.parametrize("clients", [220, 800])
@pytest.mark.parametrize("name", CROWDS)
def test_an_attacker_at_three_times_what_is_ordinary_is_separated(name: str, clients: int) -> None:
    for seed in range(20):
        chance = random.Random(seed)
        mixture = crowd(chance, CROWDS[name], clients, with_errors=0.2)
        peak = max(3, 3 * ordinary(mixture))
        mixture.append(attacker(peak))
        found = suggest(mixture, MINUTE_MS, DAY_MS)
        assert found.limit is not None
        assert found.limit < peak, seed
        assert not innocent_caught(found, mixture), seed


@pytest.mark.parametrize("name", ["bell", "exponential", "lognormal"])
def test_of_many_clients_some_are_above_the_percentile_and_none_of_them_is_caught(name: str) -> None:
    for seed in range(5):
        mixture = crowd(random.Random(seed), CROWDS[name], 5000)
        peak = 3 * ordinary(mixture)
        mixture.append(attacker(peak))
        found = suggest(mixture, MINUTE_MS, DAY_MS)
        assert found.limit is not None
        assert found.limit < peak
        assert not innocent_caught(found, mixture)


def test_a_second_attacker_far_above_does_not_lift_the_limit_above_the_first() -> None:
    mixture = crowd(random.Random(1), CROWDS["bell"], 300)
    first = 3 * ordinary(mixture)
    found = suggest([*mixture, attacker(first), attacker(100 * first, "ip:other")], MINUTE_MS, DAY_MS)
    assert found.limit is not None
    assert found.limit < first
    assert "2 clients take" in found.reason


def test_robots_with_errors_at_all_heights_do_not_hide_an_attacker() -> None:
    for seed in range(20):
        chance = random.Random(seed)
        mixture = crowd(chance, CROWDS["lognormal"], 600)
        level = ordinary(mixture)
        mixture += [attacker(int(level * chance.uniform(0.2, 40)), f"ip:robot-{number}") for number in range(5)]
        mixture.append(attacker(3 * level))
        found = suggest(mixture, MINUTE_MS, DAY_MS)
        assert found.limit is not None
        assert found.limit < 3 * level
        assert not innocent_caught(found, mixture)


def test_an_office_behind_one_address_below_an_attacker_is_not_caught() -> None:
    for seed in range(20):
        mixture = crowd(random.Random(seed), CROWDS["bell"], 400)
        level = ordinary(mixture)
        office = ClientPeak("ip:office", int(2.4 * level), 9000, True)
        mixture += [office, attacker(3 * level)]
        found = suggest(mixture, MINUTE_MS, DAY_MS)
        assert found.limit is not None
        assert office.peak <= found.limit < 3 * level


def test_an_innocent_client_far_above_few_others_is_not_caught() -> None:
    mixture = [*crowd(random.Random(1), CROWDS["bell"], 400), ClientPeak("ip:office", 4000, 9000, True)]
    assert (suggest(mixture, MINUTE_MS, DAY_MS).limit or 0) >= 4000


def test_of_more_than_a_thousand_one_far_above_all_others_is_caught_and_the_reason_says_so() -> None:
    mixture = [*crowd(random.Random(1), CROWDS["bell"], 2000), ClientPeak("ip:crawler", 4000, 9000, True)]
    found = suggest(mixture, MINUTE_MS, DAY_MS)
    assert found.limit is not None
    assert found.limit < 200
    assert "lies in a gap: 1 client takes 4,000 or more, 1 of these likely innocent, and all others take at most" in found.reason


def test_without_anybody_apart_the_percentile_has_headroom_and_nobody_is_caught() -> None:
    for seed in range(20):
        mixture = crowd(random.Random(seed), CROWDS["bell"], 1500)
        found = suggest(mixture, MINUTE_MS, DAY_MS)
        assert found.limit is not None
        assert not innocent_caught(found, mixture)
        assert found.limit <= 3 * ordinary(mixture)
        assert "No client stands apart" in found.reason or "lies in a gap" in found.reason


@pytest.mark.parametrize("below", [1, 2, 7, 33, 480, 9000])
def test_the_limit_is_a_number_that_people_write(below: int) -> None:
    mixture = [ClientPeak(f"ip:{number}", below, below, True) for number in range(300)]
    found = suggest([*mixture, attacker(4 * below)], MINUTE_MS, DAY_MS)
    assert found.limit in round_limits(20_000)
    assert below <= found.limit < 4 * below


def test_neighbours_have_a_limit_between_them() -> None:
    mixture = [ClientPeak(f"ip:{number}", 1, 1, True) for number in range(300)]
    assert suggest([*mixture, attacker(2)], MINUTE_MS, DAY_MS).limit == 1


@pytest.mark.parametrize("seed", range(20))
def test_a_small_log_is_refused_with_a_reason(seed: int) -> None:
    chance = random.Random(seed)
    is_short = seed % 2
    clients = chance.randint(200, 500) if is_short else chance.randint(1, 199)
    span_ms = chance.randrange(DAY_MS - HOUR_MS) if is_short else 2 * DAY_MS
    found = suggest([*crowd(chance, CROWDS["bell"], clients - 1), attacker(900)], MINUTE_MS, span_ms)
    assert (found.limit, found.rate) == (None, "")
    assert (TOO_SHORT if is_short else "200 clients or more") in found.reason


def test_a_daily_file_is_a_day() -> None:
    mixture = [*crowd(random.Random(1), CROWDS["bell"], 300), attacker(900)]
    assert suggest(mixture, MINUTE_MS, DAY_MS - MINUTE_MS).limit is not None


def test_a_period_of_a_day_takes_two_days() -> None:
    mixture = [*crowd(random.Random(1), CROWDS["bell"], 300), attacker(900)]
    assert TOO_SHORT in suggest(mixture, DAY_MS, DAY_MS).reason
    assert suggest(mixture, DAY_MS, 2 * DAY_MS).rate.endswith("/d")


def test_a_period_below_a_second_takes_finer_times() -> None:
    mixture = [*crowd(random.Random(1), CROWDS["few"], 300), attacker(900)]
    assert "times as fine" in suggest(mixture, 100, DAY_MS, whole_seconds=True).reason
    assert suggest(mixture, 100, DAY_MS).rate.endswith("/100ms")


def test_without_likely_innocent_clients_nothing_says_what_is_ordinary() -> None:
    found = suggest(crowd(random.Random(1), CROWDS["bell"], 300, with_errors=1), MINUTE_MS, DAY_MS)
    assert "100 of them likely innocent" in found.reason


def test_the_rate_is_one_that_rules_take() -> None:
    found = suggest([*crowd(random.Random(1), CROWDS["bell"], 300), attacker(900)], 2 * HOUR_MS, DAY_MS)
    [window] = parse_rates(found.rate)
    assert (window.limit, window.period_ms) == (found.limit, 2 * HOUR_MS)
