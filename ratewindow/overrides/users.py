"""Users in overrides: their primary key, written as in the identities of requests, and found by their login names.

A site may have no users, or none in groups, and do without Django's app for them.
"""

from types import SimpleNamespace
from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import models

from ratewindow.limiter.problem import Problem


def model() -> Any:
    """The user model; None on a site without users."""
    try:
        return get_user_model()
    except ImproperlyConfigured:
        return None


def groups_of_users() -> Any:
    """The relation of users to their groups; None if they have none."""
    groups = getattr(model(), "groups", None)
    return groups if hasattr(groups, "through") else None


def anonymous() -> Any:
    """The user of a request that nobody has signed in for."""
    if not apps.is_installed("django.contrib.auth"):
        return SimpleNamespace(pk=None, id=None, is_authenticated=False, is_anonymous=True, is_staff=False, is_superuser=False)
    from django.contrib.auth.models import AnonymousUser

    return AnonymousUser()


def canonical(text: str) -> str:
    """``1`` for `` 01 ``; a text that cannot be a primary key is returned as it is, since code may count by it."""
    key = _key(text)
    return text.strip() if key is None else str(key)


def check_user(text: str) -> None:
    """Raise ValueError if no user can have this primary key."""
    if _key(text) is None:
        raise Problem("{text!r} cannot be the primary key of a user: write for example user:42", text=text[:64])


def found(text: str) -> Any:
    """The user with this primary key; None without one."""
    users, key = model(), _key(text)
    return users._base_manager.filter(pk=key).first() if users is not None and key is not None else None


def named(text: str) -> str:
    """``user:42`` for the login name of a user; empty without such a user."""
    users = model()
    if users is None or not text.isprintable():  # what no form of Django accepts, and some databases neither
        return ""
    try:
        user = users._base_manager.filter(**{users.USERNAME_FIELD: text}).first()
    except (ValidationError, TypeError, ValueError):  # a field of numbers or of UUIDs
        return ""
    return f"user:{user.pk}" if user is not None else ""


def _key(text: str) -> Any:
    """The primary key that a text is; None if it cannot be one. Without a model any text may be."""
    users, text = model(), text.strip()
    if users is None:
        return text
    field: Any = users._meta.pk
    if isinstance(field, models.IntegerField) and not text.isdecimal():  # int() takes 1_0 and -1, too
        return None
    try:
        return field.to_python(text)
    except (ValidationError, TypeError, ValueError):
        return None
