"""`manage.py ratewindow protect`, and the ready rules that it adds."""

from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import views
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import path
from django.utils import translation

from ratewindow.contrib.logins import step
from ratewindow.limiter.rates import parse_rates
from ratewindow.models import RateRule
from tests.contrib.logins.support.trying import BACKENDS, login
from tests.support.commands import run, wrong
from tests.support.urlconfs import site

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("backends")]

READY = {
    "login.address": ("stranger", "ip", "20/h"),
    "login.name": ("stranger", "login", "5/m; 10/h; 50/d"),
    "login.network": ("stranger", "network", "200/h"),
    "login.device": ("known", "login_device", "10/15m; 100/4w"),
    "password-reset.address": ("resets", "ip", "5/h; 20/d"),
    "password-reset.mailbox": ("resets", "body:email", "3/h; 10/d"),
    "sign-up": ("sign_ups", "ip", "10/h; 30/d"),
    "one-time-code.address": ("codes", "ip", "5/m; 20/h"),
    "one-time-code.network": ("codes", "network", "100/h"),
    "password-again": ("changes", "user", "10/h"),
}


def modes() -> dict[str, str]:
    return dict(RateRule.objects.values_list("name", "mode"))


def test_it_adds_the_ready_set_in_shadow() -> None:
    told = run("protect")
    rows = RateRule.objects.prefetch_related("windows")
    assert {row.name: (row.applies_to, row.key) for row in rows} == {name: each[:2] for name, each in READY.items()}
    for row in rows:
        assert {window.freeze() for window in row.windows.all()} == {*parse_rates(READY[row.name][2])}
    assert {*modes().values()} == {"shadow"}
    assert set(RateRule.objects.values_list("on_error", flat=True)) == {"local"}
    assert told.endswith("Added 10 rules, in shadow, where nobody is refused.")


def test_the_second_time_it_says_nothing_new() -> None:
    run("protect", "--enforce")
    assert run("protect", "--enforce") == "Nothing to add."
    assert run("protect") == "Nothing to add."


def test_enforce_also_enforces_what_was_added_in_shadow() -> None:
    run("protect")
    told = run("protect", "--enforce")
    assert told.startswith("Enforced: ") and {*modes().values()} == {"enforce"} and len(modes()) == 10


def test_it_leaves_what_people_have_edited() -> None:
    run("protect")
    rule = RateRule.objects.get(name="login.network")
    rule.windows.all().delete()
    rule.windows.create(limit=900, period="1h")
    RateRule.objects.filter(name="sign-up").update(mode="off")
    told = run("protect", "--enforce")
    assert (modes()["login.network"], modes()["sign-up"], modes()["login.name"]) == ("shadow", "off", "enforce")
    left = "Not enforced, since they were edited: enforce them in the admin: login.network, sign-up."
    assert told.endswith(left)
    assert run("protect", "--enforce") == f"Nothing to add.\n{left}"


@pytest.mark.parametrize("edit", [{"message": "no"}, {"methods": "POST"}, {"response_status": 401}, {"penalty": "1h"}])
def test_whatever_they_have_edited(edit: dict[str, Any]) -> None:
    run("protect")
    RateRule.objects.filter(name="login.name").update(**edit)
    run("protect", "--enforce")
    assert modes()["login.name"] == "shadow" and modes()["login.address"] == "enforce"


def test_a_description_is_no_edit_as_it_may_be_in_another_language() -> None:
    with translation.override("ru"):
        run("protect")
    RateRule.objects.filter(name="login.name").update(description="ours")
    run("protect", "--enforce")
    assert {*modes().values()} == {"enforce"}


def test_a_rule_by_another_name_is_not_doubled() -> None:
    RateRule.objects.define("mine", "7/h", applies_to="stranger", key="ip", count_when="login_failed", mode="enforce")
    run("protect", "--enforce")
    assert "login.address" not in modes() and len(modes()) == 10


