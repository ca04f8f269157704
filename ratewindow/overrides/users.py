"""Users in overrides: their primary key, written as in the identities of requests, and found by their names."""

from typing import Any

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import models

from ratewindow.limiter.problem import Problem


def canonical(text: str) -> str:
    """``1`` for `` 01 ``; a text that cannot be a primary key is returned as it is, since code may count by it."""
    text = text.strip()
    key = _key(text)
    return text if key is None else str(key)


def check_user(text: str) -> None:
    """Raise ValueError if no user can have this primary key."""
    if _key(text.strip()) is None:
        if isinstance(get_user_model()._meta.pk, models.IntegerField):
            raise Problem("{text!r} cannot be the number of a user: write for example user:42", text=text[:64])
        raise Problem("{text!r} cannot be the primary key of a user: write for example user:KEY", text=text[:64])


def exists(text: str) -> bool:
    """Whether a user with this primary key exists."""
    key = _key(text.strip())
    return key is not None and get_user_model()._base_manager.filter(pk=key).exists()


def called(text: str, most: int) -> dict[str, str]:
    """Users with this login name or e-mail address, by identity: ``{"user:42": "ann, ann@example.com"}``.

    Only if there is none, those whose login name differs in case.
    """
    if not text.isprintable():  # what no form of Django accepts, and some databases neither
        return {}
    model: Any = get_user_model()
    names = [model.USERNAME_FIELD, *_email_field(model)]
    exact = models.Q(**{names[0]: text})
    for name in names[1:]:
        exact |= models.Q(**{f"{name}__iexact": text})
    try:
        found = list(model._base_manager.filter(exact).order_by("pk")[:most])
        found = found or list(model._base_manager.filter(**{f"{names[0]}__iexact": text}).order_by("pk")[:most])
    except (ValidationError, TypeError, ValueError):  # a field of numbers or of UUIDs
        return {}
    return {f"user:{user.pk}": ", ".join(filter(None, (str(getattr(user, name)) for name in names))) for user in found}


def is_group(text: str) -> bool:
    """Whether there is a group of this name."""
    return text.isprintable() and apps.get_model("auth.Group").objects.filter(name=text).exists()


def _email_field(model: Any) -> list[str]:
    """The name of the e-mail field, unless users log in by it or have none."""
    try:
        name = str(model.get_email_field_name())
        model._meta.get_field(name)
    except (AttributeError, FieldDoesNotExist):
        return []
    return [] if name == model.USERNAME_FIELD else [name]


def _key(text: str) -> Any:
    field: Any = get_user_model()._meta.pk
    if isinstance(field, models.IntegerField) and not text.isdecimal():  # int() takes 1_0 and -1, too
        return None
    try:
        return field.to_python(text)
    except (ValidationError, TypeError, ValueError):
        return None
