"""What the person of a request may do in the admin, and how identities are shown to them: masked without `view_identity`."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils.translation import gettext

from ratewindow.identity import paths_in
from ratewindow.operations.lockout import may_view_overrides
from ratewindow.overrides.subjects import in_words, masked


def require(is_permitted: object) -> None:
    """Raise PermissionDenied unless it is true."""
    if not is_permitted:
        raise PermissionDenied


def may_see(request: HttpRequest) -> bool:
    return bool(request.user.has_perm("ratewindow.view_identity"))


def may_look_up(request: HttpRequest) -> bool:
    """Whether the user of this request may be told what holds for a client that they name.

    With masked identities they may not: they could name one client after the other until an answer unmasks a row.
    """
    return may_see(request) and may_view_overrides(request)


def may_view_users(request: HttpRequest) -> bool:
    """Whether this person may see users, in the admin if they are there."""
    model: Any = get_user_model()
    if model in admin.site._registry:
        return admin.site._registry[model].has_view_permission(request)
    return any(request.user.has_perm(f"{model._meta.app_label}.{verb}_{model._meta.model_name}") for verb in ("view", "change"))


def display(request: HttpRequest, identity: str) -> str:
    """A client that sends requests, as the user of this request may see it: with masks that tell it from others."""
    return in_words(identity) if may_see(request) else masked(identity)


def whom(request: HttpRequest, identity: str) -> str:
    """Whom an override is for, or a release, as the user of this request may see it: with masks that lead to no client."""
    return in_words(identity) if may_see(request) else masked(identity, veiled=True)


def may_release(request: HttpRequest) -> bool:
    return bool(request.user.has_perm("ratewindow.release_identity"))


def may_switch(request: HttpRequest) -> bool:
    return bool(request.user.has_perm("ratewindow.switch_limits"))


def may_enforce(request: HttpRequest) -> bool:
    return request.user.has_perm("ratewindow.enforce_raterule")


def check_code(request: HttpRequest, text: str, before: Any = None) -> str:
    """Return `text`, or raise ValidationError if it names code and the user is no superuser. A value may stay as it was."""
    if text != before and not (request.user.is_active and request.user.is_superuser) and (paths := paths_in(text)):
        message = (
            gettext("%r is code, which only superusers may use as a key. A developer can register it with @ratekey.") % paths[0]
        )
        raise forms.ValidationError(message, code="code")
    return text
