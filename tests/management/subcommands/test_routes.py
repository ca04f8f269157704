"""`manage.py ratewindow rules --routes`."""

import pytest

from tests.support.commands import define, run

pytestmark = pytest.mark.django_db


def test_the_routes_are_listed_with_the_rules_that_meet_them() -> None:
    define("login", "5/m", path="/login/")
    define("seven", "5/m", path="/api/orders/7/")
    define("lost", "5/m", route="shop:cart")
    listed = [" ".join(line.split()) for line in run("rules", "--routes").splitlines()]
    assert listed[0] == "ROUTE PATH METHODS RULES"
    assert listed[2] == "admin:login /admin/login/ none: looks like a login"
    assert "login /login/ GET, POST, PUT login" in listed
    assert "order /api/orders/<int:number>/ perhaps seven" in listed
    assert "limited /limited/ demo.limited (in code)" in listed
    assert listed[-1].startswith("Rule 'lost' is for the route 'shop:cart', which the URLconf does not have.")
