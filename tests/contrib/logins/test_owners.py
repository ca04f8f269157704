"""Who proves to own an account, beside by a login: whoever opens a valid link to reset its password, or sets it. The device is
known then; no other link or change makes it known."""

import asyncio
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.contrib.auth.tokens import default_token_generator
from django.contrib.auth.views import PasswordChangeView, PasswordResetConfirmView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.test import AsyncClient, Client, override_settings
from django.urls import path
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from rest_framework.authentication import SessionAuthentication
from rest_framework.response import Response
from rest_framework.views import APIView

from ratewindow.contrib.logins.devices import COOKIE
from testproject.urls import urlpatterns
from tests.contrib.logins.support.trying import PASSWORD, device, login, spend, stranger
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)
OTHER = "a-new-one-2026"
NEW = {"new_password1": OTHER, "new_password2": OTHER}


def uid(user: Any) -> str:
    return urlsafe_base64_encode(force_bytes(user.pk))


def link(user: Any) -> str:
    return f"/reset/{uid(user)}/{default_token_generator.make_token(user)}/"


def page(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


CONFIRM = PasswordResetConfirmView.as_view(template_name="demo/login.html", success_url="/done/")
CHANGE = PasswordChangeView.as_view(template_name="demo/login.html", success_url="/done/")
ROUTES = [path("reset/<uidb64>/<token>/", CONFIRM), path("done/", page), path("change/", CHANGE), *urlpatterns]


def test_a_valid_link(checked: list[str], ann: Any) -> None:
    with site(*ROUTES):
        spend()
        browser = Client()
        opened = browser.get(link(ann), follow=True)
        assert COOKIE in browser.cookies and opened.status_code == 200
        browser.post(opened.request["PATH_INFO"], NEW)
        assert login("ann", OTHER, "192.0.2.2", browser).status_code == 302


def test_a_valid_link_without_another_password(checked: list[str], ann: Any) -> None:
    with site(*ROUTES):
        spend()
        browser = Client()
        browser.get(link(ann), follow=True)
        assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 302


def test_a_valid_link_under_asgi(checked: list[str], ann: Any) -> None:
    with site(*ROUTES):
        browser = AsyncClient()
        asyncio.run(browser.get(link(ann), follow=True))  # type: ignore[arg-type]
        assert COOKIE in browser.cookies


def test_a_wrong_link_makes_no_device_known(checked: list[str], ann: Any) -> None:
    with site(*ROUTES):
        browser = Client()
        browser.get(link(ann)[:-2] + "x/", follow=True)
        browser.post(link(ann)[:-2] + "x/", NEW)
        assert browser.get("/reset/%3F/x/").resolver_match.func is CONFIRM
        assert COOKIE not in browser.cookies


class Terms:
    """A middleware that sends everybody elsewhere, before there is a view."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> Any:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: Any) -> Any:
        return redirect("/done/") if request.path.startswith("/reset/") else None


def test_a_wrong_link_that_leads_elsewhere_does_not(checked: list[str], ann: Any) -> None:
    with site(*ROUTES), override_settings(MIDDLEWARE=[*settings.MIDDLEWARE, f"{__name__}.Terms"]):
        browser = Client()
        assert browser.post(f"/reset/{uid(ann)}/x/", NEW).status_code == 302
        assert COOKIE not in browser.cookies


def test_links_push_no_account_out_of_a_browser(checked: list[str], ann: Any, django_user_model: Any) -> None:
    """Another site can have a browser open them."""
    browser = device()
    with site(*ROUTES):
        for number in range(9):
            other = django_user_model.objects.create_user(f"n{number}", password="x")
            browser.get(link(other), follow=True)
        spend()
        assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 302


def set_by_code(request: HttpRequest) -> HttpResponse:
    """A reset as APIs have it: by a code that was mailed, in a view of any name."""
    if request.POST["code"] != "right":
        return HttpResponse("no", status=200)
    user = get_user_model().objects.get(username=request.POST["name"])
    user.set_password(OTHER)
    user.save()
    return HttpResponse(status=401)  # not logged in yet


async def aset_by_code(request: HttpRequest) -> HttpResponse:
    user = await get_user_model().objects.aget(username=request.POST["name"])
    user.set_password(OTHER)
    await user.asave()
    return HttpResponse()


def test_who_sets_the_password(checked: list[str], ann: Any) -> None:
    with site(path("set/", set_by_code), *urlpatterns):
        wrong, right = Client(), Client()
        wrong.post("/set/", {"name": "ann", "code": "wrong"})
        right.post("/set/", {"name": "ann", "code": "right"})
        assert COOKIE not in wrong.cookies
        spend(password=OTHER)
        assert login("ann", OTHER, stranger(8), right).status_code == 302


def test_who_sets_the_password_under_asgi(checked: list[str], ann: Any) -> None:
    with site(path("set/", aset_by_code), *urlpatterns):
        browser = AsyncClient()
        asyncio.run(browser.post("/set/", {"name": "ann"}))  # type: ignore[arg-type]
        assert COOKIE in browser.cookies


def test_who_signs_up_or_has_a_new_password_mailed_is_not_told_apart(checked: list[str], ann: Any) -> None:
    """Else the cookie would tell whether somebody has that name."""

    def sign_up(request: HttpRequest) -> HttpResponse:
        user = get_user_model()(username="new")
        user.set_password(PASSWORD)
        user.save()
        return HttpResponse()

    with site(path("new/", sign_up), path("set/", set_by_code, name="forgot_password"), *urlpatterns):
        browser = Client()
        browser.post("/new/")
        browser.post("/set/", {"name": "ann", "code": "right"})
        assert COOKIE not in browser.cookies


class Key:
    """As who asks an API by a key: no user."""


def test_a_request_of_what_is_no_user(checked: list[str], ann: Any) -> None:
    def view(request: Any) -> HttpResponse:
        request.user = Key()
        ann.set_password(OTHER)
        ann.save()
        return HttpResponse()

    with site(path("set/", view), *urlpatterns):
        assert Client().post("/set/").status_code == 200


def test_staff_who_set_the_password_of_another_do_not(checked: list[str], ann: Any, admin_client: Client) -> None:
    sent = {"password1": OTHER, "password2": OTHER, "usable_password": "true"}
    assert admin_client.post(f"/admin/auth/user/{ann.pk}/password/", sent).status_code == 302
    ann.refresh_from_db()
    assert ann.check_password(OTHER) and COOKIE not in admin_client.cookies


class ByApi(APIView):
    authentication_classes = (SessionAuthentication,)

    def post(self, request: Any) -> Response:
        if not request.user.check_password(request.data["old_password"]):
            return Response(status=400)
        request.user.set_password(OTHER)
        request.user.save()
        return Response({"detail": "saved"})


@pytest.mark.parametrize("place", ["/change/", "/api/"])
def test_who_changes_the_password_at_a_known_device_keeps_it_known(checked: list[str], ann: Any, place: str) -> None:
    with site(path("api/", ByApi.as_view()), *ROUTES):
        browser, other = Client(), device()
        login("ann", PASSWORD, "192.0.2.1", browser)
        assert browser.post(place, {"old_password": PASSWORD, **NEW}).status_code < 400
        browser.cookies.pop("sessionid", None)
        spend(password=OTHER)
        assert login("ann", OTHER, "192.0.2.2", browser).status_code == 302
        assert login("ann", OTHER, "192.0.2.2", other).status_code == 429


@pytest.mark.parametrize("place", ["/change/", "/api/"])
def test_a_session_alone_makes_no_device_known(checked: list[str], ann: Any, place: str) -> None:
    """As a stolen one: the form that is shown again says nothing of who has filled it in."""
    with site(path("api/", ByApi.as_view()), *ROUTES):
        browser = Client()
        browser.force_login(ann)
        browser.post(place, {"old_password": "x", **NEW})
        assert COOKIE not in browser.cookies


HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher", "django.contrib.auth.hashers.MD5PasswordHasher"]


@override_settings(PASSWORD_HASHERS=HASHERS)
def test_a_password_that_is_hashed_anew_is_not_set(checked: list[str], ann: Any) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(str(get_user_model().objects.get(username="ann").check_password(PASSWORD)))

    get_user_model().objects.filter(pk=ann.pk).update(password=make_password(PASSWORD, hasher="md5"))
    with site(path("own/", view), *urlpatterns):
        browser = Client()
        assert browser.post("/own/").content == b"True"
    ann.refresh_from_db()
    assert ann.password.startswith("pbkdf2") and COOKIE not in browser.cookies
