"""Checks for a site that used another library before: throttles of Django REST framework, settings of django-ratelimit."""

import sys
from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks

from ratewindow import conf
from ratewindow.checks.code import import_views
from ratewindow.checks.messages import TAG, Messages, error, warning


@checks.register(TAG)
def check_throttles(app_configs: Sequence[AppConfig] | None, **_: Any) -> Messages:
    """E010: a throttle of Django REST framework has no valid rate or name. W011: NUM_PROXIES is set, but not used."""
    import_views()
    throttles = getattr(settings, "REST_FRAMEWORK", {}).get("DEFAULT_THROTTLE_CLASSES", ())
    if "ratewindow.rest_framework" not in sys.modules and not any("ratewindow.rest_framework" in str(path) for path in throttles):
        return []
    from ratewindow.rest_framework import views

    found = [error(10, f"{problem}.", hint) for problem, hint in views.problems()]
    if views.names_num_proxies() and not conf.current().trusted_proxies:
        message = "REST_FRAMEWORK['NUM_PROXIES'] is not used by the throttles of ratewindow, and no other setting names a proxy."
        hint = 'Write RATEWINDOW = {"TRUSTED_PROXIES": ...}: the same number, or the proxies\' networks.'
        found.append(warning(11, message, hint))
    return found


@checks.register(TAG)
def check_moved_settings(app_configs: Sequence[AppConfig] | None, **_: Any) -> Messages:
    """W012: settings of django-ratelimit, which is not imported any more."""
    import_views()
    left = [name for name in _MOVED if hasattr(settings, name)]
    if not left or "django_ratelimit" in sys.modules:
        return []
    remedies = "; ".join(f"{name}: {_MOVED[name]}" for name in left)
    message = f"Settings of django-ratelimit, which is not imported any more, have no effect: {', '.join(left)}."
    return [warning(12, message, f"In RATEWINDOW write instead {remedies}.")]


_MOVED = {
    "RATELIMIT_ENABLE": "ENABLED",
    "RATELIMIT_USE_CACHE": "REDIS",
    "RATELIMIT_CACHE_PREFIX": "KEY_PREFIX",
    "RATELIMIT_IPV4_MASK": "IPV4_PREFIX",
    "RATELIMIT_IPV6_MASK": "IPV6_PREFIX",
    "RATELIMIT_IP_META_KEY": "TRUSTED_PROXIES",
    "RATELIMIT_FAIL_OPEN": "ON_ERROR",
    "RATELIMIT_VIEW": "nothing, but give the URLconf a handler429, or write a template 429.html",
    "RATELIMIT_EXCEPTION_CLASS": "nothing, the answer is 429",
    "RATELIMIT_HASH_ALGORITHM": "nothing",
}
