"""Where else something is guessed or asked for: steps of an account that ask Django's ``authenticate()`` nothing, by their views.

A rule applies to all steps of a kind. The views of packages are known by name, a site's own by the names that such URLs have,
or by a decorator.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from django.http import HttpRequest

from ratewindow.contrib.logins.targets import CHANGES, CODES, RESETS, SIGN_UPS
from ratewindow.identity.custom_keys import place_of
from ratewindow.identity.request_attributes import match_of
from ratewindow.rules.path_variants import view_name
from ratewindow.rules.site_routes import class_behind
from ratewindow.start import login_routes

View = TypeVar("View", bound=Callable[..., Any])

_MAILED = {  # where somebody asks for a mail to an address
    "allauth.account.views.RequestLoginCodeView",
    "allauth.headless.account.views.RequestLoginCodeView",
    "dj_rest_auth.registration.views.ResendEmailVerificationView",
    "djoser.views.UserViewSet.resend_activation",
    "djoser.views.UserViewSet.reset_password",
    "djoser.views.UserViewSet.reset_username",
}
_VIEWS = {
    RESETS: login_routes.RESETS | _MAILED,
    SIGN_UPS: login_routes.SIGN_UPS | {"djoser.views.UserViewSet.create"},
    CODES: (login_routes.CODES - _MAILED)
    | {
        "allauth.account.views.ConfirmReauthenticationCodeView",
        "allauth.headless.account.views.ConfirmReauthenticationCodeView",
        "dj_rest_auth.mfa.views.MFAVerifyView",
        "dj_rest_auth.mfa.views.TOTPDeactivateView",
        "oauth2_provider.views.device.DeviceUserCodeView",
        "wagtail.documents.views.serve.authenticate_with_password",  # one password for all visitors of a page
        "wagtail.views.authenticate_with_password",
    },
    CHANGES: {
        "allauth.account.views.PasswordChangeView",
        "allauth.account.views.ReauthenticateView",
        "allauth.headless.account.views.ChangePasswordView",
        "allauth.headless.account.views.ReauthenticateView",
        "allauth.headless.mfa.views.ReauthenticateView",
        "allauth.mfa.base.views.ReauthenticateView",
        "dj_rest_auth.views.PasswordChangeView",
        "django.contrib.admin.sites.AdminSite.password_change",
        "django.contrib.auth.views.PasswordChangeView",
        "djoser.views.UserViewSet.destroy",
        "djoser.views.UserViewSet.me.delete",
        "djoser.views.UserViewSet.set_password",
        "djoser.views.UserViewSet.set_username",
        "wagtail.admin.views.account.AccountView",
    },
}
_NAMES = {
    RESETS: login_routes.RESET_NAME,
    SIGN_UPS: login_routes.SIGN_UP_NAME,
    CODES: login_routes.CODE_NAME,
    CHANGES: re.compile(r"(\w+_)?(password[-_]?change|change[-_]?password|re[-_]?auth(enticate)?)", re.IGNORECASE),
}
_TWO_FACTOR = "two_factor.views.core.LoginView"
_MARK = "_ratewindow_step"


def step(kind: str) -> Callable[[View], View]:
    """Count a view of the site's own as a step of this kind: ``resets``, ``sign_ups``, ``codes`` or ``changes``.

    A view may be a function, a class, or a method of a class that answers. Raises ValueError."""
    if kind not in _VIEWS:
        raise ValueError(f"{kind!r} is no kind of step: write {', '.join(_VIEWS)}")

    def mark(view: View) -> View:
        setattr(view, _MARK, kind)
        return view

    return mark


def is_step(kind: str, request: HttpRequest) -> bool:
    """Whether this request sends something to a step of that kind."""
    if request.method in ("GET", "HEAD", "OPTIONS"):
        return False
    match = match_of(request)
    if match is None or kind not in kinds_of(match.func, (request.method or "").lower(), match.url_name or "", match.route):
        return False
    return kind != CODES or not (_TWO_FACTOR in _places(match.func) and _sends_password(request))


def kinds_of(view: Any, method: str, name: str, route: str) -> frozenset[str]:
    """The kinds of a view, for a method in lower case."""
    try:
        return _kinds_of(view, method, name, route)
    except TypeError:  # an object without a hash
        return _kinds_of.__wrapped__(view, method, name, route)


@lru_cache(maxsize=1024)
def _kinds_of(view: Any, method: str, name: str, route: str) -> frozenset[str]:
    action = (getattr(view, "actions", None) or {}).get(method, "")
    lineage = _lineage(view)
    handlers = (vars(each).get(action or method) for each in lineage)
    marks = (vars(each)[_MARK] for each in (view, *lineage, *handlers) if _MARK in getattr(each, "__dict__", {}))
    if marked := next(marks, None):
        return frozenset([marked])
    places = _places(view)
    places |= {f"{place}.{action}{end}" for place in places if action for end in ("", f".{method}")}
    found = {kind for kind, views in _VIEWS.items() if not places.isdisjoint(views)}
    if not found and not any(place.startswith(login_routes.PACKAGES) for place in places):
        last = route.rstrip("/$").rpartition("/")[2]
        found = {kind for kind, names in _NAMES.items() if names.fullmatch(name) or names.fullmatch(last)}
    return frozenset(found)


def _lineage(view: Any) -> Sequence[type]:
    shown = class_behind(view)
    return shown[0].__mro__[:-1] if shown else ()


def _places(view: Any) -> set[str]:
    return {login_routes.public(place) for place in (view_name(view), *map(place_of, _lineage(view)))}


def _sends_password(request: HttpRequest) -> bool:
    """Whether it is the first step of two-factor's wizard, which the gate counts."""
    steps = [value for name, value in request.POST.items() if name.endswith("-current_step")]
    return bool(steps) and all(value == "auth" for value in steps)
