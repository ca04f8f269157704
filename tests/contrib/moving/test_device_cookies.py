"""The settings of django-device-cookies as shadow rules about strangers and known devices."""

from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps

from ratewindow.contrib.moving.importers import device_cookies, logins
from tests.support.other_limits import found_by, rule

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not apps.is_installed(logins.ROOM), reason="rules about logins need their room"),
]
FAILED = {"count_when": "login_failed", "on_error": "local"}


def test_strangers_and_known_devices_are_a_shadow_rule_each() -> None:
    rules, found = found_by(
        device_cookies,
        DEVICE_COOKIE_ATTEMPTS_PER_PERIOD=7,
        DEVICE_COOKIE_PERIOD=timedelta(hours=1),
        DEVICE_COOKIE_REVOKE_AFTER_FAILURES=70,
        DEVICE_COOKIE_MAX_AGE=timedelta(days=90),
        DEVICE_COOKIE_HIDE_LOCKOUTS=False,
    )
    stranger = {**FAILED, "response_status": 429}
    known = {**FAILED, "on_missing": "allow", "response_status": 429}
    assert rules == {
        "device-cookies.stranger": rule("device-cookies.stranger", ("applies_to", "stranger"), "login", "7/1h", **stranger),
        "device-cookies.known": rule("device-cookies.known", ("applies_to", "known"), "login_device", "7/1h; 70/12w6d", **known),
    }
    assert len(found.notes) == 2
    assert found.left_out == ["DEVICE_COOKIE_MAX_AGE: the cookie of known devices is as the room of logins makes it."]


def test_without_settings_a_refusal_looks_like_a_wrong_password() -> None:
    rules, found = found_by(device_cookies, DEVICE_COOKIE_SECURE=True)
    assert {(each.rate, each.fields["response_status"]) for each in rules.values()} == {("5/15m", 401)}
    assert found.left_out == []


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("DEVICE_COOKIE_ATTEMPTS_PER_PERIOD", 2.5, "2.5 is no whole number from 1 on. The rules have 5."),
        ("DEVICE_COOKIE_PERIOD", 900, "900 is no timedelta. The rules have 15m."),
        ("DEVICE_COOKIE_REVOKE_AFTER_FAILURES", -1, "-1 is no whole number from 1 on. The rules have None."),
        ("DEVICE_COOKIE_SECURE", False, "the cookie of known devices is as the room of logins makes it."),
        ("DEVICE_COOKIE_DOMAIN", "example.com", "the cookie of known devices is as the room of logins makes it."),
    ],
)
def test_what_no_rule_can_do_is_said(name: str, value: Any, why: str) -> None:
    rules, found = found_by(device_cookies, **{name: value})
    assert found.left_out == [f"{name}: {why}"] and {each.rate for each in rules.values()} == {"5/15m"}
