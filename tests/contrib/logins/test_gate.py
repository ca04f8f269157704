"""The gate: how many passwords are checked, of whom, and what a login that succeeds leaves behind."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth import aauthenticate, authenticate, get_user, login as log_in
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import path

from ratewindow import RateLimited
from ratewindow.contrib.logins import LoginGate
from ratewindow.models import Override, RateRule
from ratewindow.rulebook import reading
from testproject.urls import urlpatterns
from tests.contrib.logins.support.trying import BACKENDS, PASSWORD, alogin, login, stranger
from tests.support.doors import answer, behind_middleware
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)


def test_300_names_from_one_address_are_20_guesses(checked: list[str]) -> None:
    told = [login(f"name{number}", "x").status_code for number in range(300)]
    assert (len(checked), told.count(429)) == (20, 280)


def test_one_name_from_300_addresses_is_5_guesses(checked: list[str], ann: Any) -> None:
    told = [login("ann", "x", stranger(number)).status_code for number in range(300)]
    assert (checked, told.count(429)) == (["ann"] * 5, 295)


def test_a_network_is_200_guesses(checked: list[str]) -> None:
    for number in range(220):
        login(f"name{number}", "x", f"203.0.113.{number}")
    assert len(checked) == 200


def test_the_login_that_stays_open_under_a_rule_on_everything_is_no_way_around_it(checked: list[str], ann: Any) -> None:
    RateRule.objects.define("all", "0/m", applies_to="all", mode="enforce")
    reading.reload()
    for number in range(9):
        Client(REMOTE_ADDR=stranger(number)).post("/admin/login/", {"username": "ann", "password": "x"})
    assert len(checked) == 5


@pytest.mark.parametrize("name", ["ann", "ANN", " ann ", "ａｎｎ", "ann@example.com", "Ann@EXAMPLE.com"])
def test_a_name_is_one_client_however_it_is_written(checked: list[str], ann: Any, name: str) -> None:
    for number in range(3):
        login("ann", "x", stranger(number))
        login(name, "x", stranger(100 + number))
    assert len(checked) == 5


def test_what_is_known_and_what_is_not_are_answered_alike(checked: list[str], ann: Any) -> None:
    known = [login("ann", "x", stranger(number)) for number in range(7)]
    unknown = [login("nobody", "x", stranger(number)) for number in range(7)]
    for one, other in zip(known, unknown, strict=True):
        assert one.status_code == other.status_code
        assert {*one.headers} == {*other.headers}
        assert one.get("Retry-After") == other.get("Retry-After")


def test_right_logins_use_up_nothing(checked: list[str], ann: Any) -> None:
    assert {login("ann", PASSWORD).status_code for _ in range(30)} == {302}
    assert [login("ann", "x", stranger(0)).status_code for _ in range(6)] == [200] * 5 + [429]


def right_logins_at_once(names: Sequence[str]) -> list[int]:
    """The statuses of a login for each name, from one address: none is answered before all have been tried."""
    tried: list[HttpRequest] = []
    everybody = asyncio.Event()

    async def view(request: HttpRequest) -> HttpResponse:
        user = await aauthenticate(request, username=request.headers["Name"], password=PASSWORD)
        tried.append(request)
        if len(tried) == len(names):
            everybody.set()
        await everybody.wait()
        return HttpResponse(status=200 if user else 401)

    guarded = behind_middleware(view)

    async def crowd() -> list[int]:
        requests = (RequestFactory().post("/", REMOTE_ADDR="203.0.113.9", headers={"Name": name}) for name in names)
        told = await asyncio.wait_for(asyncio.gather(*map(guarded, requests)), 60)
        return sorted(each.status_code for each in told)

    return asyncio.run(crowd())


def test_after_a_success_any_number_of_right_logins_pass_at_once(checked: list[str], ann: Any) -> None:
    """Each is charged only once it has failed, since the name has logged in from this address."""
    login("ann", PASSWORD)
    login("ann", "x", stranger(0))
    assert right_logins_at_once(["ann"] * 50) == [200] * 50


@pytest.mark.parametrize("people, most", [(1, 5), (30, 20)])
def test_at_once_from_an_address_that_is_not_trusted_no_more_right_ones_pass_than_the_limit(
    people: int, most: int, checked: list[str], django_user_model: Any
) -> None:
    """The price of exactness: until a password is checked, it may be wrong."""
    for number in range(people):
        django_user_model.objects.create_user(f"n{number}", password=PASSWORD)
    assert right_logins_at_once([f"n{number % people}" for number in range(30)]) == [200] * most + [401] * (30 - most)


def test_of_50_guesses_at_once_5_are_checked(checked: list[str], ann: Any) -> None:
    with ThreadPoolExecutor(10) as threads:
        told = [*threads.map(lambda number: login("ann", "x", stranger(number)).status_code, range(50))]
    assert (len(checked), told.count(429)) == (5, 45)


def test_async_views_are_counted_alike(checked: list[str], ann: Any) -> None:
    async def told() -> list[int]:
        return [(await alogin("ann", "x", stranger(number))).status_code for number in range(8)]

    assert asyncio.run(told()) == [200] * 5 + [429] * 3
    assert len(checked) == 5


def test_a_request_with_many_logins_counts_each(checked: list[str], ann: Any) -> None:
    """As a batch of GraphQL has them."""

    def view(request: HttpRequest) -> HttpResponse:
        for _ in range(3):
            authenticate(request, username="ann", password="x")
        assert authenticate(request, username="ann", password=PASSWORD) == ann
        return HttpResponse()

    guarded = behind_middleware(view)
    assert answer(guarded, RequestFactory().post("/", REMOTE_ADDR=stranger(1))).status_code == 200
    assert [login("ann", "x", stranger(2)).status_code for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize("given", [None, object(), HttpRequest()])
def test_the_request_is_found_whatever_authenticate_is_given(checked: list[str], ann: Any, given: Any) -> None:
    """Some packages give none, or one of their own."""

    def view(request: HttpRequest) -> HttpResponse:
        try:
            user = authenticate(given, username="ann", password="x")
        except RateLimited:
            return HttpResponse(status=429)
        return HttpResponse(status=200 if user else 401)

    with site(path("own/", view), *urlpatterns):
        told = [Client().post("/own/", REMOTE_ADDR="203.0.113.9").status_code for _ in range(6)]
    assert told == [401] * 5 + [429] and len(checked) == 5


def test_outside_of_a_request_nothing_is_counted(checked: list[str], ann: Any) -> None:
    """Commands and Django's own test client call it so."""
    for _ in range(9):
        assert authenticate(None, username="ann", password="x") is None
    assert authenticate(None, username="ann", password=PASSWORD) == ann
    assert Client().login(username="ann", password=PASSWORD)


