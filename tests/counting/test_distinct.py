"""How many different clients there were, within the stated error."""

import random

import pytest

from ratewindow.counting.sums import ERROR, REGISTERS, Distinct, at_least, estimate, is_registers, united
from ratewindow.store.state_keys import client_tag


def of(identities):
    found = Distinct()
    for identity in identities:
        found.add(client_tag(identity))
    return found.frozen()


@pytest.mark.parametrize("clients", [1, 9, 100, 1000, 100_000])
def test_the_estimate_is_within_three_standard_errors(clients):
    registers = of(f"ip:client-{number}" for number in range(clients))
    assert abs(estimate(registers) - clients) <= max(1, 3 * ERROR * clients)
    assert at_least(registers) <= clients
    assert is_registers(registers) and len(registers) == REGISTERS


def test_a_client_that_comes_again_is_not_another_one():
    assert of(["ip:a", "ip:b"] * 50) == of(["ip:a", "ip:b"])


def test_registers_of_two_processes_are_those_of_one_that_has_seen_all():
    names = [f"user:{number}" for number in range(3000)]
    random.Random(1).shuffle(names)
    assert united(of(names[:2000]), of(names[1500:])) == of(names)
    assert united("", of(names)) == united(of(names), "") == of(names)


def test_without_registers_there_was_nobody():
    assert at_least("") == 0


def test_at_least_has_two_digits():
    assert str(at_least(of(f"ip:{number}" for number in range(20_000)))).endswith("000")


@pytest.mark.parametrize("value", [None, 5, "x", "0" * 255, "\x00" * 256, "z" * 256, ["0"] * 256])
def test_what_no_process_has_sent_is_none(value):
    assert not is_registers(value)
