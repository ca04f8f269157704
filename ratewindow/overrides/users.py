"""Users in overrides: their primary key, written as in the identities of requests, and found by their names.

A site may have no users, or none in groups, and do without Django's app for them.
"""

from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured, ValidationError
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


class Nobody:
    """What Django's `AnonymousUser` is, which cannot be imported without its app."""

    pk = id = None
    is_authenticated, is_anonymous, is_active, is_staff, is_superuser = False, True, False, False, False

    def has_perm(self, permission: str, of: Any = None) -> bool:
        return False


def anonymous() -> Any:
    """The user of a request that nobody has signed in for."""
    if not apps.is_installed("django.contrib.auth"):
        return Nobody()
    from django.contrib.auth.models import AnonymousUser

    return AnonymousUser()


def canonical(text: str) -> str:
    """``1`` for `` 01 ``; a text that cannot be a primary key is returned as it is, since code may count by it."""
    text = text.strip()
    key = _key(text)
    return text if key is None else str(key)


def check_user(text: str) -> None:
    """Raise ValueError if no user can have this primary key."""
    if _key(text.strip()) is None:
        if isinstance(model()._meta.pk, models.IntegerField):
            raise Problem("{text!r} cannot be the number of a user: write for example user:42", text=text[:64])
        raise Problem("{text!r} cannot be the primary key of a user: write for example user:KEY", text=text[:64])


def exists(text: str) -> bool:
    """Whether a user with this primary key exists, or may: without a model, only the site's code knows."""
    users, key = model(), _key(text.strip())
    return users is None or (key is not None and users._base_manager.filter(pk=key).exists())


def called(text: str, most: int) -> dict[str, str]:
    """Users with this login name or e-mail address, by identity: ``{"user:42": "ann, ann@example.com"}``.

    Only if there is none, those whose login name differs in case.
    """
    users = model()
    if users is None or not text.isprintable():  # what no form of Django accepts, and some databases neither
        return {}
    names = [users.USERNAME_FIELD, *_email_field(users)]
    exact = models.Q(**{names[0]: text})
    for name in names[1:]:
        exact |= models.Q(**{f"{name}__iexact": text})
    try:
        found = list(users._base_manager.filter(exact).order_by("pk")[:most])
        found = found or list(users._base_manager.filter(**{f"{names[0]}__iexact": text}).order_by("pk")[:most])
    except (ValidationError, TypeError, ValueError):  # a field of numbers or of UUIDs
        return {}
    return {f"user:{user.pk}": ", ".join(filter(None, (str(getattr(user, name)) for name in names))) for user in found}


def names(text: str) -> list[str]:
    """The login name and the e-mail address of the user with this primary key, those that it has."""
    users = model()
    user = users._base_manager.filter(pk=_key(text)).first() if users is not None else None
    found = [str(getattr(user, name) or "") for name in (users.USERNAME_FIELD, *_email_field(users))] if user is not None else []
    return [*filter(str.strip, found)]


def is_group(text: str) -> bool:
    """Whether there is a group of this name."""
    groups = groups_of_users()
    return groups is not None and text.isprintable() and groups.field.related_model._base_manager.filter(name=text).exists()


def _email_field(users: Any) -> list[str]:
    """The name of the e-mail field, unless users log in by it or have none."""
    try:
        name = str(users.get_email_field_name())
        users._meta.get_field(name)
    except (AttributeError, FieldDoesNotExist):
        return []
    return [] if name == users.USERNAME_FIELD else [name]


def _key(text: str) -> Any:
    users = model()
    if users is None:
        return text
    field: Any = users._meta.pk
    if isinstance(field, models.IntegerField) and not text.isdecimal():  # int() takes 1_0 and -1, too
        return None
    try:
        return field.to_python(text)
    except (ValidationError, TypeError, ValueError):
        return None
