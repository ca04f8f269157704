"""Checks of the settings, and of the names and rates in code. What rules in the admin need of the site, such as the middleware,
is checked in `rows`."""

import sys
from collections.abc import Iterator

from django.apps import apps
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from ratewindow import conf, identity
from ratewindow.conf.in_words import page
from ratewindow.identity.custom_keys import scope_function
from ratewindow.rules import code_rates
from ratewindow.store import process_clients

PAGE = "developers/checks.md"
MIDDLEWARE = "ratewindow.middleware.RateWindowMiddleware"
_AUTHENTICATION = "django.contrib.auth.middleware.AuthenticationMiddleware"
_BEHIND_A_PROXY = ("SECURE_PROXY_SSL_HEADER", "USE_X_FORWARDED_HOST", "USE_X_FORWARDED_PORT")

Messages = Iterator[checks.CheckMessage]


def error(number: int, message: str, hint: str = "", on: str = PAGE) -> checks.CheckMessage:
    """A setting, rate or rule that cannot work, with a remedy and the page that explains it."""
    return checks.Error(message, hint=f"{hint} See {page(on)}#e{number:03}.".strip(), id=f"ratewindow.E{number:03}")


def warning(number: int, message: str, hint: str, on: str = PAGE) -> checks.CheckMessage:
    """A setting, rate or rule that probably limits less, or other clients, than intended."""
    return checks.Warning(message, hint=f"{hint} See {page(on)}#w{number:03}.", id=f"ratewindow.W{number:03}")


def check_settings() -> Messages:
    """E001: a key is unknown or has an invalid value. E002: REDIS is not a Redis. W003: counts are in memory, of perhaps
    several processes."""
    written, problems = conf.written()
    for problem in problems:
        yield error(1, problem.message, problem.hint)
    try:
        if (scope := conf.current().scope) is not None:
            scope_function(scope)
    except ValueError as wrong:
        yield error(1, f"RATEWINDOW['SCOPE']: {wrong}.", "Name a function of the request that returns text or None.")
    try:
        process_clients.address()
    except ImproperlyConfigured as wrong:
        if not problems:
            yield error(2, str(wrong))
    if written.redis == conf.MEMORY and not settings.DEBUG and not conf.tests_run():
        yield warning(
            3,
            "RATEWINDOW['REDIS'] is memory://, so each process counts for itself: four processes admit four times as much.",
            "Name a Redis, or serve the site by one process.",
        )


def check_proxies() -> Messages:
    """W004: a proxy is not trusted. W005: everybody is trusted."""
    trusted = conf.current().trusted_proxies
    names = [name for name in _BEHIND_A_PROXY if getattr(settings, name, None)]
    if names and trusted in ((), 0):
        yield warning(
            4,
            f"By {' and '.join(names)} this site is behind a proxy, and RATEWINDOW trusts none: every client has the address of "
            "the proxy, so all of them share one limit.",
            'Set TRUSTED_PROXIES to the networks of your proxies, such as ["10.0.0.0/8"], or to their number.',
        )
    whole = [] if isinstance(trusted, int) else [str(network) for network in trusted if network.prefixlen == 0]
    if whole:
        yield warning(
            5,
            f"RATEWINDOW['TRUSTED_PROXIES'] contains {', '.join(whole)}, which is everybody: a client can choose its address by "
            "sending X-Forwarded-For, and no limit by address holds.",
            "Name the networks of your proxies only.",
        )


def check_middleware() -> Messages:
    """W006: the middleware is before AuthenticationMiddleware."""
    listed = [*(getattr(settings, "MIDDLEWARE", None) or ())]
    if MIDDLEWARE in listed and _AUTHENTICATION in listed[listed.index(MIDDLEWARE) :]:
        yield warning(
            6,
            f"{MIDDLEWARE} is before AuthenticationMiddleware: rules by user count everybody by address.",
            "Place it after AuthenticationMiddleware.",
        )


def check_backends() -> Messages:
    """E015: a room's backend is there without its app, and raises at the first login."""
    for path in settings.AUTHENTICATION_BACKENDS:
        room = ".".join(path.split(".")[:3])
        if room.startswith("ratewindow.contrib.") and not apps.is_installed(room):
            yield error(15, f"AUTHENTICATION_BACKENDS has {path!r} without its app.", f"Add {room!r} to INSTALLED_APPS.")


def check_code() -> Messages:
    """E003, W010: one name has two rates in code. E010: a throttle of Django REST framework has no valid rate or name."""
    import_views()
    for name, uses in sorted(code_rates.uses().items()):
        # A call may have a rate of its own.
        rated = {use for use in uses if use.rate is not None and use.place != code_rates.A_CALL}
        rates = _rates(rated)
        if len(rates) > 1:
            message = f"Code gives the name {name!r} two rates: {', '.join(sorted(rates))} ({places_of(rated)})."
            if any(use.shared for use in rated):  # by throttles of one scope
                yield warning(10, message, "Give each throttle a scope of its own.")
            else:
                yield error(3, message, "Use two names, or one rate.")
    named = getattr(settings, "REST_FRAMEWORK", {}).get("DEFAULT_THROTTLE_CLASSES", ())
    if "ratewindow.rest_framework" in sys.modules or any("ratewindow.rest_framework" in str(path) for path in named):
        from ratewindow.rest_framework import views

        yield from (error(10, f"{problem}.", hint) for problem, hint in views.problems())


def import_views() -> None:
    """Import the URLconf, and so the views that register names; Django's own URL checks may run later."""
    if getattr(settings, "ROOT_URLCONF", None):
        code_rates.load_names()


def _rates(uses: set[code_rates.CodeRate]) -> list[str]:
    """The different rates, each with its key and options; one rate written in several ways is one."""
    ordered = sorted(uses, key=lambda use: (use.words, use.key), reverse=True)
    alike = {(use.limits, identity.canonical(use.key), use.normalise, use.options): use.all_words for use in ordered}
    return [*alike.values()]


def places_of(uses: set[code_rates.CodeRate]) -> str:
    return ", ".join(sorted({use.place for use in uses}))
