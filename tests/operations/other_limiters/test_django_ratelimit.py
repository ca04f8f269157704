"""The decorators of django-ratelimit as shadow rules."""

import re

import pytest

from ratewindow.operations.other_limiters import django_ratelimit
from tests.support.other_limits import found_by, rule

pytestmark = pytest.mark.django_db


def test_each_decorator_is_a_shadow_rule_that_counts_the_same() -> None:
    rules, found = found_by(django_ratelimit)
    unsafe = "DELETE,PATCH,POST,PUT"
    several = rule("several", ("route", "several"), "ip", 5, "1m", "fixed_window")
    several["limits"].append({"limit": 20, "period": "1h", "algorithm": "fixed_window"})
    assert rules == {
        "login": rule("login", ("route", "login"), "ip", 5, "1m", "fixed_window", methods=unsafe),
        "prices": rule("prices", ("route", "prices"), "header:X-Api-Key", 10, "1s", "fixed_window", methods="GET"),
        "class": rule("class", ("path", "/whole/"), "user_or_ip", 7, "30s", "fixed_window"),
        "slow.login": rule("slow.login", ("route", "login"), "post:username", 100, "2h", "fixed_window"),
        "slow.other": rule("slow.other", ("route", "other"), "post:username", 100, "2h", "fixed_window"),
        "several": several,
        "with-key": rule("with-key", ("route", "with-key"), "ip", 20, "1m", "fixed_window"),
    }
    assert ("slow.other", "slow counts 2 places together, and this rule counts its own alone.") in found.notes
    assert ("prices", "there all clients without it share one count; here each counts by its address.") in found.notes
    assert ("several", "there 5/m alone is read of '5/m,20/h'; here all of it holds.") in found.notes


def test_what_no_rule_can_do_is_said_with_a_reason() -> None:
    _, found = found_by(django_ratelimit)
    by_function, any_rate, with_other_key, *_, items = found.left_out
    assert by_function.startswith("tests.support.other_limits_urls.by_function: a function makes its key.")
    assert any_rate.startswith("tests.support.other_limits_urls.any_rate: a function makes its rate")
    assert with_other_key == (
        "tests.support.other_limits_urls.with_other_key: its rate '20/m/ip' names the key 'ip', by which it does not count: "
        "write the rate without it."
    )
    assert items.startswith("items: no rule can say where it applies: give its URL a name")


def test_a_call_of_its_functions_is_named_with_its_line_and_what_to_write_there() -> None:
    _, found = found_by(django_ratelimit)
    file = "tests/support/other_limits_urls.py"
    calls = [re.sub(r"py:\d+", "py:N", each) for each in found.left_out if each.startswith(file)]
    call = f"{file}:N: no rule stands for a call of"
    assert calls == [
        (
            f"{call} is_ratelimited(). Write not ratewindow.hit(group, request, rate='15/d', key='user_or_ip', "
            "algorithm='fixed_window') there. Its method='POST' is a condition around it."
        ),
        (
            f"{call} is_ratelimited(). Write not ratewindow.peek('posts', request, rate=any_rate, key=by_function, "
            "algorithm='fixed_window') there."
        ),
        f"{call} get_usage(). Write ratewindow.peek('posts', request, rate='15/d', key='ip', algorithm='fixed_window') there.",
    ]
