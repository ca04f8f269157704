"""The limits of allauth's accounts as shadow rules about logins and the steps around them."""

from typing import Any

import pytest
from django.apps import apps
from django.test import override_settings

from ratewindow.contrib.moving.importers import allauth, logins
from ratewindow.models import RateRule
from tests.support.commands import run
from tests.support.other_limits import found_by, rule

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not apps.is_installed(logins.ROOM), reason="rules about logins need their room"),
]
FAILED = {"count_when": "login_failed", "on_error": "local"}
OTHERS = ["change_phone", "manage_email", "reset_password_from_key", "confirm_email", "verify_phone"]
OFF: dict[str, Any] = dict.fromkeys(
    ("login", "signup", "reset_password", "request_login_code", "change_password", "reauthenticate")
)


def test_without_settings_the_defaults_of_allauth_hold() -> None:
    rules, found = found_by(allauth, ACCOUNT_RATE_LIMITS={})
    mailbox = {"normalise": True, "on_missing": "allow", "on_error": "local"}
    local = {"on_error": "local"}
    expected = [
        rule("allauth.login.ip", ("applies_to", "logins"), "ip", "30/1m", **local),
        rule("allauth.login_failed.ip", ("applies_to", "logins"), "ip", "10/1m", **FAILED),
        rule("allauth.login_failed.key", ("applies_to", "logins"), "login", "5/5m", **FAILED),
        rule("allauth.signup.ip", ("applies_to", "sign_ups"), "ip", "20/1m", **local),
        rule("allauth.reset_password.ip", ("applies_to", "resets"), "ip", "20/1m", **local),
        rule("allauth.reset_password.key", ("applies_to", "resets"), "body:email", "5/1m", **mailbox),
        rule("allauth.request_login_code.ip", ("applies_to", "resets"), "ip", "20/1m", **local),
        rule("allauth.request_login_code.key", ("applies_to", "resets"), "body:email", "3/1m", **mailbox),
        rule("allauth.change_password.user", ("applies_to", "changes"), "user", "5/1m", **local),
        rule("allauth.reauthenticate.user", ("applies_to", "changes"), "user", "10/1m", **local),
    ]
    assert rules == {each.name: each for each in expected}
    assert ("allauth.signup.ip", "there it counts signup at allauth's own views, and here all sign_ups.") in found.notes
    assert [each.partition(": no rule about logins")[0] for each in found.left_out] == [
        f"ACCOUNT_RATE_LIMITS[{action!r}]" for action in OTHERS
    ]


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ("5/m", {"ip": "5/1m"}),
        ("5/m/ip, 5/m/ip, 20/1.5h/ip,3/90s/key", {"ip": "5/1m; 20/1h30m", "key": "3/1m30s"}),
        ("5/2d/user", {"user": "5/2d"}),
        ("5/.5m", {"ip": "5/30s"}),
        ("", {}),
        (None, {}),
    ],
)
def test_the_rates_of_one_kind_of_client_are_one_rule(rates: Any, expected: dict[str, str]) -> None:
    rules, _ = found_by(allauth, ACCOUNT_RATE_LIMITS={**OFF, "login_failed": rates})
    assert {name: each.rate for name, each in rules.items()} == {
        f"allauth.login_failed.{per}": rate for per, rate in expected.items()
    }


@pytest.mark.parametrize("rate", ["often", "5", "5/m/ip/x", "5/m/name", "5/mo", "/m", "-1/m", "5/.m", 5, ["5/m"]])
def test_a_rate_that_cannot_be_read_is_said_and_the_others_stay(rate: Any) -> None:
    rules, found = found_by(allauth, ACCOUNT_RATE_LIMITS={**OFF, "login": rate})
    assert set(rules) == {"allauth.login_failed.ip", "allauth.login_failed.key"}
    assert sum(each.startswith("ACCOUNT_RATE_LIMITS['login']: the rate ") for each in found.left_out) == 1
    rules, _ = found_by(allauth, ACCOUNT_RATE_LIMITS={**OFF, "login_failed": f"3/h,{rate}"})
    assert rules["allauth.login_failed.ip"].rate == "3/1h"


@pytest.mark.parametrize(
    ("rate", "why"),
    [
        ("5/0s", "is not a positive"),
        ("5/999999999d", "is too long"),
        ("5/9999999999d", "cannot be read"),
        ("5/m,6/m", "two limits"),
    ],
)
def test_a_rate_that_no_rule_can_have_is_said(rate: str, why: str) -> None:
    rules, found = found_by(allauth, ACCOUNT_RATE_LIMITS={**OFF, "login_failed": rate})
    assert rules == {} and any(why in each for each in found.left_out)


@pytest.mark.parametrize(("limit", "timeout", "expected"), [(7, 60, "7/1m"), (0, 60, None), (7, None, None)])
def test_the_older_settings_of_failed_logins_hold(limit: Any, timeout: Any, expected: str | None) -> None:
    older = {"ACCOUNT_LOGIN_ATTEMPTS_LIMIT": limit, "ACCOUNT_LOGIN_ATTEMPTS_TIMEOUT": timeout}
    rules, _ = found_by(allauth, ACCOUNT_RATE_LIMITS=OFF, **older)
    assert {name: each.rate for name, each in rules.items()}.get("allauth.login_failed.key") == expected


def test_a_site_that_limits_nothing_gets_no_rule() -> None:
    with override_settings(ACCOUNT_RATE_LIMITS=False):
        assert run("move", "allauth", "--yes") == "Nothing to add: the site has a rule for everything that allauth limits."
    assert not RateRule.objects.exists()


def test_what_is_no_dict_is_said() -> None:
    rules, found = found_by(allauth, ACCOUNT_RATE_LIMITS="5/m", MFA_RATE_LIMITS={"webauthn_login": "5/m"})
    assert len(rules) == 10
    assert found.left_out[0] == "ACCOUNT_RATE_LIMITS: '5/m' is neither a dict nor False. The rules have {}."
    assert found.left_out[-1] == "MFA_RATE_LIMITS: a login by a passkey is none that the rules count."
