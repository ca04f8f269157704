"""`manage.py ratewindow block`."""

import pytest

from ratewindow.models import Override
from tests.support.commands import define, from_me, run

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_block_holds_and_says_until_when() -> None:
    told = run("block", "ip:203.0.113.9/24", "--for", "1h", "--reason", "scraping")
    assert told.startswith("Blocked ip:203.0.113.0/24, until 20")
    assert from_me(1) == [429]
    made = Override.objects.get()
    assert (made.action, made.source, made.reason, made.created_by) == ("block", "command", "scraping", None)


def test_everybody_can_be_blocked_from_one_rule_for_a_while() -> None:
    define("signup", "9/m", applies_to="all")
    run("block", "*", "--rule", "signup", "--for", "1h")
    assert from_me(1) == [429]
