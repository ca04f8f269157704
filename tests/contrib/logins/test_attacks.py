"""Ways around the count that somebody has tried: many guesses in a request, names that stand for others, errors on purpose."""

from contextlib import suppress
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path

import ratewindow
from ratewindow import RateLimited
from ratewindow.contrib.logins import forgive
from ratewindow.models import RateRule
from ratewindow.rulebook import reading
from testproject.urls import urlpatterns
from tests.contrib.logins.support.trying import BACKENDS, PASSWORD, device, login, spend, stranger
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)


def post(view: Any, address: str, browser: Client | None = None) -> int:
    with site(path("try/", view), *urlpatterns):
        return (browser or Client(raise_request_exception=False)).post("/try/", REMOTE_ADDR=address).status_code


def batch(size: int) -> Any:
    """A view that tries so many passwords in a request, as a batch of GraphQL does, and answers each refusal by itself."""

    def view(request: HttpRequest) -> HttpResponse:
        for number in range(size):
            with suppress(RateLimited):
                authenticate(request, username="ann", password=f"x{number}")
        return HttpResponse()

    return view


def test_a_refusal_later_in_the_request_refunds_no_guess(checked: list[str], ann: Any) -> None:
    many = batch(12)
    for number in range(20):
        post(many, stranger(number))
    assert len(checked) == 5


def test_nor_does_another_limit_that_refuses_then(checked: list[str], ann: Any) -> None:
    RateRule.objects.define("after", "0/h", mode="enforce")
    reading.reload()

    def view(request: HttpRequest) -> HttpResponse:
        if authenticate(request, username="ann", password="x") is None:
            ratewindow.hit("after", request, raise_exception=True)
        return HttpResponse()

    assert {post(view, stranger(number)) for number in range(20)} == {429}
    assert len(checked) == 5


def test_what_counts_every_attempt_stays_counted_too(checked: list[str], ann: Any) -> None:
    RateRule.objects.all().delete()
    RateRule.objects.define("each", "5/h", applies_to="logins", key="login", mode="enforce")
    reading.reload()
    many = batch(12)
    for number in range(20):
        post(many, stranger(number))
    assert len(checked) == 5


def test_guesses_in_one_request_of_a_known_device_are_each_one(checked: list[str], ann: Any) -> None:
    browser, many = device(), batch(8)
    spend()
    checked.clear()
    for _ in range(8):
        post(many, "192.0.2.2", browser)
    assert len(checked) == 10


def test_guesses_of_a_name_that_logged_in_from_there_are_each_one(checked: list[str], ann: Any) -> None:
    login("ann", PASSWORD, "192.0.2.2")
    spend()
    checked.clear()
    many = batch(8)
    for _ in range(8):
        post(many, "192.0.2.2")
    assert len(checked) == 10


@pytest.mark.parametrize("name, password", [("ann", "\ud800"), ("\ud800", "x"), ("ann\ud800", PASSWORD)])
def test_what_no_name_or_password_can_be_is_a_wrong_one(checked: list[str], ann: Any, name: str, password: str) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(status=200 if authenticate(request, username=name, password=password) else 401)

    assert post(view, "192.0.2.2") == 401
    assert not checked


class Failing(ModelBackend):
    def authenticate(self, request: Any, **credentials: Any) -> None:  # type: ignore[override]
        raise OSError("the directory is away")


def test_an_address_is_not_trusted_since_a_backend_has_failed(checked: list[str], ann: Any) -> None:
    """And what it held stays counted: how the attempt ended is not known."""

    def view(request: HttpRequest) -> HttpResponse:
        authenticate(request, username="ann", password="x")
        return HttpResponse()

    with override_settings(AUTHENTICATION_BACKENDS=[BACKENDS[0], f"{__name__}.Failing"]):
        post(view, "192.0.2.2")
    assert [login("ann", "x", stranger(number)).status_code for number in range(5)] == [200] * 4 + [429]
    assert login("ann", "x", "192.0.2.2").status_code == 429


def test_who_is_called_like_anothers_address_is_himself(checked: list[str], ann: Any, django_user_model: Any) -> None:
    django_user_model.objects.create_user("ann@example.com", password="mine")
    assert login("ann@example.com", "mine", "192.0.2.2").status_code == 302
    spend()
    assert login("ann", "x", "192.0.2.2").status_code == 429


@pytest.mark.parametrize("more", [{"username": ""}, {"username": "x{}"}, {"login": "x{}"}, {"username": "x{}", "login": "y{}"}])
def test_each_name_that_is_given_is_counted(checked: list[str], ann: Any, more: dict[str, str]) -> None:
    """Which of them a backend uses, only that knows."""

    def view(request: HttpRequest) -> HttpResponse:
        number = request.META["REMOTE_ADDR"].split(".")[2]
        others = {name: text.format(number) for name, text in more.items()}
        user = authenticate(request, email="ann@example.com", password="x", **others)
        return HttpResponse(status=200 if user else 401)

    told = [post(view, stranger(number)) for number in range(20)]
    assert told == [401] * 5 + [429] * 15


def test_a_name_beside_ones_own_trusts_no_address(checked: list[str], ann: Any, django_user_model: Any) -> None:
    django_user_model.objects.create_user("mallory", password="mine")

    def view(request: HttpRequest) -> HttpResponse:
        user = authenticate(request, username="mallory", email="ann@example.com", password="mine")
        return HttpResponse(status=200 if user else 401)

    assert post(view, "192.0.2.2") == 200
    spend()
    assert login("ann", "x", "192.0.2.2").status_code == 429


def test_one_captcha_is_one_guess_in_a_batch(checked: list[str], ann: Any) -> None:
    spend()
    checked.clear()

    def view(request: HttpRequest) -> HttpResponse:
        forgive(request)
        for number in range(9):
            with suppress(RateLimited):
                authenticate(request, username="ann", password=f"x{number}")
        return HttpResponse()

    post(view, stranger(50))
    assert len(checked) == 1


def test_a_session_with_a_wrong_password_renews_no_old_cookie(checked: list[str], ann: Any) -> None:
    browser = device()
    ann.set_password("other")
    ann.save()
    browser.force_login(ann)
    with site(path("change/", PasswordChangeView.as_view(template_name="demo/login.html")), *urlpatterns):
        browser.post("/change/", {"old_password": "x", "new_password1": "a-new-one-2026", "new_password2": "a-new-one-2026"})
    del browser.cookies["sessionid"]
    spend(password="other")
    assert login("ann", "other", "192.0.2.2", browser).status_code == 429