def test_check_says_what_is_open_and_changes_nothing() -> None:
    said = wrong("protect", "--check")
    assert (
        "Not limited: Logins of strangers, per login: there is no rule." in said and "protect --enforce" in said and not modes()
    )
    run("protect")
    assert "Not limited: Logins of strangers, per login: login.name is in shadow." in wrong("protect", "--check")
    run("protect", "--enforce")
    said = run("protect", "--check")
    assert said.startswith("Logins: every password") and said.endswith("Every way in that can be seen has its rules, enforced.")
    assert "cannot see a view that calls check_password" in said
    rule = RateRule.objects.filter(name="login.name")
    rule.update(enforce_percent=10)
    assert "login.name is enforced for 10 % of clients." in wrong("protect", "--check")
    rule.update(enforce_percent=100, methods="GET")
    assert "login.name is for GET alone." in wrong("protect", "--check")
    rule.update(methods="")
    rule.get().windows.all().delete()
    assert "login.name has no limits." in wrong("protect", "--check")


def test_check_is_content_with_one_rule_that_holds() -> None:
    run("protect", "--enforce")
    RateRule.objects.define("trial", "5/h", applies_to="stranger", key="ip", count_when="login_failed")
    assert "Every way in that can be seen has its rules" in run("protect", "--check")
    RateRule.objects.filter(name="login.address").update(mode="off")
    assert "per ip: login.address is off, trial is in shadow." in wrong("protect", "--check")


def test_check_asks_for_steps_only_where_the_site_has_them() -> None:
    run("protect", "--enforce")
    RateRule.objects.filter(name="sign-up").delete()
    assert "Every way in that can be seen has its rules" in run("protect", "--check")
    with site(path("signup/", lambda request: HttpResponse(), name="signup")):
        assert "Not limited: Sign-ups, per ip: there is no rule." in wrong("protect", "--check")


def test_check_fails_while_limits_are_off() -> None:
    run("protect", "--enforce")
    run("off")
    assert "All limits are switched off" in wrong("protect", "--check")
    run("on")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ENABLED": False}):
        assert "All limits are switched off" in wrong("protect", "--check")


@pytest.mark.parametrize("listed", [BACKENDS[1:], BACKENDS[::-1]])
def test_without_the_gate_in_its_place_it_adds_nothing(listed: list[str]) -> None:
    with override_settings(AUTHENTICATION_BACKENDS=listed):
        for arguments in ((), ("--enforce",), ("--check",)):
            assert "AUTHENTICATION_BACKENDS" in wrong("protect", *arguments)
    assert not modes()


def test_it_says_what_is_covered_and_what_it_cannot_see() -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    mine = step("codes")(lambda request: HttpResponse())
    routes = [
        path("forgot/", views.PasswordResetView.as_view(), name="anything"),
        path("accounts/signup/", view, name="account_signup"),
        path("pin/", mine, name="pin"),
        path("change/", views.PasswordChangeView.as_view()),
        path("other/", view, name="other"),
    ]
    with site(*routes):
        told = run("protect")
    lines = dict(line.rstrip(".").split(": ", 1) for line in told.splitlines() if ": /" in line)
    assert lines == {
        "Mails that anybody may ask for": "/forgot/",
        "Sign-ups": "/accounts/signup/",
        "One-time codes, page passwords": "/pin/",
        "Passwords typed again": "/change/",
    }
    assert "cannot see a view that calls check_password" in told


def test_suggest_proposes_the_same_rules(checked: list[str]) -> None:
    RateRule.objects.all().delete()
    run("suggest", "--create", "login.name")
    assert {name for name in READY if name.startswith("login.")} == {*modes()}


def test_all_of_a_kind_are_one_set(checked: list[str]) -> None:
    """A rule is found again by what it applies to and counts per, whatever its limits are now."""
    rule = RateRule.objects.get(name="login.address")
    rule.windows.all().delete()
    rule.windows.create(limit=2, period="1h")
    rule.save()
    assert run("protect") == "Nothing to add."
    assert [login(f"name{number}", "x").status_code for number in range(3)] == [200, 200, 429]
