"""Sites that do what few do: each works as without the gate, and is counted all the same."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth import aauthenticate, authenticate, get_user_model, login as log_in
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.template import Context, Template
from django.test import AsyncClient, Client, override_settings
from django.urls import path
from django.views.debug import SafeExceptionReporterFilter

from ratewindow import RateLimited, ratelimit
from ratewindow.contrib.logins.devices import COOKIE
from ratewindow.contrib.logins.gate import LoginGate, site_gate
from ratewindow.middleware import RateWindowMiddleware
from ratewindow.models import RateRule
from ratewindow.rulebook import reading
from testproject.urls import urlpatterns
from tests.contrib.logins.support.trying import BACKENDS, PASSWORD, device, login, spend, stranger
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)


def own(request: HttpRequest) -> HttpResponse:
    user = authenticate(request, username="ann", password=request.POST.get("secret", "x"))
    return HttpResponse(status=200 if user else 401)


def statuses(view: Any, count: int, *routes: Any) -> list[int]:
    with site(path("own/", view), *routes, *urlpatterns):
        return [
            Client(raise_request_exception=False).post("/own/", REMOTE_ADDR=stranger(number)).status_code
            for number in range(count)
        ]


class Nesting(ModelBackend):
    """Asks whether it is a token before it asks for the password."""

    def authenticate(self, request: Any, username: Any = None, password: Any = None, **others: Any) -> Any:
        if password is None or authenticate(request, token=password):
            return None
        return super().authenticate(request, username=username, password=password)


def test_a_backend_that_asks_others_meanwhile(checked: list[str], ann: Any) -> None:
    with override_settings(AUTHENTICATION_BACKENDS=[BACKENDS[0], f"{__name__}.Nesting"]):
        assert statuses(own, 9) == [401] * 5 + [429] * 4
        assert login("ann", PASSWORD, stranger(50)).status_code == 429


class OfCompanies(ModelBackend):
    """Knows people by their company and a number there."""

    def authenticate(self, request: Any, company: Any = None, number: Any = None, password: Any = None) -> None:  # type: ignore[override]
        return None


def test_names_in_fields_of_the_sites_own_are_one_client_together(checked: list[str]) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        authenticate(request, company="acme", number=int(request.POST["number"]), password="x")
        return HttpResponse(status=401)

    backends = [BACKENDS[0], f"{__name__}.OfCompanies"]
    with override_settings(AUTHENTICATION_BACKENDS=backends), site(path("own/", view), *urlpatterns):
        told = [Client().post("/own/", {"number": 7}, REMOTE_ADDR=stranger(number)).status_code for number in range(6)]
        assert told == [401] * 5 + [429]
        assert Client().post("/own/", {"number": 8}, REMOTE_ADDR=stranger(9)).status_code == 401


def test_failures_of_something_else_are_none_of_a_password(checked: list[str], ann: Any) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        user = authenticate(request, username="ann", password=PASSWORD)
        user_login_failed.send(__name__, credentials={"otp": "1"}, request=request)
        return HttpResponse(status=200 if user else 401)

    assert statuses(view, 9) == [200] * 9


def test_many_logins_at_once_in_one_request(checked: list[str], ann: Any) -> None:
    """As fields of an async GraphQL query, under a rule whose key loads the user."""
    RateRule.objects.define("user", "99/h", applies_to="logins", key="user", count_when="login_failed", mode="enforce")
    reading.reload()
    tried: list[str] = []

    async def view(request: HttpRequest) -> HttpResponse:
        async def guess(name: str) -> None:
            with suppress(RateLimited):
                await aauthenticate(request, username=name, password="x")
                tried.append(name)

        await asyncio.gather(*(guess(name) for name in ("ann", "b", "c", "decoy")))
        return HttpResponse()

    async def send() -> None:
        with site(path("own/", view), *urlpatterns):
            for number in range(7):
                await AsyncClient().post("/own/", REMOTE_ADDR=stranger(number))  # type: ignore[arg-type]

    asyncio.run(send())
    assert [tried.count(name) for name in ("ann", "b", "c", "decoy")] == [5] * 4


class ByBasic:
    """A middleware that asks for a password before there is a view."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if authenticate(request, username="ann", password="x") is None:
            return HttpResponse(status=401)
        return self.get_response(request)


def test_a_middleware_that_authenticates_gets_what_a_wrong_password_gets(checked: list[str], ann: Any) -> None:
    with override_settings(MIDDLEWARE=[*settings.MIDDLEWARE, f"{__name__}.ByBasic"]):
        assert statuses(own, 9) == [401] * 9
    assert len(checked) == 5


def test_so_does_a_view_without_the_middleware(checked: list[str], ann: Any) -> None:
    with override_settings(MIDDLEWARE=[each for each in settings.MIDDLEWARE if "ratewindow" not in each and "Csrf" not in each]):
        assert statuses(ratelimit("beside", "99/m")(own), 9) == [401] * 9
    assert len(checked) == 5


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse()


def test_a_view_without_a_hash(checked: list[str]) -> None:
    assert statuses(Unhashable(), 2) == [200, 200]


def test_a_signal_without_a_request_or_with_a_user_who_has_no_password(checked: list[str], ann: Any) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        user_logged_in.send(
            __name__, user=SimpleNamespace(pk=1, get_username=lambda: "token", save=lambda **_: None), request=request
        )
        return HttpResponse()

    user_logged_in.send(type(ann), user=ann)
    with site(path("own/", view), *urlpatterns):
        answer = Client().post("/own/")
    assert answer.status_code == 200 and COOKIE not in answer.cookies


