"""Names that may mean several accounts. A backend may check the password of any, so each is counted, and none by the device of
another."""

from typing import Any

import pytest
from django.contrib.auth import authenticate, get_user_model
from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path

from testproject.urls import urlpatterns
from tests.contrib.logins.support.trying import BACKENDS, PASSWORD, checked_names, device, login, spend, stranger
from tests.support.urlconfs import site

HERE = "192.0.2.66"


class ByAddress(ModelBackend):
    """Checks the password of each account with that e-mail address, as allauth's does."""

    def authenticate(self, request: Any, username: Any = None, password: Any = None, **others: Any) -> Any:
        for user in get_user_model().objects.filter(email__iexact=username):
            checked_names.append(user.get_username())
            if user.check_password(password):
                return user
        return super().authenticate(request, username=username, password=password)


pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def by_address(checked: list[str]) -> Any:
    with override_settings(AUTHENTICATION_BACKENDS=[BACKENDS[0], f"{__name__}.ByAddress"]):
        yield


def guesses_from_devices_of(owner: str, at: str, name: str, checked: list[str]) -> int:
    """How often the password of `at` is checked, by somebody who logs in as `owner` again and again, and types `name`."""
    total = 0
    told: list[int] = []
    for _ in range(3):
        browser = Client()
        told.append(login(owner, "mine", HERE, browser).status_code)
        browser.cookies.pop("sessionid", None)
        checked.clear()
        for _ in range(10):
            login(name, "x", HERE, browser)
        total += checked.count(at)
    assert told[0] == 302
    return total


def test_a_user_name_that_is_the_address_of_another(checked: list[str], ann: Any, django_user_model: Any) -> None:
    django_user_model.objects.create_user("ann@example.com", "m@example.com", "mine")
    assert guesses_from_devices_of("ann@example.com", "ann", "ann@example.com", checked) == 4


def test_two_accounts_with_one_address(checked: list[str], django_user_model: Any) -> None:
    django_user_model.objects.create_user("mallory", "bob@example.com", "mine")
    django_user_model.objects.create_user("bob", "bob@example.com", PASSWORD)
    assert guesses_from_devices_of("mallory", "bob", "bob@example.com", checked) == 5


def test_the_owner_of_an_account_that_shares_an_address_has_his_device(
    checked: list[str], ann: Any, django_user_model: Any
) -> None:
    django_user_model.objects.create_user("other", "ann@example.com", "mine")
    browser = device()
    spend()
    assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 302


def test_an_address_that_many_accounts_share_is_one_name(checked: list[str], django_user_model: Any) -> None:
    for number in range(9):
        django_user_model.objects.create_user(f"n{number}", "info@example.com", "x")
    told = [login("info@example.com", "wrong", stranger(number)).status_code for number in range(7)]
    assert told == [200] * 5 + [429] * 2


def test_none_of_those_who_share_it_trusts_an_address(checked: list[str], django_user_model: Any) -> None:
    for number in range(8):
        django_user_model.objects.create_user(f"n{number}", "info@example.com", "mine")
    django_user_model.objects.create_user("bob", "info@example.com", PASSWORD)
    for number in range(9):
        assert login("info@example.com", "mine", stranger(number)).status_code == 302
    for number in range(20, 26):
        login("info@example.com", "x", stranger(number))
    checked.clear()
    assert {login("info@example.com", "x", stranger(number)).status_code for number in range(9)} == {429}
    assert not checked


def test_names_that_differ_in_case_alone_are_one(checked: list[str], django_user_model: Any) -> None:
    """What one may, so may the other: but no device of one alone guesses at the other."""
    django_user_model.objects.create_user("Bob@example.com", "bob@example.com", "mine")
    django_user_model.objects.create_user("bob@example.com", "bob@example.com", PASSWORD)
    assert guesses_from_devices_of("Bob@example.com", "bob@example.com", "bob@example.com", checked) == 5


def test_their_right_passwords_use_nothing_up(checked: list[str], django_user_model: Any) -> None:
    django_user_model.objects.create_user("Bob@example.com", "bob@example.com", "mine")
    django_user_model.objects.create_user("bob@example.com", "bob@example.com", PASSWORD)
    assert {login("bob@example.com", PASSWORD, stranger(number)).status_code for number in range(9)} == {302}


def test_name_and_address_of_one_account_are_one_attempt(checked: list[str], ann: Any) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        user = authenticate(request, username="ann", email="ann@example.com", password="x")
        return HttpResponse(status=200 if user else 401)

    with site(path("own/", view), *urlpatterns):
        told = [Client().post("/own/", REMOTE_ADDR=stranger(number)).status_code for number in range(7)]
    assert told == [401] * 5 + [429] * 2
