"""Rate limiting for Django: rules in the admin, decisions in Redis, reports of what they did."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ratewindow.api import aacquire, acquire, ahit, apeek, arefund, areset, hit, peek, refund, reset
    from ratewindow.decorators import limit, ratelimit
    from ratewindow.exceptions import RateLimited
    from ratewindow.identity.custom_keys import ratekey
    from ratewindow.limiter.types import Decision
    from ratewindow.operations.usage import ausage, usage
    from ratewindow.overrides.conditions import condition
    from ratewindow.request.visit import RequestDecision
    from ratewindow.rules.limits_from import limits

__all__ = [
    "Decision",
    "RateLimited",
    "RequestDecision",
    "aacquire",
    "acquire",
    "ahit",
    "apeek",
    "arefund",
    "areset",
    "ausage",
    "condition",
    "hit",
    "limit",
    "limits",
    "peek",
    "ratekey",
    "ratelimit",
    "refund",
    "reset",
    "usage",
]

_HOMES = {
    "Decision": "limiter.types",
    "RateLimited": "exceptions",
    "RequestDecision": "request.visit",
    "ausage": "operations.usage",
    "condition": "overrides.conditions",
    "limit": "decorators",
    "limits": "rules.limits_from",
    "ratekey": "identity.custom_keys",
    "ratelimit": "decorators",
    "usage": "operations.usage",
}

if not TYPE_CHECKING:  # which would believe that there is any name at all

    def __getattr__(name: str) -> Any:
        """Imported on first use: ``ratewindow.limiter`` must not pull in Django, nor the app its own models too soon."""
        if name in __all__:
            found = globals()[name] = getattr(import_module(f"ratewindow.{_HOMES.get(name, 'api')}"), name)
            return found
        raise AttributeError(f"module 'ratewindow' has no attribute {name!r}")
