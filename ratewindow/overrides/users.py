"""Users as subjects: by primary key, written as requests have it."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import models


def canonical(text: str) -> str:
    """``1`` of `` 01 ``; what can be no primary key stays as it was written, for code may count by it."""
    text = text.strip()
    key = _key(text)
    return text if key is None else str(key)


def check_user(text: str) -> None:
    """ValueError where no user can have this primary key."""
    if _key(text.strip()) is None:
        field = get_user_model()._meta.pk
        what = "number" if isinstance(field, models.IntegerField) else "primary key"
        raise ValueError(f"{text[:64]!r} is the {what} of no user: write its {what}, as in user:{_EXAMPLES.get(what, '...')}")


def exists(text: str) -> bool:
    """Whether there is such a user."""
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
