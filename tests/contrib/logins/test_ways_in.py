"""What the refused see: each way in answers in its own form, never with an error of the server."""

import base64
import sys
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.test import Client
from django.urls import path
from rest_framework.authentication import BasicAuthentication
from rest_framework.authtoken.serializers import AuthTokenSerializer
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.permissions import IsAuthenticated
from rest_framework.response import Response
from rest_framework_simplejwt.views import TokenObtainPairView

from ratewindow import RateLimited
from ratewindow.contrib.logins.refused import exception_for
from ratewindow.limiter.types import Decision
from testproject.urls import urlpatterns
from tests.contrib.logins.support.trying import PASSWORD, login
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)


@api_view(["GET"])
@authentication_classes([BasicAuthentication])
@permission_classes([IsAuthenticated])
def basic(request: Any) -> Response:
    return Response({"name": request.user.username})


@api_view(["POST"])
@authentication_classes([])
@permission_classes([])
def token(request: Any) -> Response:
    AuthTokenSerializer(data=request.data, context={"request": request}).is_valid(raise_exception=True)
    return Response()


def own(request: HttpRequest) -> HttpResponse:
    user = authenticate(request, username=request.POST.get("name"), password=request.POST.get("secret"))
    return JsonResponse({"ok": user is not None}, status=200 if user else 401)


ROUTES = [
    path("basic/", basic),
    path("token/", token),
    path("jwt/", TokenObtainPairView.as_view()),
    path("own/", own),
    *urlpatterns,
]


def by_basic(name: str, password: str) -> Any:
    given = base64.b64encode(f"{name}:{password}".encode()).decode()
    return Client().get("/basic/", headers={"Authorization": f"Basic {given}"})


def by_token(name: str, password: str) -> Any:
    return Client().post("/token/", {"username": name, "password": password}, content_type="application/json")


def by_jwt(name: str, password: str) -> Any:
    return Client().post("/jwt/", {"username": name, "password": password}, content_type="application/json")


def by_own(name: str, password: str) -> Any:
    return Client().post("/own/", {"name": name, "secret": password})


WAYS = (login, by_basic, by_token, by_jwt, by_own)


def test_all_ways_in_share_one_count(checked: list[str], ann: Any) -> None:
    with site(*ROUTES):
        told = [WAYS[number % 5]("ann", f"x{number}").status_code for number in range(20)]
    assert checked == ["ann"] * 5 and told[5:] == [429] * 15


@pytest.mark.parametrize("way", [by_basic, by_token, by_jwt])
def test_rest_framework_answers_as_it_does_when_it_throttles(checked: list[str], ann: Any, way: Any) -> None:
    with site(*ROUTES):
        told = [way("ann", "x") for _ in range(7)]
        assert [each.status_code for each in told[5:]] == [429, 429] and len(checked) == 5
        last = told[-1]
        assert last.json()["detail"].startswith("Request was throttled. Expected available in ")
        assert 0 < int(last["Retry-After"]) <= 60
        assert way("bob", "x").status_code in (400, 401)


def test_a_page_is_answered_by_a_page_and_a_program_by_problem_details(checked: list[str], ann: Any) -> None:
    with site(*ROUTES):
        for _ in range(5):
            by_own("ann", "x")
        data = {"name": "ann", "secret": "x"}
        page = Client().post("/own/", data, headers={"Accept": "text/html"})
        assert page.status_code == 429 and page["Content-Type"].startswith("text/html") and 0 < int(page["Retry-After"]) <= 60
        told = Client().post("/login/?x", {"username": "ann", "password": "x"}, headers={"Accept": "application/json"})
        assert told["Content-Type"] == "application/problem+json" and told.json()["status"] == 429


def test_a_program_that_sends_json_gets_json(checked: list[str], ann: Any) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        authenticate(request, username="ann", password="x")
        return HttpResponse(status=401)

    with site(path("api/login/", view), *urlpatterns):
        told = [Client().post("/api/login/", {}, content_type="application/json") for _ in range(6)][-1]
    assert told.status_code == 429 and told["Content-Type"] == "application/problem+json"


def test_a_framework_that_says_nothing_of_waiting_gets_the_header(checked: list[str], ann: Any) -> None:
    """As Django Ninja, whose error has a status and a text."""

    def view(request: HttpRequest) -> HttpResponse:
        try:
            authenticate(request, username="ann", password="x")
        except RateLimited as error:
            return JsonResponse({"detail": str(error)}, status=429)
        return HttpResponse(status=401)

    with site(path("ninja/", view), *urlpatterns):
        told = [Client().post("/ninja/") for _ in range(6)][-1]
    assert told.json()["detail"].startswith("Too many requests.") and 0 < int(told["Retry-After"]) <= 60


def test_the_exception_is_one_of_each_framework_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    class HttpError(Exception):
        def __init__(self, status_code: int, message: str) -> None:
            self.status_code, self.message = status_code, message
            super().__init__(status_code, message)

    ninja = ModuleType("ninja.errors")
    ninja.HttpError = HttpError  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ninja.errors", ninja)
    from rest_framework.exceptions import Throttled

    error = exception_for(Decision(allowed=False, reason="limit", retry_after=7.2, rule="login.name"))
    assert isinstance(error, RateLimited) and isinstance(error, HttpError) and isinstance(error, Throttled)
    assert (error.status_code, error.message) == (429, str(error))
    assert error.extensions == {"code": "THROTTLED", "retryAfter": 8} and error.wait == 8


def test_each_refusal_is_logged_once(checked: list[str], ann: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "ratewindow.refusals")
    with site(*ROUTES):
        for way in WAYS:
            told = [way("ann", "x") for _ in range(2)]
        assert told[-1].status_code == 429
    refusals = [record for record in caplog.records if record.name == "ratewindow.refusals"]
    assert len(refusals) == 5 and {record.rule for record in refusals} == {"login.name"}  # type: ignore[attr-defined]


def test_right_passwords_pass_by_every_way(checked: list[str], ann: Any) -> None:
    with site(*ROUTES):
        for _ in range(8):
            assert {way("ann", PASSWORD).status_code for way in WAYS} <= {200, 302}
