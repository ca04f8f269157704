"""Where people log in, reset a password, sign up or send a code, and in which field a login sends the name that it tries."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from ratewindow.operations.known_views import CODES, LOGINS, RESETS, SIGN_UPS, USER_FIELD, is_of_a_package
from ratewindow.overrides import users
from ratewindow.rules.site_routes import Route, classes_of

_LOGIN_NAME = re.compile(r"([\w-]+[-_])?a?(log|sign)[-_]?in([-_](api|view))?", re.IGNORECASE)  # `a` as in Django's own `alogin`
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


class NameField(NamedTuple):
    """Where a login sends the name that it tries."""

    key: str
    is_always_sent: bool


def name_field(route: Route) -> NameField | None:
    """The field of the view's own form; else the one that is known of its package; else that of its serializer."""
    known = next((_known(LOGINS[each]) for each in route.places if LOGINS.get(each)), None)
    return (
        _declared(route, "post", ("authentication_form", "form_class"))
        or known
        or _declared(route, "body", ("serializer_class",))
    )


def names_looked_for() -> list[str]:
    """The names under which a form or a serializer may have the field."""
    return list(dict.fromkeys(["username", "email", "login", _name_of_users()]))


def _name_of_users() -> str:
    """The field by which users of the site's model log in."""
    return str(getattr(users.model(), "USERNAME_FIELD", "username"))


def _known(field: str) -> NameField:
    key = field.removesuffix("?")
    return NameField(f"body:{_name_of_users()}" if key == USER_FIELD else key, key == field)


def _declared(route: Route, kind: str, options: Iterable[str]) -> NameField | None:
    for _, shown, given in classes_of(route.way.callback):
        for option in options:
            form: Any = given.get(option) or getattr(shown, option, None)
            fields = getattr(form, "base_fields", None) or getattr(form, "_declared_fields", {})
            for name in names_looked_for():
                if name in fields:
                    return NameField(f"{kind}:{name}", fields[name].required)
    return None
