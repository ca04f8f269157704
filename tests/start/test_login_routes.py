"""Where the packages that most sites use log in, reset passwords, sign up and take codes: found by view, none made up."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views import View

from ratewindow.rules.site_routes import Route, routes
from ratewindow.start.login_routes import is_for, name_field
from tests.support.urlconfs import site

RECORDED = (Path(__file__).parent / "account_views.txt").read_text("utf-8").splitlines()[2:]
LOGINS = {
    "admin-login": "",
    "login": "post:username",
    "account_login": "post:login",
    "mfa_login_webauthn": "",
    "headless-browser-account-login": "",
    "headless-browser-mfa-login_webauthn": "",
    "t1": "body:username",
    "/ts/": "body:username",
    "rest_login": "body:username",
    "two_factor-login": "post:auth-username",
    "wagtailadmin_login": "post:username",
    "wagtailcore_login": "post:username",
}
RESETS = {
    *("password_reset", "account_reset_password", "headless-browser-account-request_password_reset", "rest_password_reset"),
    "wagtailadmin_password_reset",
}
SIGN_UPS = {
    *("account_signup", "account_signup_by_passkey", "mfa_signup_webauthn", "socialaccount_signup", "rest_register"),
    *(
        "headless-browser-account-signup",
        "headless-browser-socialaccount-provider_signup",
        "headless-browser-mfa-signup_webauthn",
    ),
}
CODES = {
    *("account_confirm_login_code", "account_confirm_password_reset_code", "account_request_login_code", "mfa_authenticate"),
    *(f"headless-browser-account-{verb}" for verb in ("confirm_login_code", "request_login_code", "resend_login_code")),
    *(f"headless-browser-account-{verb}" for verb in ("verify_email", "resend_email_verification_code", "verify_phone")),
    *("headless-browser-account-resend_phone_verification_code", "headless-browser-mfa-authenticate", "two_factor-login"),
}


def recorded() -> Iterator[Any]:
    for line in RECORDED:
        places, name, where, methods = (part.strip() for part in line.split("|"))
        view = _view(places.split(), methods.split())
        yield path(where.lstrip("/"), view, name=None if name == "-" else name.replace(":", "-"))


def _view(places: list[str], methods: list[str]) -> Any:
    if methods == ["-"]:

        def view(request: HttpRequest) -> HttpResponse:
            return HttpResponse()

        view.__module__, _, view.__qualname__ = _parts(places[0])
        return view
    made: type[View] = View
    for place in reversed(places):
        module, name, qualname = _parts(place)
        made = type(name, (made,), {"__module__": module, "__qualname__": qualname})
    for method in methods:
        setattr(made, method.lower(), lambda self, request: HttpResponse())
    return made.as_view()


def _parts(place: str) -> tuple[str, str, str]:
    outer, _, name = place.rpartition(".")
    module, _, inside = outer.partition(".views.") if ".<locals>" in outer else (outer, "", "")
    if not inside:
        return outer, name, name
    return f"{module}.views", name, f"{inside}.{name}"


@pytest.fixture
def known() -> Iterator[tuple[Route, ...]]:
    with site(*recorded()):
        yield routes()


def labels(known: tuple[Route, ...], kind: str) -> list[str]:
    return [route.label for route in known if is_for(kind, route)]


def test_each_login_of_the_packages_is_found_with_the_field_of_its_name(known: tuple[Route, ...]) -> None:
    fields = {route.label: name_field(route) for route in known if is_for("login", route)}
    assert {label: field.key if field else "" for label, field in fields.items()} == LOGINS


@pytest.mark.parametrize("kind, expected", [("password-reset", RESETS), ("sign-up", SIGN_UPS), ("one-time-code", CODES)])
def test_each_reset_sign_up_and_code_of_the_packages_is_found_and_none_is_made_up(
    known: tuple[Route, ...], kind: str, expected: set[str]
) -> None:
    found = labels(known, kind)
    assert set(found) == expected
    assert len(found) == len(expected)


@pytest.mark.parametrize(
    "name",
    ["login", "alogin", "async_login", "user-login", "api-v1-login", "login-view", "login_api", "sign_in", "staff-log-in"],
)
def test_a_login_of_the_sites_own_is_found_by_its_name(name: str) -> None:
    with site(path("x/", _view(["site.views.Mine"], ["POST"]), name=name)):
        assert labels(routes(), "login") == [name]


@pytest.mark.parametrize("name", ["login_done", "login-help", "design_in", "last-logins", "login-history", "catalogin", "blogin"])
def test_what_is_only_about_logins_is_none(name: str) -> None:
    with site(path("x/", _view(["site.views.Mine"], ["POST"]), name=name)):
        assert labels(routes(), "login") == []


@pytest.mark.parametrize("name", ["otp", "verify_code", "login_code", "two-factor", "user_mfa_verify", "send-sms", "request-otp"])
def test_a_code_of_the_sites_own_is_found_by_its_name(name: str) -> None:
    with site(path("x/", _view(["site.views.Mine"], ["POST"]), name=name)):
        assert labels(routes(), "one-time-code") == [name]


@pytest.mark.parametrize("name", ["promo_code", "code", "source-code", "laptops", "postcode", "otp_help", "country-codes"])
def test_other_codes_are_none(name: str) -> None:
    with site(path("x/", _view(["site.views.Mine"], ["POST"]), name=name)):
        assert labels(routes(), "one-time-code") == []
