"""What is wrong with the settings."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from ratewindow import conf
from ratewindow.checks.messages import TAG, Told, error, warning
from ratewindow.identity.scope import resolve
from ratewindow.store import address

MIDDLEWARE = "ratewindow.middleware.RateWindowMiddleware"
_AUTHENTICATION = "django.contrib.auth.middleware.AuthenticationMiddleware"
_BEHIND_A_PROXY = ("SECURE_PROXY_SSL_HEADER", "USE_X_FORWARDED_HOST", "USE_X_FORWARDED_PORT")


@checks.register(TAG)
def check_settings(app_configs: Sequence[AppConfig] | None, **_: Any) -> Told:
    """E001: a key of RATEWINDOW that is unknown or says something impossible. E002: REDIS names no Redis."""
    found = [error(1, problem.message, problem.hint or "") for problem in conf.problems()]
    if not found and (given := conf.current().scope) is not None:
        try:
            resolve(given)
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
def check_processes(app_configs: Sequence[AppConfig] | None, **_: Any) -> Told:
    """W003: counting in memory where there may be several processes. W009: the same while Redis is away."""
    here = conf.current()
    if conf.written().redis == address.MEMORY and not settings.DEBUG:
        told = "RATEWINDOW['REDIS'] is memory://, so each process counts for itself: four of them admit four times as much."
        return [warning(3, told, "Name a Redis, or serve the site by one process.")]
    if here.on_error == "local" and here.local_processes == 1 and not settings.DEBUG:
        told = "RATEWINDOW['ON_ERROR'] is local and LOCAL_PROCESSES is 1: without Redis each process admits the whole limit."
        return [warning(9, told, "Set LOCAL_PROCESSES to the number of all processes that serve the site.")]
    return []


@checks.register(TAG)
def check_proxies(app_configs: Sequence[AppConfig] | None, **_: Any) -> Told:
    """W004: a proxy that is not trusted. W005: everybody is trusted. W016: a household has many addresses."""
    return [*_untrusted_proxy(), *_everybody_trusted(), *_narrow_prefix()]


def _untrusted_proxy() -> Iterator[checks.CheckMessage]:
    names = [name for name in _BEHIND_A_PROXY if getattr(settings, name, None)]
    if names and conf.current().trusted_proxies in ((), 0):
        yield warning(
            4,
            f"{' and '.join(names)} say that a proxy stands before this site, and RATEWINDOW trusts none: every client has the "
            "proxy's address, so all of them share one limit.",
            'Set TRUSTED_PROXIES to the networks of your proxies, such as ["10.0.0.0/8"], or to their number.',
        )


def _everybody_trusted() -> Iterator[checks.CheckMessage]:
    trusted = conf.current().trusted_proxies
    whole = [] if isinstance(trusted, int) else [str(network) for network in trusted if network.prefixlen == 0]
    if whole:
        yield warning(
            5,
            f"RATEWINDOW['TRUSTED_PROXIES'] has {', '.join(whole)}, which is everybody: a client that writes X-Forwarded-For "
            "itself is whoever it likes, and no limit by address holds.",
            "Name the networks of your proxies only.",
        )


def _narrow_prefix() -> Iterator[checks.CheckMessage]:
    prefix = conf.current().ipv6_prefix
    if prefix > 64:
        yield warning(
            16,
            f"RATEWINDOW['IPV6_PREFIX'] is {prefix}: one household has 2^64 addresses, and each of them a limit of its own.",
            "Leave it at 64, or make it smaller.",
        )


@checks.register(TAG)
def check_middleware(app_configs: Sequence[AppConfig] | None, **_: Any) -> Told:
    """W006: the middleware stands before the one that knows users, or twice."""
    listed = list(getattr(settings, "MIDDLEWARE", None) or ())
    if MIDDLEWARE not in listed:
        return []
    if listed.count(MIDDLEWARE) > 1:
        return [warning(6, f"{MIDDLEWARE} stands in MIDDLEWARE {listed.count(MIDDLEWARE)} times.", "Once is enough.")]
    if _AUTHENTICATION in listed and listed.index(_AUTHENTICATION) > listed.index(MIDDLEWARE):
        told = f"{MIDDLEWARE} stands before AuthenticationMiddleware: rules by user count everybody by address."
        return [warning(6, told, "Place it after AuthenticationMiddleware.")]
    return []


@checks.register(TAG, deploy=True)
def check_clearing(app_configs: Sequence[AppConfig] | None, **_: Any) -> Told:
    """W017: counts share a database with a cache, whose `clear()` empties it."""
    name = conf.current().redis
    if "://" in name or name not in settings.CACHES:
        return []
    return [
        warning(
            17,
            f"RATEWINDOW['REDIS'] is the cache {name!r}: its clear() empties the database, and so lets every client go.",
            'Write the address with a number of its own, such as "redis://localhost:6379/1".',
        )
    ]
