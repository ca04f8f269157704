"""System checks: what is wrong with settings and code, said before a request meets it."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError

from ratewindow import coderules, conf, redis_address, rulebook
from ratewindow.coderules import CodeRate
from ratewindow.models import RateRule

TAG = "ratewindow"


@checks.register(TAG)
def check_settings(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[checks.CheckMessage]:
    """E001: a key of RATEWINDOW that is unknown or says something impossible. E002: REDIS names no Redis."""
    found: list[checks.CheckMessage] = [
        checks.Error(problem.message, hint=problem.hint, id="ratewindow.E001") for problem in conf.problems()
    ]
    if not found:
        try:
            redis_address.address()
        except ImproperlyConfigured as error:
            found.append(checks.Error(str(error), id="ratewindow.E002"))
    return found


@checks.register(TAG)
def check_code(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[checks.CheckMessage]:
    """E003: one name with two rates in code. W010: the same of throttles, of which one scope may have several."""
    _import_views()
    return list(_names_with_two_rates())


@checks.register(TAG)
def check_throttles(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[checks.CheckMessage]:
    """E010: a throttle of Django REST framework without a good rate or name. W011: NUM_PROXIES, which is not read."""
    _import_views()
    if "ratewindow.rest_framework" not in sys.modules:
        return []
    from ratewindow.rest_framework import uses

    found: list[checks.CheckMessage] = [
        checks.Error(f"{problem}.", hint=f"Seen at the view {place}.", id="ratewindow.E010") for problem, place in uses.problems()
    ]
    if uses.names_num_proxies() and not conf.current().trusted_proxies:
        message = "REST_FRAMEWORK['NUM_PROXIES'] is not read by the throttles of ratewindow, which know of no proxy."
        hint = 'Write RATEWINDOW = {"TRUSTED_PROXIES": ...}: the same number, or the proxies\' networks.'
        found.append(checks.Warning(message, hint=hint, id="ratewindow.W011"))
    return found


@checks.register(TAG)
def check_moved_settings(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[checks.CheckMessage]:
    """W012: settings of django-ratelimit that nobody reads any more."""
    _import_views()
    left = [name for name in _MOVED if hasattr(settings, name)]
    if not left or "django_ratelimit" in sys.modules:
        return []
    told = "; ".join(f"{name}: {_MOVED[name]}" for name in left)
    return [
        checks.Warning(
            f"Settings of django-ratelimit, which nothing imports any more, have no effect: {', '.join(left)}.",
            hint=f"In RATEWINDOW write instead {told}. See docs/migration.md.",
            id="ratewindow.W012",
        )
    ]


_MOVED = {
    "RATELIMIT_ENABLE": "ENABLED",
    "RATELIMIT_USE_CACHE": "REDIS",
    "RATELIMIT_CACHE_PREFIX": "KEY_PREFIX",
    "RATELIMIT_IPV4_MASK": "IPV4_PREFIX",
    "RATELIMIT_IPV6_MASK": "IPV6_PREFIX",
    "RATELIMIT_IP_META_KEY": "TRUSTED_PROXIES",
    "RATELIMIT_FAIL_OPEN": "ON_ERROR",
    "RATELIMIT_VIEW": "nothing, but a template 429.html",
    "RATELIMIT_EXCEPTION_CLASS": "nothing, the answer is 429",
    "RATELIMIT_HASH_ALGORITHM": "nothing",
}


def _import_views() -> None:
    """The names in code are known once their modules are imported; checks run in no order, and urls' may come later."""
    if getattr(settings, "ROOT_URLCONF", None):
        rulebook.code_names()


def _names_with_two_rates() -> Iterator[checks.CheckMessage]:
    for name, uses in sorted(coderules.uses().items()):
        rates = sorted({(use.words, use.key) for use in uses if use.rate is not None})
        if len(rates) > 1:
            told = ", ".join(f"{rate} per {key}" for rate, key in rates)
            places = _places({use for use in uses if use.rate is not None})
            if any(use.shared for use in uses):
                yield checks.Warning(
                    f"Throttles of the scope {name!r} have two rates, which share one rule: {told} ({places}).",
                    hint="Give each class a scope of its own.",
                    id="ratewindow.W010",
                )
                continue
            yield checks.Error(
                f"Code gives the name {name!r} two rates: {told} ({places}).",
                hint="Use two names, or one rate.",
                id="ratewindow.E003",
            )


def _places(uses: set[CodeRate]) -> str:
    return ", ".join(sorted({use.place for use in uses}))


@checks.register(checks.Tags.database)  # not TAG too: Django 6.1 would then read rows for `check --tag ratewindow`
def check_names(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_: Any
) -> list[checks.CheckMessage]:
    """W001: code names a rule that nobody has defined, so that it lets every request pass."""
    if not databases:
        return []
    _import_views()
    named = {name: uses for name, uses in coderules.uses().items() if all(use.rate is None for use in uses)}
    try:
        missing = sorted(set(named) - set(RateRule.objects.filter(name__in=named).values_list("name", flat=True)))
    except DatabaseError as error:
        return [checks.Warning(f"The rules cannot be read: {error}", hint="Run manage.py migrate.", id="ratewindow.W002")]
    return [
        checks.Warning(
            f"Code names rule {name!r}, which nobody has defined: requests pass.",
            hint=f"Add it in the admin, or give the decorator a rate. Named in {_places(named[name])}.",
            id="ratewindow.W001",
        )
        for name in missing
    ]
