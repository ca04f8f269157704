"""A rule as a frozen value: for whom it is enforced."""

import pytest

from ratewindow.limiter.rates import parse_rates
from ratewindow.rules.rule import Rule
from ratewindow.store import state_keys

CLIENTS = [state_keys.client_tag(f"ip:10.{number // 65536}.{number // 256 % 256}.{number % 256}") for number in range(10_000)]


def enforced(percent: int, name: str = "login", mode: str = "enforce") -> set[str]:
    rule = Rule(name, parse_rates("5/m"), mode=mode, enforce_percent=percent)
    return {client for client in CLIENTS if rule.enforces(client)}


@pytest.mark.parametrize("percent", [1, 10, 50, 99])
def test_so_many_of_a_hundred_clients_are_enforced_and_always_the_same(percent: int) -> None:
    share = enforced(percent)
    assert abs(len(share) - 100 * percent) < 200  # four standard deviations of the widest
    assert share == enforced(percent)


def test_who_is_among_the_first_ten_stays_when_it_becomes_twenty() -> None:
    assert enforced(10) < enforced(20) < enforced(100) == set(CLIENTS)


def test_another_rule_begins_with_other_clients() -> None:
    assert len(enforced(10, "login") & enforced(10, "search")) < 200  # a hundred by chance


@pytest.mark.parametrize("mode", ["shadow", "off"])
def test_a_rule_that_is_not_enforced_is_so_for_nobody(mode: str) -> None:
    assert enforced(100, mode=mode) == enforced(50, mode=mode) == set()
