"""Rules that count failed logins alone, whatever the status of the answer."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import authenticate, user_login_failed
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, RequestFactory

import ratewindow
from tests.support.count_by_answer import define, used
from tests.support.doors import answer, behind_middleware, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@pytest.fixture
def ann() -> User:
    return User.objects.create_superuser("ann", password="right")


@pytest.mark.usefixtures("ann")
@pytest.mark.parametrize("path", ["/login/", "/admin/login/"])
def test_of_three_wrong_one_right_and_two_wrong_logins_five_count(path: str) -> None:
    """A wrong password in the admin answers 200, a right one 302: statuses could not tell them."""
    define("login", "5/h", "login_failed", path=path, methods="POST")
    client = Client()

    def log_in(password: str) -> int:
        return client.post(path, {"username": "ann", "password": password}).status_code

    told = [log_in(password) for password in ("wrong", "wrong", "wrong", "right", "wrong", "wrong")]
    assert told == [200, 200, 200, 302, 200, 200]
    assert used(5) == 5
    assert [log_in("wrong"), log_in("right")] == [429, 429]
    assert Client().get(path).status_code == 200


@pytest.mark.usefixtures("ann")
async def test_the_same_through_asgi() -> None:
    await sync_to_async(define)("login", "5/h", "login_failed", path="/login/")
    client = AsyncClient()
    told = []
    for password in ("wrong", "wrong", "wrong", "right", "wrong", "wrong", "wrong"):
        response = await client.post("/login/", {"username": "ann", "password": password})
        told.append((response.status_code, response["X-RateLimit-Remaining"]))
    assert told == [(200, "4"), (200, "3"), (200, "2"), (302, "2"), (200, "1"), (200, "0"), (429, "0")]


@pytest.mark.usefixtures("ann")
@pytest.mark.parametrize("signal_has", ["request", "none", "another"])
def test_a_failed_login_finds_its_request(signal_has: str) -> None:
    define("login", "2/h", "login_failed", prefix="/")

    def view(request: HttpRequest) -> HttpResponse:
        given = {"request": request, "none": None, "another": HttpRequest()}[signal_has]
        authenticate(given, username="ann", password="wrong")
        return HttpResponse("Try again")

    assert statuses(behind_middleware(view), 3) == [200, 200, 429]


async def test_a_failed_login_without_a_request_finds_it_in_a_thread_of_an_async_view() -> None:
    await sync_to_async(define)("login", "2/h", "login_failed", prefix="/")

    async def view(request: HttpRequest) -> HttpResponse:
        await sync_to_async(user_login_failed.send)(sender="test", credentials={}, request=None)
        return HttpResponse("Try again")

    site = behind_middleware(view)
    told = [(await site(RequestFactory().get("/"))).status_code for _ in range(3)]
    assert told == [200, 200, 429]


def test_a_failed_login_outside_of_requests_concerns_nobody() -> None:
    define("login", "2/h", "login_failed", prefix="/")
    statuses(behind_middleware(plain(False)), 1)
    user_login_failed.send(sender="test", credentials={}, request=None)
    assert used(2) == 0


def test_a_login_that_failed_in_a_middleware_before_ours_counts() -> None:
    define("login", "2/h", "login_failed", prefix="/")
    site = behind_middleware(plain(False))
    request = RequestFactory().get("/")
    user_login_failed.send(sender="test", credentials={}, request=request)
    answer(site, request)
    assert used(2) == 1


async def test_a_client_that_goes_away_does_not_get_its_failed_login_for_free() -> None:
    await sync_to_async(define)("login", "2/h", "login_failed", prefix="/")
    entered = asyncio.Event()

    async def view(request: HttpRequest) -> HttpResponse:
        await user_login_failed.asend(sender="test", credentials={}, request=request)
        entered.set()
        await asyncio.Event().wait()
        return HttpResponse("never")

    task = asyncio.ensure_future(behind_middleware(view)(RequestFactory().get("/")))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await ratewindow.apeek("login", "ip:127.0.0.1")).remaining == 1
