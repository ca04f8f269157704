"""`manage.py ratewindow on`."""

import pytest

from tests.support.commands import define, from_me, run

pytestmark = pytest.mark.django_db(transaction=True)


def test_limits_hold_again() -> None:
    define("all", "1/h", applies_to="all")
    run("off")
    assert from_me(2) == [200, 200]
    assert run("on").startswith("Limits are on.")
    assert from_me(2) == [200, 429]
