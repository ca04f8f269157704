"""Where people log in, reset a password or sign up, and in which field a login sends the name that it tries."""

import re
from typing import Any

from django.contrib.auth import get_user_model

from ratewindow.rules.site_routes import Route, classes_of

_LOGIN_NAME = re.compile(r"(\w+_)?(log[-_]?in|sign[-_]?in)", re.IGNORECASE)
_RESET_NAME = re.compile(r"(\w+_)?(password[-_]?reset|reset[-_]?password|(forgot|lost)[-_]?password)", re.IGNORECASE)
_SIGN_UP_NAME = re.compile(r"(\w+_)?(sign[-_]?up|register|registration)", re.IGNORECASE)

_USERNAME, _LOGIN, _USER_FIELD = "post:username", "post:login", "body:"
LOGINS = {
    "allauth.account.views.LoginView": _LOGIN,
    "dj_rest_auth.views.LoginView": _USER_FIELD,
    "django.contrib.admin.sites.AdminSite.login": _USERNAME,
    "django.contrib.auth.views.LoginView": _USERNAME,
    "djoser.views.TokenCreateView": _USER_FIELD,
    "rest_framework.authtoken.views.ObtainAuthToken": "body:username",
    "rest_framework_simplejwt.views.TokenObtainPairView": _USER_FIELD,
    "rest_framework_simplejwt.views.TokenObtainSlidingView": _USER_FIELD,
}
_RESETS = {
    "allauth.account.views.PasswordResetView",
    "dj_rest_auth.views.PasswordResetView",
    "django.contrib.auth.views.PasswordResetView",
}
_SIGN_UPS = {
    "allauth.account.views.SignupView",
    "dj_rest_auth.registration.views.RegisterView",
    "django_registration.views.RegistrationView",
}


def is_login(route: Route) -> bool:
    return not LOGINS.keys().isdisjoint(route.places) or _is_named(route, _LOGIN_NAME)


def is_reset(route: Route) -> bool:
    return not _RESETS.isdisjoint(route.places) or _is_named(route, _RESET_NAME)


def is_sign_up(route: Route) -> bool:
    return not _SIGN_UPS.isdisjoint(route.places) or _is_named(route, _SIGN_UP_NAME)


def _is_named(route: Route, pattern: re.Pattern[str]) -> bool:
    """Whether the URL's name, or the last part of its path, is one that `pattern` knows; and a form can be sent there."""
    name, last = route.way.url_name or "", route.path.rstrip("/").rpartition("/")[2]
    return bool(pattern.fullmatch(name) or pattern.fullmatch(last)) and (not route.methods or "POST" in route.methods)


def login_key(route: Route) -> str:
    """The key for each login name tried with its address; for each address where the name's field is not known."""
    field = _form_field(route) or next((LOGINS[each] for each in route.places if each in LOGINS), "")
    if field == _USER_FIELD:
        field += get_user_model().USERNAME_FIELD
    return f"ip+{field}" if field else "ip"


def _form_field(route: Route) -> str:
    """The field of the view's own form, if it has one of a usual name."""
    for _, shown, given in classes_of(route.way.callback):
        for option in ("authentication_form", "form_class"):
            form: Any = given.get(option) or getattr(shown, option, None)
            for name in ("username", "email", "login"):
                if name in getattr(form, "base_fields", ()):
                    return f"post:{name}"
    return ""
