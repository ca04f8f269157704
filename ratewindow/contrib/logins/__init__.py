"""Logins: one gate for every password that Django's ``authenticate()`` is asked about."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ratewindow.contrib.logins.attempt import forgive as forgive
    from ratewindow.contrib.logins.gate import LoginGate as LoginGate
    from ratewindow.contrib.logins.signals import suspicious_login as suspicious_login
    from ratewindow.contrib.logins.steps import step as step

_PLACES = {"LoginGate": "gate", "forgive": "attempt", "step": "steps", "suspicious_login": "signals"}
__all__ = ["LoginGate", "forgive", "step", "suspicious_login"]


def __getattr__(name: str) -> Any:
    """Imported when they are asked for: this module is imported before the apps are ready."""
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
