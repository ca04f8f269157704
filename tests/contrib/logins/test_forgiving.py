"""A challenge in place of a refusal: the view decides, and may forgive who has solved it."""

from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from ratewindow.contrib.logins import forgive
from ratewindow.models import Override, RateRule
from ratewindow.rulebook import reading
from testproject.urls import urlpatterns
from tests.contrib.logins.support.trying import PASSWORD, stranger
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)


def view(request: HttpRequest) -> HttpResponse:
    if request.POST.get("captcha") == "solved":
        forgive(request)
    user = authenticate(request, username=request.POST["name"], password=request.POST["secret"])
    if user is None and not request.ratewindow.allowed:  # type: ignore[attr-defined]
        return HttpResponse("captcha, please", status=401)
    return HttpResponse(status=200 if user else 401)


@pytest.fixture
def post(checked: list[str]) -> Any:
    RateRule.objects.filter(name__startswith="login").update(response_status=401)
    reading.reload()

    def send(number: int, secret: str, **more: str) -> Any:
        return Client().post("/own/", {"name": "ann", "secret": secret, **more}, REMOTE_ADDR=stranger(number))

    with site(path("own/", view), *urlpatterns):
        yield send


def test_the_view_asks_for_a_captcha(post: Any, checked: list[str], ann: Any) -> None:
    told = [post(number, "x") for number in range(7)]
    assert [each.content for each in told] == [b""] * 5 + [b"captcha, please"] * 2 and len(checked) == 5


def test_one_captcha_is_worth_one_guess_and_blocks_hold(post: Any, checked: list[str], ann: Any) -> None:
    for number in range(6):
        post(number, "x")
    checked.clear()
    assert post(7, "x", captcha="solved").content == b"" and len(checked) == 1
    assert post(7, PASSWORD).content == b"captcha, please"
    assert post(7, PASSWORD, captcha="solved").status_code == 200
    Override.objects.create(action="block", identity="login:ann", reason="x")
    reading.reload()
    assert post(8, PASSWORD, captcha="solved").status_code == 429


def test_failures_after_a_captcha_count(post: Any, checked: list[str], ann: Any) -> None:
    for number in range(5):
        post(number, "x", captcha="solved")
    assert post(6, PASSWORD).content == b"captcha, please"
