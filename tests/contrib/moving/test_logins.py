"""What a site needs for rules about logins, and settings that no rule can follow."""

from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.test import override_settings

from ratewindow.contrib.moving.importers import logins
from ratewindow.contrib.moving.importers.limits import Found
from ratewindow.models import RateRule
from tests.support.commands import run, wrong

pytestmark = pytest.mark.django_db
PACKAGES: dict[str, dict[str, Any]] = {
    "allauth": {"ACCOUNT_RATE_LIMITS": {"login": "often", "signup": "9/h"}},
    "axes": {"AXES_FAILURE_LIMIT": "often", "AXES_COOLOFF_TIME": 2},
    "device-cookies": {"DEVICE_COOKIE_ATTEMPTS_PER_PERIOD": True, "DEVICE_COOKIE_PERIOD": timedelta(hours=1)},
}


@pytest.mark.parametrize("package", PACKAGES)
def test_without_the_room_of_logins_the_line_to_add_is_said(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "ROOM", "ratewindow.contrib.absent")
    with override_settings(**PACKAGES[package]):
        assert wrong("move", package, "--yes").endswith("add 'ratewindow.contrib.absent' to INSTALLED_APPS.")
    assert not RateRule.objects.exists()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_site_without_the_package_is_offered_no_rules(package: str) -> None:
    assert wrong("move", package).startswith(f"{package} is not installed here: INSTALLED_APPS has no ")


@pytest.mark.skipif(not apps.is_installed(logins.ROOM), reason="rules about logins need their room")
@pytest.mark.parametrize("package", PACKAGES)
def test_a_wrong_value_is_said_and_the_rest_is_added(package: str) -> None:
    with override_settings(**PACKAGES[package]):
        said = run("move", package, "--yes")
    assert {
        "allauth": "Left out: ACCOUNT_RATE_LIMITS['login']: the rate 'often' cannot be read.",
        "axes": "Left out: AXES_FAILURE_LIMIT: 'often' is no whole number from 1 on. The rules have 3.",
        "device-cookies": "Left out: DEVICE_COOKIE_ATTEMPTS_PER_PERIOD: True is no whole number from 1 on. The rules have 5.",
    }[package] in said.splitlines()
    assert RateRule.objects.exists()
    for rule in RateRule.objects.all():
        rule.full_clean()
        assert all(window.freeze() for window in rule.windows.all()) and rule.mode == "shadow"


@pytest.mark.parametrize("value", [lambda request: 5, "shop.limits.failures"])
def test_no_rule_calls_a_function(value: Any) -> None:
    found = Found()
    with override_settings(SHOP_LIMIT=value):
        assert logins.read(found, "SHOP_LIMIT", 3, logins.whole) == 3
    assert found.left_out == ["SHOP_LIMIT: a function says it, which no rule can call. The rules have 3."]


@pytest.mark.parametrize("value", [5, "5m", None, timedelta(), timedelta(days=-1), timedelta(microseconds=1)])
def test_what_is_no_period_is_a_reason(value: Any) -> None:
    with pytest.raises(ValueError, match=r"is no timedelta|is not a positive whole number of milliseconds"):
        logins.period(value)


def test_a_limit_that_is_too_high_is_left_out() -> None:
    found = Found()
    logins.add(found, "shop", f"{10**15}/365d", "ip", "logins")
    assert found.limits == [] and found.left_out[0].startswith("shop: rate '1000000000000000/365d': ")
