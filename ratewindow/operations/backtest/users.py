"""The users whom a log names by their login names, read from the database some hundred at a time."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db import DatabaseError

from ratewindow.overrides import users

AT_ONCE = 500


class Unknown:
    """Somebody who was signed in, and whom the site does not know by this name any more: a client by the name."""

    is_authenticated, is_anonymous, is_active, is_staff, is_superuser = True, False, True, False, False

    def __init__(self, name: str) -> None:
        self.pk = self.id = name

    def has_perm(self, permission: str, of: Any = None) -> bool:
        return False


class Users:
    """Each user by login name."""

    def __init__(self) -> None:
        self._known: dict[str, AbstractBaseUser | Unknown] = {}

    def __len__(self) -> int:
        return len(self._known)

    def learn(self, names: Iterable[str]) -> None:
        """Read those that are not known yet."""
        new = [name for name in dict.fromkeys(names) if name and name not in self._known]
        for begin in range(0, len(new), AT_ONCE):
            self._known.update(_read(new[begin : begin + AT_ONCE]))
        for name in new:
            self._known.setdefault(name, Unknown(name))

    def of(self, name: str) -> AbstractBaseUser | Unknown:
        return self._known[name]


def _read(names: list[str]) -> dict[str, AbstractBaseUser | Unknown]:
    model = users.model()
    if model is None:
        return {}
    sayable = [name for name in names if name.isprintable()]  # what no form of Django accepts, and some databases neither
    try:
        found = model._base_manager.filter(**{f"{model.USERNAME_FIELD}__in": sayable})
        return {user.get_username(): user for user in found}
    except (DatabaseError, ValidationError, TypeError, ValueError):  # no table of users here, or names that are numbers
        return {}
