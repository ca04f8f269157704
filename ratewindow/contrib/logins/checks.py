"""System checks: whether the gate stands where it is asked about every password."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core import checks

from ratewindow.checks import TAG
from ratewindow.checks.site import MIDDLEWARE, error, warning
from ratewindow.contrib.logins.gate import is_gate
from ratewindow.request.doors import has_middleware

PAGE = "contrib/logins.md"
GATE = "ratewindow.contrib.logins.LoginGate"
NO_GATE = ("ratewindow.E011", "ratewindow.E012", "ratewindow.E013", "ratewindow.E014")


def register() -> None:
    checks.register(_check_gate, TAG)
    checks.register(_check_cookie, checks.Tags.security, deploy=True)


def _check_gate(**_: Any) -> Iterator[checks.CheckMessage]:
    """E011: no gate. E012: not the first. E013: no middleware. E014: nothing behind it. W023: allauth's limits."""
    places = [place for place, path in enumerate(settings.AUTHENTICATION_BACKENDS) if is_gate(path)]
    if not places:
        yield error(
            11,
            "LoginGate is not in AUTHENTICATION_BACKENDS, so no rule about logins holds.",
            f"Write {GATE!r} before the others.",
            PAGE,
        )
    elif places != [0]:
        yield error(
            12,
            "LoginGate is not alone before the others of AUTHENTICATION_BACKENDS: passwords are not counted, or twice.",
            "Write it before all others, once.",
            PAGE,
        )
    elif len(settings.AUTHENTICATION_BACKENDS) == 1:
        yield error(
            14,
            "LoginGate is the only one of AUTHENTICATION_BACKENDS, so nothing checks passwords.",
            "Write 'django.contrib.auth.backends.ModelBackend' behind it.",
            PAGE,
        )
    if places and not has_middleware():
        yield error(
            13,
            "LoginGate is there without RateWindowMiddleware: refusals look like wrong passwords, no device becomes known.",
            f"Add {MIDDLEWARE!r} to MIDDLEWARE.",
            PAGE,
        )
    limits = getattr(settings, "ACCOUNT_RATE_LIMITS", {})
    locks_accounts = limits is not False and "/key" in str((limits or {}).get("login_failed", "5/5m/key"))  # its default
    if places and apps.is_installed("allauth.account") and locks_accounts:
        yield warning(
            23,
            "allauth limits failed logins beside the rules about logins, and lets any stranger lock an account.",
            "Write ACCOUNT_RATE_LIMITS = {'login_failed': None}, or False.",
            PAGE,
        )


def _check_cookie(**_: Any) -> Iterator[checks.CheckMessage]:
    """W024: the cookie of a known device may be sent in clear."""
    if any(map(is_gate, settings.AUTHENTICATION_BACKENDS)) and not settings.SESSION_COOKIE_SECURE:
        yield warning(
            24,
            "The cookie of known devices is Secure only where a request is, since SESSION_COOKIE_SECURE is off.",
            "Write SESSION_COOKIE_SECURE = True.",
            PAGE,
        )
