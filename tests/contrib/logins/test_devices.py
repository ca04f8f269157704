"""Known devices: who is one, who is none, and what that means for logins."""

from typing import Any

import pytest
from django.core import signing
from django.test import Client, override_settings

from ratewindow.contrib.logins import devices
from ratewindow.contrib.logins.devices import COOKIE, SALT
from ratewindow.models import RateRule
from ratewindow.rulebook import reading
from tests.contrib.logins.support.trying import PASSWORD, device, login, spend

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_owner_gets_in_whatever_strangers_try(checked: list[str], ann: Any) -> None:
    browser = device()
    spend()
    assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 302


def test_and_so_behind_the_attackers_address(checked: list[str], ann: Any) -> None:
    browser = device()
    for number in range(30):
        login(f"name{number}", "x")
    assert login("ann", PASSWORD).status_code == 429
    assert login("ann", PASSWORD, browser=browser).status_code == 302


def test_a_cookie_is_of_no_use_to_scripts_or_other_sites(checked: list[str], ann: Any) -> None:
    cookie = device().cookies[COOKIE]
    assert (cookie["httponly"], cookie["samesite"], cookie["secure"]) == (True, "Lax", "")
    assert "ann" not in str(signing.loads(cookie.value, salt=SALT))
    secure = Client().post("/login/", {"username": "ann", "password": PASSWORD}, secure=True)
    assert secure.cookies[COOKIE]["secure"]
    with override_settings(SESSION_COOKIE_SECURE=True):
        assert device().cookies[COOKIE]["secure"]


def test_two_accounts_share_a_browser(checked: list[str], ann: Any, django_user_model: Any) -> None:
    django_user_model.objects.create_user("bob", password=PASSWORD)
    browser = device()
    login("bob", PASSWORD, "192.0.2.1", browser)
    spend("ann")
    spend("bob")
    assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 302
    assert login("bob", PASSWORD, "192.0.2.2", browser).status_code == 302


def test_no_account_is_known_by_anothers_cookie(checked: list[str], ann: Any, django_user_model: Any) -> None:
    django_user_model.objects.create_user("bob", password=PASSWORD)
    browser = device("bob")
    spend("ann")
    assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 429


def test_after_a_change_of_the_password_it_is_a_strangers(checked: list[str], ann: Any) -> None:
    browser = device()
    ann.set_password("other")
    ann.save()
    spend()
    assert login("ann", "other", "192.0.2.2", browser).status_code == 429


@pytest.mark.parametrize("cookie", ["", "x", "x" * 10_000, "e30:1xXFgc:forged", "\x00"])
def test_what_is_no_cookie_of_ours_is_a_strangers(checked: list[str], ann: Any, cookie: str) -> None:
    spend()
    browser = Client()
    browser.cookies[COOKIE] = cookie
    assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 429


def test_a_forged_cookie_is_a_strangers(checked: list[str], ann: Any) -> None:
    """All that a cookie says, signed by another key or for another use."""
    browser = device()
    says = signing.loads(browser.cookies[COOKIE].value, salt=SALT)
    spend()
    for forged in (signing.dumps(says, salt=SALT, key="another"), signing.dumps(says, salt="another")):
        browser.cookies[COOKIE] = forged
        assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 429
    browser.cookies[COOKIE] = signing.dumps(says, salt=SALT)
    assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 302


def test_a_login_as_somebody_else_renews_no_other_entry(
    checked: list[str], ann: Any, django_user_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copied cookie would else hold for ever."""
    django_user_model.objects.create_user("mallory", password=PASSWORD)
    browser = device()
    today = devices._today()
    for days in (100, 181):
        monkeypatch.setattr(devices, "_today", lambda days=days: today + days)
        login("mallory", PASSWORD, "192.0.2.1", browser)
        del browser.cookies["sessionid"]
    spend()
    spend("mallory")
    assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 429
    assert login("mallory", PASSWORD, "192.0.2.2", browser).status_code == 302


def test_the_ninth_account_takes_the_place_of_the_first(checked: list[str], ann: Any, django_user_model: Any) -> None:
    browser = device()
    for number in range(8):
        django_user_model.objects.create_user(f"n{number}", password=PASSWORD)
        login(f"n{number}", PASSWORD, "192.0.2.1", browser)
    spend()
    spend("n0")
    assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 429
    assert login("n0", PASSWORD, "192.0.2.2", browser).status_code == 302


def test_an_account_that_is_renamed_keeps_its_devices(checked: list[str], ann: Any) -> None:
    browser = device()
    ann.username = "anna"
    ann.save()
    spend("anna")
    assert login("anna", PASSWORD, "192.0.2.2", browser).status_code == 302


def test_a_form_of_another_site_replaces_no_cookie(checked: list[str], ann: Any, django_user_model: Any) -> None:
    """A browser sends such a form without the cookie, and would take what is answered in its place."""
    django_user_model.objects.create_user("mallory", password=PASSWORD)
    sent = Client(headers={"Sec-Fetch-Site": "cross-site"})
    assert login("mallory", PASSWORD, "192.0.2.3", sent).status_code == 302
    assert COOKIE not in sent.cookies


def test_what_is_signed_but_no_list_of_accounts_is_a_strangers(checked: list[str], ann: Any) -> None:
    spend()
    for signed in ([1], {"x": 1}, {"x": ["y"]}, {"x": ["y", "z"]}, {"x": ["y", "z", "w"]}, None):
        browser = Client()
        browser.cookies[COOKIE] = signing.dumps(signed, salt=SALT)
        assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 429


def test_an_old_cookie_is_a_strangers(checked: list[str], ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = device()
    spend()
    monkeypatch.setattr("ratewindow.contrib.logins.devices.AGE_DAYS", -1)
    assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 429


def test_a_device_that_has_used_up_its_limit_is_a_stranger(checked: list[str], ann: Any) -> None:
    """A stolen cookie is worth ten guesses."""
    browser = device()
    spend()
    checked.clear()
    for _ in range(30):
        login("ann", "x", "192.0.2.2", browser)
    assert len(checked) == 10


def test_who_has_used_up_both_is_told_the_shorter_wait(checked: list[str], ann: Any) -> None:
    RateRule.objects.all().delete()
    of_failures: Any = {"count_when": "login_failed", "mode": "enforce"}
    RateRule.objects.define("device", "2/15m", applies_to="known", key="login_device", **of_failures)
    RateRule.objects.define("name", "2/d", applies_to="stranger", key="login", **of_failures)
    reading.reload()
    browser = device()
    told = [login("ann", "x", "192.0.2.2", browser) for _ in range(5)]
    assert told[-1].status_code == 429 and 0 < int(told[-1]["Retry-After"]) <= 900
