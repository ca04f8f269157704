"""How an attempt has ended is known by what Django says of it. What it says nothing of is a failure, so no way to keep it silent
gives a guess back."""

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest
from django.contrib.auth import aauthenticate, authenticate, get_user_model, login as log_in
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, override_settings
from django.urls import path

from ratewindow import RateLimited
from ratewindow.contrib.logins import attempt, trust
from ratewindow.contrib.logins.gate import watch_backends
from ratewindow.models import RateRule
from ratewindow.rulebook import reading
from ratewindow.store import process_clients
from testproject.urls import urlpatterns
from tests.contrib.logins.support.trying import BACKENDS, PASSWORD, checked_names, device, login, spend, stranger
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)
HERE = "192.0.2.66"


def statuses(view: Any, count: int, address: str = HERE, **sent: Any) -> list[int]:
    with site(path("own/", view), *urlpatterns):
        client = Client(raise_request_exception=False)
        return [client.post("/own/", REMOTE_ADDR=address, **sent).status_code for _ in range(count)]


def test_a_value_that_does_not_equal_itself(checked: list[str], ann: Any) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(status=200 if authenticate(request, **json.loads(request.body)) else 401)

    sent = {"data": '{"username": "ann", "password": "x", "more": NaN}', "content_type": "application/json"}
    assert statuses(view, 9, **sent) == [401] * 5 + [429] * 4


class Raising(ModelBackend):
    """As a hasher does that takes no longer password."""

    def authenticate(self, request: Any, username: Any = None, password: Any = None, **others: Any) -> Any:
        checked_names.append(str(username))
        user = super().authenticate(request, username=username, password=password)
        if user is None:
            raise ValueError("the password is wrong")
        return user


def all_answered(request: HttpRequest) -> HttpResponse:
    with suppress(ValueError):
        authenticate(request, username="ann", password=request.POST.get("password", "x"))
    return HttpResponse()


@override_settings(AUTHENTICATION_BACKENDS=[BACKENDS[0], f"{__name__}.Raising"])
def test_an_exception_of_a_backend_is_a_failure_and_trusts_no_address(checked: list[str], ann: Any) -> None:
    assert statuses(all_answered, 9) == [200] * 5 + [429] * 4
    assert len(checked) == 5
    assert statuses(all_answered, 2, data={"password": PASSWORD}) == [429] * 2


def test_so_it_is_from_a_known_device(checked: list[str], ann: Any) -> None:
    browser = device()
    spend()
    raising = override_settings(AUTHENTICATION_BACKENDS=[BACKENDS[0], f"{__name__}.Raising"])
    with raising, site(path("own/", all_answered), *urlpatterns):
        told = [browser.post("/own/", REMOTE_ADDR=HERE).status_code for _ in range(12)]
    assert told == [200] * 10 + [429] * 2


def test_a_receiver_before_ours_that_raises(checked: list[str], ann: Any) -> None:
    def refuse(sender: Any, **_: Any) -> None:
        raise PermissionDenied

    ours = user_login_failed.receivers
    user_login_failed.receivers = []
    user_login_failed.connect(refuse)
    user_login_failed.receivers += ours
    user_login_failed.sender_receivers_cache.clear()
    try:
        assert statuses(all_answered, 9) == [403] * 5 + [429] * 4
    finally:
        user_login_failed.receivers = ours
        user_login_failed.sender_receivers_cache.clear()


def test_a_refusal_that_looks_like_a_failure_is_none_of_an_earlier_login(checked: list[str], ann: Any) -> None:
    RateRule.objects.filter(name="login.name").update(response_status=401)
    RateRule.objects.define("each", "1/h", applies_to="logins", key="path", response_status=401, mode="enforce")
    reading.reload()

    def view(request: HttpRequest) -> HttpResponse:
        right, refused = (authenticate(request, username="ann", password=PASSWORD) for _ in range(2))
        return HttpResponse(status=200 if right and not refused else 500)

    for number in range(6):
        with site(path(f"own/{number}/", view), *urlpatterns):
            assert Client().post(f"/own/{number}/", REMOTE_ADDR=stranger(number)).status_code == 200


