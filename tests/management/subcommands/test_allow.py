"""`manage.py ratewindow allow`."""

import pytest

from tests.support.commands import define, from_me, run

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_exemption_holds_until_somebody_releases_it() -> None:
    define("login", "0/m", applies_to="all")
    assert run("allow", "ip:203.0.113.9", "--rule", "login") == (
        "Exempted ip:203.0.113.9 from rule login, until somebody ends it."
    )
    assert from_me(2) == [200, 200]
