"""The site of a page's reader: what ``django-admin startproject`` wrote, their own code, and packages that the tests lack."""

import sys
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import pytest
from django.contrib import admin
from django.contrib.auth.models import AnonymousUser
from django.dispatch import Signal
from django.test import RequestFactory
from django.urls import include, path

# Names of the reader's own that a page uses and no block defines.
OWN = {
    "docs/contrib/logins.md": "captcha_is_solved",
    "docs/developers/python.md": "mail_the_client run",
    "docs/migration/own_limiter.md": """F HttpResponse HttpResponseForbidden JsonResponse PermissionDenied Quota authenticate
        cache is_over logger name send_message time timezone too_many wraps""",
}


class Base:
    """A class of a package that is absent."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Takes all."""


class Registrar:
    """As `wagtail.hooks`."""

    @staticmethod
    def register(name: str) -> Any:
        return lambda function: function


# Modules that are absent here, or whose apps this site has not installed, with what pages import of them.
ABSENT: dict[str, dict[str, Any]] = {
    "allauth.account.adapter": {"DefaultAccountAdapter": Base},
    "axes.signals": {"user_locked_out": Signal()},
    "django_smart_ratelimit.models": {"RateLimitRule": MagicMock(), "UserRateLimitOverride": MagicMock()},
    "django_tenants.middleware.main": {"TenantMainMiddleware": Base},
    "shop.models": {"Membership": MagicMock()},
    "unfold.admin": {"ModelAdmin": admin.ModelAdmin, "TabularInline": admin.TabularInline},
    "wagtail": {"hooks": Registrar},
    "wagtail.admin.menu": {"MenuItem": Base},
}

SETTINGS = {
    "INSTALLED_APPS": [f"django.contrib.{name}" for name in "admin auth contenttypes sessions messages staticfiles".split()],
    "MIDDLEWARE": [
        "django.middleware.security.SecurityMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
    ],
    "AUTHENTICATION_BACKENDS": ["django.contrib.auth.backends.ModelBackend"],
    "ROOT_URLCONF": "testproject.urls",
}


def names(page: str, **given: Any) -> dict[str, Any]:
    """What the blocks of a page find: settings.py, urls.py, a request, and names of the reader's own."""
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    own = {name: MagicMock(name=name) for name in OWN.get(page, "").split()}
    settings = {name: value[:] for name, value in SETTINGS.items()}
    urls = {"urlpatterns": [], "path": path, "include": include, "admin": admin}
    return {"__name__": "readers_site", **settings, **urls, "request": request, **own, **given}


def play_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in ABSENT.items():
        vars(add_module(name, monkeypatch)).update(content)


def add_module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """While the test lasts, a module can be imported by this name, and its packages, unless they have been imported already."""
    package, _, last = name.rpartition(".")
    made = ModuleType(name)
    made.__path__ = []
    monkeypatch.setitem(sys.modules, name, made)
    if package:
        monkeypatch.setattr(sys.modules.get(package) or add_module(package, monkeypatch), last, made, raising=False)
    return made