class Directory(ModelBackend):
    """Tries the name in the company's directory next."""

    def authenticate(self, request: Any, username: Any = None, password: Any = None, **others: Any) -> Any:
        if username.endswith(".corp"):
            return None
        return authenticate(request, username=f"{username}.corp", password=password)


@override_settings(AUTHENTICATION_BACKENDS=[*BACKENDS, f"{__name__}.Directory"])
def test_a_refusal_within_the_attempt_refunds_none_of_it(checked: list[str], ann: Any) -> None:
    for number in range(6):
        login("ann.corp", "x", stranger(number))
    checked.clear()
    assert {login("ann", "x", HERE).status_code for _ in range(20)} == {429}
    assert checked.count("ann") == 5


class Eager(ModelBackend):
    """Says whose backend it is before it has checked the password."""

    def authenticate(self, request: Any, username: Any = None, password: Any = None, **others: Any) -> Any:
        user: Any = get_user_model().objects.get(username=username)
        user.backend = f"{__name__}.Eager"
        return user if user.check_password(password) else None


@override_settings(AUTHENTICATION_BACKENDS=[BACKENDS[0], f"{__name__}.Eager"])
def test_a_backend_that_speaks_too_early(checked: list[str], ann: Any) -> None:
    assert [login("ann", "x", stranger(number)).status_code for number in range(9)] == [200] * 5 + [429] * 4


def test_a_login_of_somebody_else_in_the_same_request(checked: list[str], ann: Any, django_user_model: Any) -> None:
    """It is no evidence of what a backend left open."""
    mallory = django_user_model.objects.create_user("mallory", password="mine")

    def view(request: HttpRequest) -> HttpResponse:
        with suppress(ValueError):
            authenticate(request, username="nobody", password="x")
        log_in(request, mallory)
        return HttpResponse()

    with override_settings(AUTHENTICATION_BACKENDS=[BACKENDS[0], f"{__name__}.Raising"]):
        assert statuses(view, 9) == [200] * 5 + [429] * 4


class Customer:
    """A user of another model."""

    pk, last_login, is_active = 5, None, True

    def get_username(self) -> str:
        return "customer"

    def save(self, **_: Any) -> None:
        pass


class ByCustomer(ModelBackend):
    def authenticate(self, request: Any, username: Any = None, password: Any = None, **others: Any) -> Any:
        return Customer() if password == PASSWORD else None


@override_settings(AUTHENTICATION_BACKENDS=[BACKENDS[0], f"{__name__}.ByCustomer"])
def test_a_user_of_another_model_is_right_once_logged_in(checked: list[str]) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        user: Any = authenticate(request, username="customer", password=PASSWORD)
        user_logged_in.send(type(user), request=request, user=user)
        return HttpResponse()

    assert statuses(view, 9) == [200] * 9


def test_apps_may_be_set_up_again(checked: list[str]) -> None:
    watch_backends()
    assert attempt.sees_success


