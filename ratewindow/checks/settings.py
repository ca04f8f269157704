"""Checks of the settings."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from ratewindow import conf
from ratewindow.checks.messages import TAG, Messages, error, warning
from ratewindow.identity.scope import resolve
from ratewindow.store import address

MIDDLEWARE = "ratewindow.middleware.RateWindowMiddleware"
_AUTHENTICATION = "django.contrib.auth.middleware.AuthenticationMiddleware"
_BEHIND_A_PROXY = ("SECURE_PROXY_SSL_HEADER", "USE_X_FORWARDED_HOST", "USE_X_FORWARDED_PORT")


@checks.register(TAG)
def check_settings(app_configs: Sequence[AppConfig] | None, **_: Any) -> Messages:
    """E001: a key of RATEWINDOW is unknown or has an invalid value. E002: REDIS is not a Redis."""
    found = [error(1, problem.message, problem.hint or "") for problem in conf.problems()]
    if not found and (scope := conf.current().scope) is not None:
        try:
            resolve(scope)
        except ValueError as problem:
            found.append(
                error(1, f"RATEWINDOW['SCOPE']: {problem}.", "Name a function of the request that returns text or None.")
            )
    if not found:
        try:
            address.address()
        except ImproperlyConfigured as problem:
            found.append(error(2, str(problem)))
    return found


@checks.register(TAG)
def check_processes(app_configs: Sequence[AppConfig] | None, **_: Any) -> Messages:
    """W003: counts are in memory, and there may be several processes. W009: the same while Redis is away."""
    current = conf.current()
    if conf.written().redis == address.MEMORY and not (settings.DEBUG or conf.tests_run()):
        message = "RATEWINDOW['REDIS'] is memory://, so each process counts for itself: four processes admit four times as much."
        return [warning(3, message, "Name a Redis, or serve the site by one process.")]
    if current.on_error == "local" and current.local_processes == 1 and not settings.DEBUG:
        message = "RATEWINDOW['ON_ERROR'] is local and LOCAL_PROCESSES is 1: without Redis each process admits the whole limit."
        return [warning(9, message, "Set LOCAL_PROCESSES to the number of all processes that serve the site.")]
    return []


@checks.register(TAG)
def check_proxies(app_configs: Sequence[AppConfig] | None, **_: Any) -> Messages:
    """W004: a proxy is not trusted. W005: everybody is trusted. W016: one client has many addresses."""
    return [*_untrusted_proxy(), *_everybody_trusted(), *_narrow_prefix()]


def _untrusted_proxy() -> Iterator[checks.CheckMessage]:
    names = [name for name in _BEHIND_A_PROXY if getattr(settings, name, None)]
    if names and conf.current().trusted_proxies in ((), 0):
        yield warning(
            4,
            f"By {' and '.join(names)} this site is behind a proxy, and RATEWINDOW trusts none: every client has the address of "
            "the proxy, so all of them share one limit.",
            'Set TRUSTED_PROXIES to the networks of your proxies, such as ["10.0.0.0/8"], or to their number.',
        )


def _everybody_trusted() -> Iterator[checks.CheckMessage]:
    trusted = conf.current().trusted_proxies
    whole = [] if isinstance(trusted, int) else [str(network) for network in trusted if network.prefixlen == 0]
    if whole:
        yield warning(
            5,
            f"RATEWINDOW['TRUSTED_PROXIES'] contains {', '.join(whole)}, which is everybody: a client can choose its address by "
            "sending X-Forwarded-For, and no limit by address holds.",
            "Name the networks of your proxies only.",
        )


def _narrow_prefix() -> Iterator[checks.CheckMessage]:
    prefix = conf.current().ipv6_prefix
    if prefix > 64:
        yield warning(
            16,
            f"RATEWINDOW['IPV6_PREFIX'] is {prefix}: one household has 2^64 addresses, each of them with a limit of its own.",
            "Leave it at 64, or make it smaller.",
        )


@checks.register(TAG)
def check_middleware(app_configs: Sequence[AppConfig] | None, **_: Any) -> Messages:
    """W006: the middleware is before AuthenticationMiddleware, or listed twice."""
    listed = list(getattr(settings, "MIDDLEWARE", None) or ())
    if MIDDLEWARE not in listed:
        return []
    if listed.count(MIDDLEWARE) > 1:
        return [warning(6, f"{MIDDLEWARE} is in MIDDLEWARE {listed.count(MIDDLEWARE)} times.", "List it once.")]
    if _AUTHENTICATION in listed and listed.index(_AUTHENTICATION) > listed.index(MIDDLEWARE):
        message = f"{MIDDLEWARE} is before AuthenticationMiddleware: rules by user count everybody by address."
        return [warning(6, message, "Place it after AuthenticationMiddleware.")]
    return []


@checks.register(TAG, deploy=True)
def check_clearing(app_configs: Sequence[AppConfig] | None, **_: Any) -> Messages:
    """W017: the counts are in the database of a cache, whose `clear()` deletes them."""
    name = conf.current().redis
    if "://" in name or name not in settings.CACHES:
        return []
    return [
        warning(
            17,
            f"RATEWINDOW['REDIS'] is the cache {name!r}: its clear() deletes all counts, and so ends every refusal.",
            'Write a URL with another database number, such as "redis://localhost:6379/1".',
        )
    ]
