"""Limits by the throttles of Django REST framework. It is not imported, but asked where the site uses it."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from ratewindow.contrib.moving.importers.limits import PERIODS_S, Found, Limit, as_rate
from ratewindow.rules.site_routes import Route, class_behind, listed_by, routes

_THROTTLES = "rest_framework.throttling"
_METHODS = ("allow_request", "get_cache_key", "throttle_success", "parse_rate")  # what a class may do otherwise


def find() -> Found:
    found, together = Found(), dict[tuple[str, str], list[Route]]()
    for route, scope_of_view, throttle in _throttled():
        try:
            if limited := _scope_and_rate(scope_of_view, throttle):
                together.setdefault(limited, []).append(route)
        except ValueError as error:
            found.leave_out(f"{throttle.__module__}.{throttle.__qualname__}", str(error))
    for scope in getattr(settings, "REST_FRAMEWORK", {}).get("DEFAULT_THROTTLE_RATES", {}):
        if not any(scope == used for used, _ in together) and not any(f" {scope!r}" in each for each in found.left_out):
            found.leave_out(f"DEFAULT_THROTTLE_RATES[{scope!r}]", "no view uses it.")
    found.limits += [Limit(scope, rate, "user_or_ip", tuple(where)) for (scope, rate), where in together.items()]
    return found


def _throttled() -> Iterator[tuple[Route, Any, type]]:
    """Each route with the scope of its view and each of the view's throttles."""
    for route in routes():
        shown, given = class_behind(route.way.callback) or (object, {})
        scope = given.get("throttle_scope", getattr(shown, "throttle_scope", None))
        yield from ((route, scope, throttle) for throttle in listed_by(shown, given, "throttle_classes"))


def _scope_and_rate(scope_of_view: Any, throttle: type) -> tuple[str, str] | None:
    """None if the view is not limited by it; ValueError says why no rule can count the same."""
    if throttle.__module__.startswith("ratewindow."):
        return None
    anonymous, user, scoped = (import_string(f"{_THROTTLES}.{name}RateThrottle") for name in ("Anon", "User", "Scoped"))
    if issubclass(throttle, anonymous):
        scope = getattr(throttle, "scope", "anon")
        raise ValueError(
            f"its scope {scope!r} counts only visitors who are not signed in, which the key of a rule cannot say: use "
            "ratewindow.rest_framework.AnonRateThrottle."
        )
    kind: Any = next((each for each in (scoped, user) if issubclass(throttle, each)), None)
    if kind is None or any(getattr(throttle, name) is not getattr(kind, name) for name in _METHODS):
        raise ValueError("code of its own decides: change its base to one of ratewindow.rest_framework.")
    scope = scope_of_view if kind is scoped else getattr(throttle, "scope", None)
    if kind is scoped and not scope:
        return None
    rates = getattr(throttle, "THROTTLE_RATES", {})
    rate = getattr(throttle, "rate", None) or rates.get(scope)
    if rate is None:
        if scope in rates:
            return None
        raise ValueError(f"its scope {scope!r} has no rate in DEFAULT_THROTTLE_RATES.")
    return str(scope), _read(rate)


def _read(rate: str) -> str:
    """As REST framework reads it: the first letter of the unit."""
    limit, _, period = rate.partition("/")
    if not limit.isdecimal() or period[:1] not in PERIODS_S:
        raise ValueError(f"its rate {rate!r} cannot be read.")
    return as_rate(limit, PERIODS_S[period[0]])