def test_a_model_with_a_backend_of_its_own(checked: list[str], ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has not failed is right then, as nobody sees what Django sets."""
    monkeypatch.delattr(get_user_model(), "backend")
    monkeypatch.setattr(get_user_model(), "backend", BACKENDS[1], raising=False)
    monkeypatch.setattr(attempt, "sees_success", True)
    watch_backends()
    assert get_user_model().backend == BACKENDS[1]
    assert {login("ann", PASSWORD, stranger(number)).status_code for number in range(9)} == {302}
    assert [login("bob", "x", stranger(number)).status_code for number in range(9)] == [200] * 5 + [429] * 4


class Alias(ModelBackend):
    """Asks about another name first, with a password of its own."""

    def authenticate(self, request: Any, username: Any = None, password: Any = None, **others: Any) -> Any:
        if username == "robot":
            return super().authenticate(request, username=username, password=password)
        authenticate(request, username="robot", password=PASSWORD)
        return super().authenticate(request, username=username, password=password)


@override_settings(AUTHENTICATION_BACKENDS=[BACKENDS[0], f"{__name__}.Alias"])
def test_another_login_within_the_attempt_is_another(checked: list[str], ann: Any, django_user_model: Any) -> None:
    django_user_model.objects.create_user("robot", password=PASSWORD)
    assert [login("ann", "x", stranger(number)).status_code for number in range(9)] == [200] * 5 + [429] * 4
    assert {login("robot", PASSWORD, stranger(50 + number)).status_code for number in range(9)} == {302}


class Slow(ModelBackend):
    """Others run until it is released."""

    running: Any = None

    async def aauthenticate(self, request: Any, username: Any = None, password: Any = None, **others: Any) -> Any:
        checked_names.append(username)
        await self.running.wait()
        return None


@pytest.mark.parametrize("is_known, most", [(False, 5), (True, 10)])
def test_a_refusal_meanwhile_refunds_none_that_is_checked(checked: list[str], ann: Any, is_known: bool, most: int) -> None:
    """As of fields of an async GraphQL query."""
    browser = AsyncClient()
    if is_known:
        browser.cookies.update(device().cookies)
        spend()
    for number in range(6):
        login("decoy", "x", stranger(700 + number))
    checked.clear()

    async def view(request: HttpRequest) -> HttpResponse:
        Slow.running = asyncio.Event()

        async def decoy() -> None:
            with suppress(RateLimited):
                await aauthenticate(request, username="decoy", password="x")
            Slow.running.set()

        with suppress(RateLimited):
            await asyncio.gather(aauthenticate(request, username="ann", password="x"), decoy())
        Slow.running.set()
        return HttpResponse()

    async def send() -> None:
        for _ in range(20):
            await browser.post("/own/", REMOTE_ADDR=HERE)  # type: ignore[arg-type]

    with override_settings(AUTHENTICATION_BACKENDS=[BACKENDS[0], f"{__name__}.Slow"]), site(path("own/", view), *urlpatterns):
        asyncio.run(send())
    assert checked.count("ann") == most


def test_a_right_password_uses_nothing_up_whatever_is_answered(checked: list[str], ann: Any) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(status=503 if authenticate(request, username="ann", password=PASSWORD) else 401)

    assert statuses(view, 12) == [503] * 12


def test_an_address_is_trusted_for_as_long_as_its_owner_logs_in_there(checked: list[str], ann: Any) -> None:
    """Also while strangers keep the limits of the name used up: each login renews it."""
    login("ann", PASSWORD, HERE)
    spend()
    trust.forget()  # as another process, which only reads
    assert login("ann", PASSWORD, HERE).status_code == 302
    flag = next(key for key in process_clients.client().keys("*:login:*"))
    process_clients.client().pexpire(flag, 1000)
    trust.forget()
    assert login("ann", PASSWORD, HERE).status_code == 302
    assert process_clients.client().pttl(flag) > 80_000_000


def test_it_is_trusted_until_the_password_changes(checked: list[str], ann: Any) -> None:
    login("ann", PASSWORD, HERE)
    ann.set_password("other")
    ann.save()
    spend(password="other")
    assert login("ann", "other", HERE).status_code == 429


def test_a_request_makes_a_hundred_attempts(checked: list[str]) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        for number in range(150):
            with suppress(RateLimited):
                authenticate(request, username=f"n{number}", password="x")
        return HttpResponse()

    RateRule.objects.filter(name__startswith="login.").update(mode="shadow")
    reading.reload()
    statuses(view, 1)
    assert len(checked) == 100


@pytest.mark.parametrize("forgive", [False, True])
def test_a_right_password_deletes_the_failures_of_a_name_where_its_rule_forgives(
    checked: list[str], ann: Any, forgive: bool
) -> None:
    rule = RateRule.objects.get(key="login")
    rule.forgive = forgive
    rule.save()
    for number in range(4):
        login("ann", "x", stranger(number))
    assert login("ann", PASSWORD, stranger(8)).status_code == 302
    told = [login("ann", "x", stranger(20 + number)).status_code for number in range(6)]
    assert told == ([200] * 5 + [429] if forgive else [200] + [429] * 5)
