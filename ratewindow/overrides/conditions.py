"""Conditions of overrides: what a request's user is or may do, and functions that a site registers, ``@condition("author")``.

As a subject: ``authenticated``, ``staff``, ``superuser``, ``permission:app.codename``, ``condition:author``. They hold for
requests: an identity alone has no user.
"""

import re
from collections.abc import Callable
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any

from django.apps import apps
from django.utils.translation import gettext_lazy as _

from ratewindow.conf import site_functions
from ratewindow.identity.site_answers import Function, SiteFunction, SiteFunctions
from ratewindow.limiter.problem import Problem

CONDITION, PERMISSION = "condition", "permission"
EVERY_USER = "authenticated"
OF_USERS = {EVERY_USER: _("Everybody who is logged in"), "staff": _("Staff"), "superuser": _("Superusers")}
_HOLDS = "it is taken as not true"
registered = SiteFunctions(CONDITION, _HOLDS, of_requests_alone=True)


def condition(name: str) -> Callable[[Function], Function]:
    """Register a function that says whether something is true of a request, ``@condition("approved author")``, for blocks,
    exemptions and other rates in the admin.

    It is called once for a request, and may be async. Put it in a module ``ratekeys`` of an installed app, which is imported when
    Django starts. Raises ValueError for a name that belongs to another function.
    """
    return registered.decorator(name)


def is_condition(text: str) -> bool:
    """Whether a subject is a condition."""
    return text in OF_USERS or text.partition(":")[0] in (CONDITION, PERMISSION)


def function_of(text: str) -> SiteFunction:
    """What says whether the condition is true of a request. Raises ValueError."""
    kind, _, name = text.partition(":")
    if kind == CONDITION:
        return registered.named(name)
    if kind == PERMISSION and not re.fullmatch(r"\w+\.\w+", name):
        raise Problem("{text!r} is no permission: write for example permission:blog.change_post", text=text[:100])
    return _of_user(text, name)


@lru_cache(maxsize=256)
def _of_user(text: str, permission: str) -> SiteFunction:
    test = partial(_may, permission=permission) if permission else partial(_is, what=text)
    return SiteFunction(CONDITION, text, lambda request: test(getattr(request, "user", None)), _HOLDS, is_quick=not permission)


def _is(user: Any, what: str) -> bool:
    return bool(getattr(user, f"is_{what}", False)) and bool(getattr(user, "is_active", True))


def _may(user: Any, permission: str) -> bool:
    return hasattr(user, "has_perm") and user.has_perm(permission)


def is_known(text: str) -> bool:
    """Whether a permission is one of Django's; anything else is."""
    kind, _, name = text.partition(":")
    if kind != PERMISSION or not apps.is_installed("django.contrib.auth"):
        return True
    app, _, codename = name.partition(".")
    return apps.get_model("auth", "Permission")._default_manager.filter(content_type__app_label=app, codename=codename).exists()


def holds_for(user: Any, text: str) -> bool:
    """Whether the condition is true of whatever this user requests, as far as that can be known without a request."""
    request: Any = SimpleNamespace(user=user)
    with site_functions.unreported():
        return bool(function_of(text).answer(request))


def choices() -> list[tuple[str, Any]]:
    """What can be chosen instead of a client, with its name for people."""
    return [*OF_USERS.items(), *((f"{CONDITION}:{name}", name) for name in sorted(registered))]
