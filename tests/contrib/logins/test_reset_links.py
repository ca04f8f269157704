"""A valid link to reset the password makes the device known: the owner's way out. No other link does."""

import asyncio
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.tokens import default_token_generator
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client
from django.urls import path
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from rest_framework.response import Response
from rest_framework.views import APIView

from ratewindow.contrib.logins.devices import COOKIE
from testproject.urls import urlpatterns
from tests.contrib.logins.support.trying import login, spend, stranger
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)
NEW = {"new_password1": "a-new-one-2026", "new_password2": "a-new-one-2026"}


def uid(user: Any) -> str:
    return urlsafe_base64_encode(force_bytes(user.pk))


def link(user: Any) -> str:
    return f"/reset/{uid(user)}/{default_token_generator.make_token(user)}/"


def page(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


ROUTES = [
    path("reset/<uidb64>/<token>/", PasswordResetConfirmView.as_view(template_name="demo/login.html", success_url="/done/")),
    path("done/", page),
    *urlpatterns,
]


def test_a_page(checked: list[str], ann: Any) -> None:
    with site(*ROUTES):
        spend()
        browser = Client()
        opened = browser.get(link(ann), follow=True)
        assert COOKIE in browser.cookies and opened.status_code == 200
        browser.post(opened.request["PATH_INFO"], NEW)
        assert login("ann", "a-new-one-2026", "192.0.2.2", browser).status_code == 302


def test_a_page_under_asgi(checked: list[str], ann: Any) -> None:
    with site(*ROUTES):
        browser = AsyncClient()
        asyncio.run(browser.get(link(ann), follow=True))  # type: ignore[arg-type]
        assert COOKIE in browser.cookies


def test_a_wrong_link_does_not(checked: list[str], ann: Any) -> None:
    with site(*ROUTES):
        browser = Client()
        browser.get(link(ann)[:-2] + "x/", follow=True)
        browser.post(link(ann)[:-2] + "x/", NEW)
        browser.get(f"/reset/{uid(ann)[:-1]}?/x/")
        assert COOKIE not in browser.cookies


class Confirm(APIView):
    """An API as packages have it: it takes what was sent, whatever the URL says."""

    authentication_classes = ()
    permission_classes = ()

    def post(self, request: Any, **captured: Any) -> Response:
        pk = urlsafe_base64_decode(request.data["uid"]).decode()
        user = get_user_model().objects.get(pk=pk)
        return Response(status=200 if default_token_generator.check_token(user, request.data["token"]) else 400)


def as_view(place: str, actions: dict[str, str] | None = None) -> Any:
    module, _, name = place.rpartition(".")
    view = type("Mine", (type(name, (Confirm,), {"__module__": module, "__qualname__": name}),), {}).as_view()
    if actions:
        view.actions = actions
    return view


@pytest.mark.parametrize(
    "view, content_type",
    [
        (as_view("dj_rest_auth.views.PasswordResetConfirmView"), "application/json"),
        (as_view("djoser.views.UserViewSet", {"post": "reset_password_confirm"}), "application/x-www-form-urlencoded"),
    ],
)
def test_an_api(checked: list[str], ann: Any, django_user_model: Any, view: Any, content_type: str) -> None:
    bob = django_user_model.objects.create_user("bob", "bob@example.com", "x")

    def send(user: Any, token: str, place: str) -> Client:
        browser = Client()
        said = {"uid": uid(user), "token": token}
        if content_type == "application/json":
            browser.post(place, said, content_type=content_type)
        else:
            browser.post(place, said)
        return browser

    with site(path("api/", view), path("api/<uidb64>/", view), *urlpatterns):
        known = send(ann, default_token_generator.make_token(ann), "/api/")
        of_bob = send(bob, default_token_generator.make_token(bob), f"/api/{uid(ann)}/")
        wrong = send(ann, "x-1", "/api/")
        spend()
        assert COOKIE not in wrong.cookies
        assert login("ann", "right", stranger(8), of_bob).status_code == 429
        assert login("ann", "right", stranger(8), known).status_code == 302


def test_another_action_of_that_view_set_does_not(checked: list[str], ann: Any) -> None:
    view = as_view("djoser.views.UserViewSet", {"post": "set_password"})
    with site(path("api/", view), *urlpatterns):
        browser = Client()
        browser.post("/api/", {"uid": uid(ann), "token": default_token_generator.make_token(ann)})
        assert COOKIE not in browser.cookies
