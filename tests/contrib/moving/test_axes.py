"""The settings of django-axes as shadow rules about logins."""

from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.test import Client, override_settings

from ratewindow.contrib.moving.importers import axes, logins
from ratewindow.limiter.rates import parse_rates
from ratewindow.models import RateRule
from tests.support.commands import run
from tests.support.other_limits import found_by, rule

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not apps.is_installed(logins.ROOM), reason="rules about logins need their room"),
]
EVERY = ("applies_to", "logins")
FAILED = {"count_when": "login_failed", "on_error": "local"}


def test_each_parameter_is_a_shadow_rule_and_joined_ones_are_one() -> None:
    rules, found = found_by(
        axes,
        AXES_FAILURE_LIMIT=5,
        AXES_COOLOFF_TIME=timedelta(minutes=30),
        AXES_LOCKOUT_PARAMETERS=["username", ["username", "ip_address"], ("ip_address", "user_agent"), ["username"]],
        AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT=False,
        AXES_HTTP_RESPONSE_CODE=403,
    )
    more = {**FAILED, "count_refused": False, "response_status": 403}
    assert rules == {
        "axes.login": rule("axes.login", EVERY, "login", "5/30m", **more),
        "axes.login-ip": rule("axes.login-ip", EVERY, "login+ip", "5/30m", **more),
        "axes.ip-header-user-agent": rule("axes.ip-header-user-agent", EVERY, "ip+header:User-Agent", "5/30m", **more),
    }
    assert found.notes == [
        ("axes.ip-header-user-agent", "there all clients without it share one count; here each counts by its address.")
    ]
    assert found.left_out == []


def test_without_settings_the_defaults_of_axes_hold() -> None:
    rules, found = found_by(axes, AXES_FAILURE_LIMIT=3)
    more = {**FAILED, "count_refused": True, "response_status": 429}
    assert rules == {"axes.ip": rule("axes.ip", EVERY, "ip", "3/1d", **more)}
    assert found.left_out == ["AXES_COOLOFF_TIME: axes locks for ever, and no window is so long. The rules have 1d."]


@pytest.mark.parametrize(("value", "period"), [(2, "2h"), (0.25, "15m"), (1 / 3, "20m"), (timedelta(days=1, hours=6), "1d6h")])
def test_a_number_is_a_cool_off_of_hours(value: Any, period: str) -> None:
    rules, found = found_by(axes, AXES_COOLOFF_TIME=value)
    assert rules["axes.ip"].rate == f"3/{period}" and found.left_out == []


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("AXES_FAILURE_LIMIT", 0, "0 is no whole number from 1 on. The rules have 3."),
        ("AXES_FAILURE_LIMIT", 10**15, ""),
        ("AXES_FAILURE_LIMIT", "shop.limits.failures", "a function says it, which no rule can call. The rules have 3."),
        ("AXES_COOLOFF_TIME", "soon", "'soon' is no timedelta. The rules have 1d."),
        ("AXES_COOLOFF_TIME", True, "True is no timedelta. The rules have 1d."),
        ("AXES_COOLOFF_TIME", lambda request: None, "a function says it, which no rule can call. The rules have 1d."),
        ("AXES_COOLOFF_TIME", 1e300, ""),
        ("AXES_COOLOFF_TIME", float("nan"), ""),
        ("AXES_LOCKOUT_PARAMETERS", "username", "'username' is no list. The rules have ['ip']."),
        ("AXES_LOCKOUT_PARAMETERS", [], "[] is no list"),
        ("AXES_LOCKOUT_PARAMETERS", ["email"], "['email'] lists others than username, ip_address, user_agent."),
        ("AXES_LOCKOUT_PARAMETERS", [5], "[5] lists others than"),
        ("AXES_LOCKOUT_PARAMETERS", [[[]]], "[[[]]] lists others than"),
        ("AXES_HTTP_RESPONSE_CODE", 200, "200 is no status of a refusal, from 400 to 599. The rules have 429."),
        ("AXES_HTTP_RESPONSE_CODE", "403", "'403' is no status"),
        ("AXES_HTTP_RESPONSE_CODE", 401, "with 401 a refused login would look like a wrong password. The rules have 429."),
    ],
)
def test_a_value_that_no_rule_can_have_is_said_with_what_holds_instead(name: str, value: Any, why: str) -> None:
    rules, found = found_by(axes, **{"AXES_COOLOFF_TIME": 1, name: value})
    assert [each.startswith((f"{name}: {why}", "axes.ip: rate ")) for each in found.left_out] == [True]
    assert [*map(len, map(parse_rates, (each.rate for each in rules.values())))] == [1] * len(rules)


def test_what_is_not_carried_over_is_said_where_it_is_set() -> None:
    usual = {"AXES_COOLOFF_TIME": 1, "AXES_ENABLED": True, "AXES_LOCK_OUT_AT_FAILURE": True, "AXES_ONLY_ADMIN_SITE": False}
    assert found_by(axes, **usual)[1].left_out == []
    others = {
        "AXES_ENABLED": False,
        "AXES_ONLY_ADMIN_SITE": True,
        "AXES_RESET_ON_SUCCESS": True,
        "AXES_IP_WHITELIST": ["192.0.2.1"],
        "AXES_LOCKOUT_TEMPLATE": "locked.html",
    }
    assert [each.partition(":")[0] for each in found_by(axes, **{**usual, **others})[1].left_out] == [*others]


def test_older_names_are_said_unless_axes_has_read_them() -> None:
    older: dict[str, Any] = {"AXES_COOLOFF_TIME": 1, "AXES_ONLY_USER_FAILURES": True}
    assert found_by(axes, **older)[1].left_out == ["AXES_ONLY_USER_FAILURES: an older name: write AXES_LOCKOUT_PARAMETERS."]
    assert found_by(axes, **older, AXES_LOCKOUT_PARAMETERS=["username"])[1].left_out == []


@pytest.mark.django_db(transaction=True)
def test_a_rule_from_its_settings_refuses_after_so_many_failures() -> None:
    backends = ["ratewindow.contrib.logins.LoginGate", "django.contrib.auth.backends.ModelBackend"]
    with override_settings(AXES_COOLOFF_TIME=1, AXES_LOCKOUT_PARAMETERS=["username"], AXES_HTTP_RESPONSE_CODE=403):
        assert "+ axes.login: 3/1h, mode shadow, applies_to logins, key login" in run("move", "axes", "--yes")
    with override_settings(AUTHENTICATION_BACKENDS=backends):
        assert _logins("ann", 5) == [200] * 5
        imported = RateRule.objects.get()
        imported.mode = "enforce"
        imported.save()
        assert (_logins("ann", 1), _logins("bob", 5)) == ([403], [200] * 3 + [403] * 2)


def _logins(name: str, count: int) -> list[int]:
    return [
        Client().post("/login/", {"username": name, "password": "x"}, REMOTE_ADDR=f"198.51.100.{number}").status_code
        for number in range(count)
    ]
