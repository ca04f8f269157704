"""Where people log in, reset a password, sign up or send a code, and in which field a login sends the name that it tries."""

import re
from typing import Any

from django.contrib.auth import get_user_model

from ratewindow.operations.known_views import CODES, LOGINS, RESETS, SIGN_UPS, USER_FIELD, is_of_a_package
from ratewindow.rules.site_routes import Route, classes_of

_LOGIN_NAME = re.compile(r"(\w+_)?(log[-_]?in|sign[-_]?in)", re.IGNORECASE)
_RESET_NAME = re.compile(r"(\w+_)?(password[-_]?reset|reset[-_]?password|(forgot|lost)[-_]?password)", re.IGNORECASE)
_CODE_NAME = re.compile(
    r"(\w+_)?(t?otp|[2m]fa|two[-_]?factor|(one[-_]?time|verify|verification|confirm|login|send|resend|request)[-_]?(code|otp|sms))"
    r"([-_]?(verify|verification|confirm|check|challenge|send|login|auth|authenticate))?",
    re.IGNORECASE,
)
_SIGN_UP_NAME = re.compile(r"(\w+_)?(sign[-_]?up|register|registration)", re.IGNORECASE)


def is_login(route: Route) -> bool:
    return not LOGINS.keys().isdisjoint(route.places) or _is_named(route, _LOGIN_NAME)


def is_reset(route: Route) -> bool:
    return not RESETS.isdisjoint(route.places) or _is_named(route, _RESET_NAME)


def is_sign_up(route: Route) -> bool:
    return not SIGN_UPS.isdisjoint(route.places) or _is_named(route, _SIGN_UP_NAME)


def is_code(route: Route) -> bool:
    return not CODES.isdisjoint(route.places) or _is_named(route, _CODE_NAME)


def _is_named(route: Route, pattern: re.Pattern[str]) -> bool:
    """Whether the URL's name, or the last part of its path, is one that `pattern` knows; and a form can be sent there.

    Packages whose views are known have others with such names: a login with another site, a phone that is registered.
    """
    if is_of_a_package(route.way.view):
        return False
    name, last = route.way.url_name or "", route.path.rstrip("/").rpartition("/")[2]
    return bool(pattern.fullmatch(name) or pattern.fullmatch(last)) and (not route.methods or "POST" in route.methods)


def login_key(route: Route) -> str:
    """The key for each login name tried with its address; for each address where the name's field is not known."""
    field = _form_field(route) or next((LOGINS[each] for each in route.places if each in LOGINS), "")
    if field == USER_FIELD:
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
