"""Users in overrides: their primary key, written as in the identities of requests."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import models


def canonical(text: str) -> str:
    """``1`` for `` 01 ``; a text that cannot be a primary key is returned as it is, since code may count by it."""
    text = text.strip()
    key = _key(text)
    return text if key is None else str(key)


def check_user(text: str) -> None:
    """Raise ValueError if no user can have this primary key."""
    if _key(text.strip()) is None:
        field = get_user_model()._meta.pk
        what = "number" if isinstance(field, models.IntegerField) else "primary key"
        raise ValueError(f"{text[:64]!r} cannot be the {what} of a user: write for example user:{_EXAMPLES.get(what, 'KEY')}")


def exists(text: str) -> bool:
    """Whether a user with this primary key exists."""
    key = _key(text.strip())
    return key is not None and get_user_model()._base_manager.filter(pk=key).exists()


_EXAMPLES = {"number": "42"}


def _key(text: str) -> Any:
    field: Any = get_user_model()._meta.pk
    if isinstance(field, models.IntegerField) and not text.isdecimal():  # int() takes 1_0 and -1, too
        return None
    try:
        return field.to_python(text)
    except (ValidationError, TypeError, ValueError):
        return None
