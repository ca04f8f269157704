"""The decorators of django-ratelimit as shadow rules."""

import pytest

from ratewindow.contrib.moving.importers import django_ratelimit
from tests.support.other_limits import found_by, rule

pytestmark = pytest.mark.django_db


def test_each_decorator_is_a_shadow_rule_that_counts_the_same() -> None:
    rules, found = found_by(django_ratelimit)
    unsafe = "DELETE,PATCH,POST,PUT"
    fixed = {"algorithm": "fixed_window"}
    assert rules == {
        "login": rule("login", ("route", "login"), "ip", "5/60s", methods=unsafe, **fixed),
        "prices": rule("prices", ("route", "prices"), "header:X-Api-Key", "10/1s", methods="GET", **fixed),
        "class": rule("class", ("path", "/whole/"), "user_or_ip", "7/30s", **fixed),
        "slow.login": rule("slow.login", ("route", "login"), "post:username", "100/7200s", **fixed),
        "slow.other": rule("slow.other", ("route", "other"), "post:username", "100/7200s", **fixed),
        "several": rule("several", ("route", "several"), "ip", "5/60s", **fixed),
        "with-key": rule("with-key", ("route", "with-key"), "ip", "20/60s", **fixed),
        "with-other-key": rule("with-other-key", ("route", "with-other-key"), "user", "20/60s", **fixed),
    }
    assert ("slow.other", "slow counts 2 places together, and this rule counts its own alone.") in found.notes
    assert ("prices", "there all clients without it share one count; here each counts by its address.") in found.notes


@pytest.mark.parametrize("rate", [(5, 60, 1), ("5", "m"), (5, "m"), [], (2.5, 60), None, "often"])
def test_what_is_no_rate_is_a_reason(rate: object) -> None:
    with pytest.raises(ValueError, match="no rate that can be read"):
        django_ratelimit._rate(rate)


def test_a_rate_of_a_limit_and_seconds() -> None:
    assert django_ratelimit._rate((5, 60)) == "5/60s"


def test_what_no_rule_can_do_is_said_with_a_reason() -> None:
    _, found = found_by(django_ratelimit)
    by_function, any_rate, items = found.left_out
    assert by_function.startswith("tests.support.other_limits_urls.by_function: a function makes its key.")
    assert any_rate.startswith("tests.support.other_limits_urls.any_rate: a function makes its rate")
    assert items.startswith("items: no rule can say where it applies: give its URL a name")
