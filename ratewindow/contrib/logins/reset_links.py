"""Whose reset link a request has opened: who opens a valid one owns the mailbox, so that device becomes known.

Only the view knows whether a link is valid, so its answer is read. Whose it is says what the view has checked: the URL of a page,
what was sent to an API.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponseBase
from django.http.request import RawPostDataException
from django.utils.http import urlsafe_base64_decode
from django.utils.module_loading import import_string

from ratewindow.contrib.logins.views import remembered
from ratewindow.identity.custom_keys import place_of
from ratewindow.rules.site_routes import class_behind
from ratewindow.start.login_routes import public

_READERS: dict[str, Callable[[str], Any]] = {
    "uidb64": lambda text: urlsafe_base64_decode(text).decode(),
    "uidb36": lambda text: import_string("allauth.account.utils.url_str_to_user_pk")(text),
}
_PAGES = {  # the captured part of the URL that says whose link it is
    "allauth.account.views.PasswordResetFromKeyView": "uidb36",
    "django.contrib.auth.views.PasswordResetConfirmView": "uidb64",
}
_APIS = {  # the field that says so
    "allauth.headless.account.views.ResetPasswordView": "key",
    "dj_rest_auth.views.PasswordResetConfirmView": "uid",
    "djoser.views.UserViewSet": "uid",
}
_DJOSERS = "reset_password_confirm"  # the only action of that view set with a link


@remembered
def view_for_links(view: Any) -> str:
    """The name by which its package knows a view that links to reset a password lead to; empty for any other view."""
    shown = class_behind(view)
    places = [public(place_of(each)) for each in shown[0].__mro__[:-1]] if shown is not None else []
    return next((place for place in places if place in _PAGES or place in _APIS), "")


def owner(request: HttpRequest, response: HttpResponseBase) -> Any:
    """The user whose valid link this was, or has just been used; None if there is none."""
    match: Any = request.resolver_match
    place = view_for_links(match.func)
    if kind := _PAGES.get(place):
        return _user(kind, match.kwargs.get(kind)) if _is_valid_page(request, response) else None
    is_for_links = getattr(match.func, "actions", {"post": _DJOSERS}).get("post") == _DJOSERS
    if not is_for_links or request.method != "POST" or response.status_code >= 300:
        return None
    return _user(*_said(place, _sent(request, response)))


def _is_valid_page(request: HttpRequest, response: HttpResponseBase) -> bool:
    """The page of a link says whether it is valid, and a form that was sent leads on only from a valid one."""
    if request.method == "POST":
        return response.status_code == 302
    return bool((getattr(response, "context_data", None) or {}).get("validlink"))


def _said(place: str, sent: Mapping[str, Any]) -> tuple[str, Any]:
    """How an API writes users, and which one it was sent."""
    text = str(sent.get(_APIS[place]) or "")
    if _APIS[place] == "key":
        return "uidb36", text.partition("-")[0]
    return ("uidb36" if place.startswith("dj_rest_auth.") and apps.is_installed("allauth") else "uidb64"), text


def _sent(request: HttpRequest, response: HttpResponseBase) -> Mapping[str, Any]:
    """What REST framework has read, which can be read once; else JSON."""
    with suppress(ValueError, RawPostDataException):
        if context := getattr(response, "renderer_context", None):
            return context["request"].data  # type: ignore[no-any-return]
        found = json.loads(request.body)
        return found if isinstance(found, dict) else {}
    return {}


def _user(kind: str, text: Any) -> Any:
    model = get_user_model()
    with suppress(ValueError, TypeError, OverflowError, ValidationError, model.DoesNotExist):
        return model._default_manager.get(pk=model._meta.pk.to_python(_READERS[kind](text)))
    return None
