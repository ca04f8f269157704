"""Rules and rates that the site's views use in their throttles, found before any request: for lists and checks."""

import logging
from collections.abc import Iterable, Iterator
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.urls import URLPattern, get_resolver
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

from ratewindow.rest_framework.throttles import RuleThrottle, ScopedRateThrottle, SimpleRateThrottle, place_of, windows_of
from ratewindow.rules import code_rates
from ratewindow.rules.code_rates import CodeRate
from ratewindow.rules.site_routes import listed_by

logger = logging.getLogger("ratewindow")


def register() -> None:
    """Register the rules and rates in the throttles of the URLconf's views; `problems` reports bad ones."""
    for _ in problems():
        pass


def problems() -> Iterator[tuple[str, str]]:
    """What is wrong with the site's throttles, each with a hint where; registers the valid ones."""
    wrong: dict[str, str] = {}
    for view, throttle in dict.fromkeys(_throttled()):
        try:
            _register(view, throttle)
        except ImproperlyConfigured as error:
            wrong.setdefault(str(error), f"Seen at the view {place_of(type(view))}.")
        except Exception as error:  # a class of the site's that needs a request, or the database, to be made
            logger.debug("ratewindow: %s is not known before its first request: %r", place_of(throttle), error)
    yield from wrong.items()
    for scope, rate in (SimpleRateThrottle.THROTTLE_RATES if are_used() else {}).items():
        if not isinstance(rate, str | None):
            continue  # a class of the site's reads it
        try:
            windows_of(rate, f"DEFAULT_THROTTLE_RATES[{scope!r}]")
        except ImproperlyConfigured as error:
            if not any(str(error).partition(": ")[2] in problem for problem in wrong):
                yield str(error), "No view uses it yet."


def names_num_proxies() -> bool:
    """Whether the site sets NUM_PROXIES, which our throttles do not read."""
    return bool(api_settings.NUM_PROXIES) and are_used()


def are_used() -> bool:
    """Whether throttles of ours are among the default ones, or a view's."""
    try:
        usual = api_settings.DEFAULT_THROTTLE_CLASSES
    except ImportError:  # which REST framework reports itself
        usual = []
    return any(map(_is_ours, usual)) or next(_throttled(), None) is not None


def _register(view: Any, throttle: type[BaseThrottle]) -> None:
    if issubclass(throttle, RuleThrottle):
        for name in throttle.names(view):
            code_rates.register(CodeRate(name, None, "", frozenset(), place_of(type(view)), shared=True))
    elif issubclass(throttle, SimpleRateThrottle):
        made = throttle()
        if not isinstance(made, ScopedRateThrottle) or made.take_scope(view):
            made.code_rule(made.rule_name)


def _throttled() -> Iterator[tuple[Any, type[BaseThrottle]]]:
    """Every view of the URLconf with each of its throttles that is ours."""
    for view in _views(get_resolver().url_patterns):
        for throttle in listed_by(type(view), vars(view), "throttle_classes"):
            if _is_ours(throttle):
                yield view, throttle


def _is_ours(throttle: Any) -> bool:
    return isinstance(throttle, type) and issubclass(throttle, RuleThrottle | SimpleRateThrottle)


def _views(patterns: Iterable[Any]) -> Iterator[Any]:
    for pattern in patterns:
        if not isinstance(pattern, URLPattern):
            yield from _views(pattern.url_patterns)
            continue
        view, options = getattr(pattern.callback, "cls", None), getattr(pattern.callback, "initkwargs", {})
        if view is not None and hasattr(view, "throttle_classes"):
            made = object.__new__(view)  # without what the site may do when one is made for a request
            vars(made).update(options)  # an extra action of a view set has throttles of its own there
            yield made
