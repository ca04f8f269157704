"""The owner is told of a login after many failures."""

from collections.abc import Iterator
from typing import Any

import pytest

from ratewindow.contrib.logins import suspicious_login
from ratewindow.models import RateRule
from ratewindow.rulebook import reading
from tests.contrib.logins.support.trying import PASSWORD, device, login, spend, stranger

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def told(checked: list[str]) -> Iterator[list[tuple[Any, int]]]:
    """The users and numbers of failures that receivers were told, where a name has fifty tries a day."""
    found: list[tuple[Any, int]] = []

    def note(sender: Any, user: Any, request: Any, failures: int, **_: Any) -> None:
        found.append((user, failures))

    RateRule.objects.filter(name="login.name").delete()
    of_strangers: Any = {"applies_to": "stranger", "count_when": "login_failed", "mode": "enforce"}
    RateRule.objects.define("login.name", "50/d", key="login", **of_strangers)
    reading.reload()
    suspicious_login.connect(note)
    yield found
    suspicious_login.disconnect(note)


def fail(count: int) -> None:
    for number in range(count):
        login("ann", "x", stranger(number))


def test_a_login_from_a_new_device_after_many_failures_is_told(told: list[Any], ann: Any) -> None:
    fail(7)
    assert login("ann", PASSWORD, stranger(9)).status_code == 302
    assert told == [(ann, 7)]


def test_few_failures_are_a_matter_of_course(told: list[Any], ann: Any) -> None:
    fail(4)
    assert login("ann", PASSWORD, stranger(9)).status_code == 302
    assert not told


def test_at_a_known_device_it_is_the_owner(told: list[Any], ann: Any) -> None:
    browser = device()
    fail(7)
    assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 302
    assert not told


def test_from_a_trusted_address_it_is_told_too(checked: list[str], ann: Any) -> None:
    """Whoever sits there may have guessed it: an address is no device."""
    found: list[int] = []

    def note(sender: Any, failures: int, **_: Any) -> None:
        found.append(failures)

    login("ann", PASSWORD, stranger(9))
    spend()
    suspicious_login.connect(note)
    assert login("ann", PASSWORD, stranger(9)).status_code == 302
    suspicious_login.disconnect(note)
    assert found == [5]


def test_a_receiver_that_fails_keeps_nobody_out(told: list[Any], ann: Any) -> None:
    def fails(sender: Any, **_: Any) -> None:
        raise ValueError("no mail server")

    suspicious_login.connect(fails)
    try:
        fail(7)
        assert login("ann", PASSWORD, stranger(9)).status_code == 302 and told
    finally:
        suspicious_login.disconnect(fails)
