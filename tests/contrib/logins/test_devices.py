"""Known devices: who is one, who is none, and what that means for logins."""

from typing import Any

import pytest
from django.contrib.auth.views import PasswordChangeView
from django.core import signing
from django.test import Client, override_settings
from django.urls import path

from ratewindow.contrib.logins.devices import COOKIE, SALT
from ratewindow.models import RateRule
from ratewindow.rulebook import reading
from testproject.urls import urlpatterns
from tests.contrib.logins.support.trying import PASSWORD, device, login, spend
from tests.support.urlconfs import site

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
def test_a_forged_cookie_is_a_strangers(checked: list[str], ann: Any, cookie: str) -> None:
    spend()
    browser = Client()
    browser.cookies[COOKIE] = cookie
    assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 429


def test_what_was_signed_for_something_else_is_a_strangers(checked: list[str], ann: Any) -> None:
    spend()
    for signed in ([1], {"x": 1}, {"x": ["y"]}, None):
        browser = Client()
        browser.cookies[COOKIE] = signing.dumps(signed, salt=SALT)
        assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 429


def test_an_old_cookie_is_a_strangers(checked: list[str], ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = device()
    spend()
    monkeypatch.setattr("ratewindow.contrib.logins.devices.AGE_S", -1)
    assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 429


def test_a_device_that_has_used_up_its_limit_is_a_stranger(checked: list[str], ann: Any) -> None:
    """A stolen cookie is worth ten guesses."""
    browser = device()
    spend()
    checked.clear()
    for _ in range(30):
        login("ann", "x", "192.0.2.2", browser)
    assert len(checked) == 10


def test_who_changes_the_password_at_a_known_device_keeps_it_known(checked: list[str], ann: Any) -> None:
    change = PasswordChangeView.as_view(template_name="demo/login.html", success_url="/login/")
    with site(path("change/", change), *urlpatterns):
        browser, other = Client(), device()
        login("ann", PASSWORD, "192.0.2.1", browser)
        sent = {"old_password": PASSWORD, "new_password1": "a-new-one-2026", "new_password2": "a-new-one-2026"}
        assert browser.post("/change/", sent).status_code == 302
        del browser.cookies["sessionid"]
        spend(password="a-new-one-2026")
        assert login("ann", "a-new-one-2026", "192.0.2.2", browser).status_code == 302
        assert login("ann", "a-new-one-2026", "192.0.2.2", other).status_code == 429


def test_a_session_alone_makes_no_device_known(checked: list[str], ann: Any) -> None:
    """As a stolen one: the form that is shown again says nothing of who has filled it in."""
    with site(path("change/", PasswordChangeView.as_view(template_name="demo/login.html")), *urlpatterns):
        browser = Client()
        browser.force_login(ann)
        browser.post("/change/", {"old_password": "x"})
        assert COOKIE not in browser.cookies


def test_who_has_used_up_both_is_told_the_shorter_wait(checked: list[str], ann: Any) -> None:
    RateRule.objects.all().delete()
    of_failures: Any = {"count_when": "login_failed", "mode": "enforce"}
    RateRule.objects.define("device", "2/15m", applies_to="known", key="login_device", **of_failures)
    RateRule.objects.define("name", "2/d", applies_to="stranger", key="login", **of_failures)
    reading.reload()
    browser = device()
    told = [login("ann", "x", "192.0.2.2", browser) for _ in range(5)]
    assert told[-1].status_code == 429 and 0 < int(told[-1]["Retry-After"]) <= 900
