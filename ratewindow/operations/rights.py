"""What a user may do, and how identities are shown to that user: masked without `view_identity`."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied, ValidationError
from django.utils.translation import gettext

from ratewindow.identity import paths_in
from ratewindow.overrides.subjects import in_words, masked

FORBIDDEN = "forbidden"  # the code of an error about what the user may not do


def require(is_permitted: object) -> None:
    """Raise PermissionDenied unless it is true."""
    if not is_permitted:
        raise PermissionDenied


def may(user: Any, permission: str) -> bool:
    """Whether the user has a permission of the app. Who may change rows may view them."""
    return any(user.has_perm(f"ratewindow.{each}") for each in {permission, permission.replace("view_", "change_")})


def may_view_overrides(user: Any) -> bool:
    """Whether the user may know that there is any block, exemption or other rate."""
    return may(user, "view_override")


def may_see(user: Any) -> bool:
    return bool(user.has_perm("ratewindow.view_identity"))


def may_look_up(user: Any) -> bool:
    """Whether the user may be told what holds for a client that they name.

    With masked identities they may not: they could name one client after the other until an answer unmasks a row.
    """
    return may_see(user) and may_view_overrides(user)


def may_view_users(user: Any) -> bool:
    options: Any = get_user_model()._meta
    return any(user.has_perm(f"{options.app_label}.{verb}_{options.model_name}") for verb in ("view", "change"))


def display(user: Any, identity: str) -> str:
    """A client that sends requests, as the user may see it: with masks that tell it from others."""
    return in_words(identity) if may_see(user) else masked(identity)


def whom(user: Any, identity: str) -> str:
    """Whom an override is for, or a release, as the user may see it: with masks that lead to no client."""
    return in_words(identity) if may_see(user) else masked(identity, veiled=True)


def check_code(user: Any, text: str, before: Any = None) -> str:
    """Return `text`, or raise ValidationError if it names code and the user is no superuser. A value may stay as it was."""
    if text != before and not (user.is_active and user.is_superuser) and (paths := paths_in(text)):
        raise ValidationError(
            gettext("%r is code, which only superusers may use as a key. A developer can register it with @ratekey.") % paths[0],
            code=FORBIDDEN,
        )
    return text