def test_a_model_without_an_address(monkeypatch: pytest.MonkeyPatch, ann: Any) -> None:
    monkeypatch.setattr(get_user_model(), "get_email_field_name", lambda: "mail")
    assert LoginGate().find_accounts("ann@example.com") == []
    assert LoginGate().find_accounts("ann") == [ann]


def test_a_name_that_is_no_text_in_the_database(checked: list[str], ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a number or a UUID."""
    monkeypatch.setattr(get_user_model(), "get_username", lambda user: 4711)
    browser = device()
    assert [login("ann", "x", stranger(number)).status_code for number in range(6)] == [200] * 5 + [429]
    assert login("ann", PASSWORD, "192.0.2.2", browser).status_code == 302


class Phone:
    """As the field of a form makes it of what is typed."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


class ByText(ModelBackend):
    def authenticate(self, request: Any, username: Any = None, password: Any = None, **others: Any) -> Any:
        text = username.decode() if isinstance(username, bytes) else str(username)
        return super().authenticate(request, username=text, password=password)


@pytest.mark.parametrize("form", [Phone, str.encode])
def test_a_name_that_is_no_text_when_it_is_tried(checked: list[str], ann: Any, form: Callable[[str], Any]) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(status=200 if authenticate(request, username=form("ann"), password="x") else 401)

    with override_settings(AUTHENTICATION_BACKENDS=[BACKENDS[0], f"{__name__}.ByText"]):
        assert statuses(view, 9) == [401] * 5 + [429] * 4
        assert login("ann", PASSWORD, stranger(50)).status_code == 429


def test_a_request_within_a_request(checked: list[str], ann: Any) -> None:
    """A view sends one to the site itself, and is then still the one that asks."""

    def view(request: HttpRequest) -> HttpResponse:
        Client().get("/")
        user = authenticate(None, username="ann", password="x")
        return HttpResponse(status=200 if user else 401)

    assert statuses(view, 9) == [401] * 5 + [429] * 4


def test_switched_off_it_counts_nothing_and_sets_nothing(checked: list[str], ann: Any) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ENABLED": False}):
        assert statuses(own, 9) == [401] * 9
        browser = Client()
        login("ann", PASSWORD, browser=browser)
        assert COOKIE not in browser.cookies


def test_the_password_is_in_no_error_report(checked: list[str], ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(self: Any, name: str) -> Any:
        raise KeyError("broken")

    monkeypatch.setattr(LoginGate, "find_accounts", find)
    try:
        LoginGate().authenticate(HttpRequest(), username="ann", password="hunter2-secret")
    except KeyError as error:
        trace, seen = error.__traceback__, 0
        while trace is not None:
            for name, value in SafeExceptionReporterFilter().get_traceback_frame_variables(None, trace.tb_frame):
                assert "hunter2" not in str(value), (trace.tb_frame.f_code.co_name, name)
                seen += 1
            trace = trace.tb_next
        assert seen > 10


def test_a_backend_that_cannot_be_imported_is_for_django_to_report() -> None:
    with override_settings(AUTHENTICATION_BACKENDS=[BACKENDS[0], "no.such.Backend"]):
        assert site_gate() is not None
        assert not [each for each in run_checks() if str(each.id).startswith("ratewindow.E01")]


def test_a_sign_up_names_the_backend_that_the_settings_have_now(ann: Any) -> None:
    with override_settings(AUTHENTICATION_BACKENDS=["django.contrib.auth.backends.AllowAllUsersModelBackend"]):
        request = HttpRequest()
        request.session = Client().session  # type: ignore[assignment]
        log_in(request, ann)
        assert request.session["_auth_user_backend"].endswith("AllowAllUsersModelBackend")
    with override_settings(AUTHENTICATION_BACKENDS=[*BACKENDS, "django.contrib.auth.backends.AllowAllUsersModelBackend"]):
        assert not hasattr(get_user_model()(), "backend")
        assert Template("{{ user.backend }}").render(Context({"user": ann})) == ""


def test_of_two_logins_in_one_request_the_right_one_is_trusted(checked: list[str], ann: Any, django_user_model: Any) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        authenticate(request, username="ann", password=PASSWORD)
        authenticate(request, username="bob", password="x")
        return HttpResponse()

    django_user_model.objects.create_user("bob", password=PASSWORD)
    statuses(view, 1)
    spend()
    spend("bob")
    assert login("ann", PASSWORD, stranger(0)).status_code == 302
    assert login("bob", PASSWORD, stranger(0)).status_code == 429


def test_a_middleware_of_the_sites_own_that_is_a_subclass(checked: list[str], ann: Any) -> None:
    ours = "ratewindow.middleware.RateWindowMiddleware"
    with override_settings(MIDDLEWARE=[f"{__name__}.Limits" if each == ours else each for each in settings.MIDDLEWARE]):
        assert not [each for each in run_checks() if each.id in ("ratewindow.E013", "ratewindow.W007")]
        assert statuses(own, 6) == [401] * 5 + [429]


class Limits(RateWindowMiddleware):
    pass


def test_a_gate_without_its_app_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apps, "is_installed", lambda name: False)
    with pytest.raises(ImproperlyConfigured, match=r"add 'ratewindow\.contrib\.logins' to INSTALLED_APPS, or leave it out"):
        LoginGate()
    with pytest.raises(ImproperlyConfigured, match=r"logins needs 'ratewindow' in INSTALLED_APPS"):
        apps.get_app_config("ratewindow_logins").ready()