def test_what_has_no_password_is_not_counted(checked: list[str], ann: Any) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        authenticate(request, remote_user="ann")
        return HttpResponse()

    guarded = behind_middleware(view)
    assert {answer(guarded, RequestFactory().post("/")).status_code for _ in range(30)} == {200}


def test_no_session_is_the_gates(checked: list[str], ann: Any) -> None:
    """A test logs a user in by force, a sign-up without a backend's name: neither asks the gate who the user is."""
    client = Client()
    client.force_login(ann)
    request = RequestFactory().get("/")
    request.session = client.session  # type: ignore[assignment]
    assert get_user(request) == ann


def test_a_subclass_says_what_else_a_name_is(checked: list[str], ann: Any) -> None:
    with override_settings(AUTHENTICATION_BACKENDS=[f"{__name__}.ByPhone", "tests.contrib.logins.support.trying.Noting"]):
        for number in range(3):
            login("ann", "x", stranger(number))
            login("+49 30 1", "x", stranger(100 + number))
    assert len(checked) == 5


class ByPhone(LoginGate):
    def find_accounts(self, name: str) -> Sequence[Any]:
        return super().find_accounts("ann" if name == "+49 30 1" else name)


def test_blocks_and_exemptions_hold(checked: list[str], ann: Any) -> None:
    Override.objects.create(action="block", identity="login:ann", reason="x")
    reading.reload()
    assert login("ann", PASSWORD).status_code == 429
    Override.objects.update(action="allow")
    reading.reload()
    assert {login("ann", "x").status_code for _ in range(30)} == {200}


def test_in_shadow_nobody_is_refused(checked: list[str], ann: Any) -> None:
    for rule in RateRule.objects.all():
        rule.mode = "shadow"
        rule.save()
    assert {login("ann", "x").status_code for _ in range(30)} == {200}


def test_a_rule_may_answer_as_a_wrong_password_is_answered(checked: list[str], ann: Any) -> None:
    for rule in RateRule.objects.all():
        rule.response_status = 401
        rule.save()
    told = [login("ann", "x") for _ in range(7)]
    assert {each.status_code for each in told} == {200} and len(checked) == 5
    assert b"Please enter a correct username and password" in told[6].content


def test_without_the_middleware_a_refusal_is_a_wrong_password(checked: list[str], ann: Any) -> None:
    request = RequestFactory().post("/")
    for _ in range(9):
        assert authenticate(request, username="ann", password="x") is None
    assert len(checked) == 5
    with pytest.raises(PermissionDenied):
        LoginGate().authenticate(request, username="ann", password="x")


def test_a_sign_up_need_not_name_the_backend(checked: list[str], ann: Any) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        request.session = Client().session  # type: ignore[assignment]
        log_in(request, ann)
        return HttpResponse()

    assert answer(behind_middleware(view), RequestFactory().post("/")).status_code == 200


@pytest.mark.parametrize("name", ["ann", "nobody", "ann@example.com", "nobody@example.com", "", "x" * 300])
def test_a_name_costs_one_query_whether_somebody_has_it_or_not(checked: list[str], ann: Any, name: str) -> None:
    def queries(backends: list[str]) -> int:
        with override_settings(AUTHENTICATION_BACKENDS=backends), CaptureQueriesContext(connection) as found:
            login(name, "x", stranger(number))
        return len(found)

    number = 0
    more = queries(BACKENDS) - queries(BACKENDS[1:])
    assert more == (1 if 0 < len(name) < 255 else 0)
