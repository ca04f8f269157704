"""What the site's views name and give in their throttles, known before a request meets it: for lists and checks."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.urls import URLPattern, get_resolver
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

from ratewindow import coderules
from ratewindow.coderules import CodeRate
from ratewindow.rest_framework.throttles import RuleThrottle, ScopedRateThrottle, SimpleRateThrottle, place_of


def register() -> None:
    """Make known what the views of the URLconf name and give; what is wrong in it, `problems` tells."""
    for _ in problems():
        pass


def problems() -> Iterator[tuple[str, str]]:
    """What is wrong with the throttles of the site's views, each with a place; registers those that are right."""
    told = set()
    for view, throttle in dict.fromkeys(_throttled()):
        try:
            _register(view, throttle)
        except ImproperlyConfigured as error:
            if str(error) not in told:
                told.add(str(error))
                yield str(error), place_of(type(view))


def names_num_proxies() -> bool:
    """Whether the site says by NUM_PROXIES what our throttles do not read."""
    return api_settings.NUM_PROXIES is not None and next(_throttled(), None) is not None


def _register(view: Any, throttle: type[BaseThrottle]) -> None:
    if issubclass(throttle, RuleThrottle):
        for name in throttle.names(view):
            coderules.register(CodeRate(name, None, "", frozenset(), place_of(type(view)), shared=True))
    elif issubclass(throttle, SimpleRateThrottle):
        made = throttle()
        if not isinstance(made, ScopedRateThrottle) or made.take_scope(view):
            made.code_rule(made.rule_name)


def _throttled() -> Iterator[tuple[Any, type[BaseThrottle]]]:
    """Every view of the URLconf with each of its throttles that is ours."""
    for view in _views(get_resolver().url_patterns):
        for throttle in view.throttle_classes:
            if isinstance(throttle, type) and issubclass(throttle, RuleThrottle | SimpleRateThrottle):
                yield view, throttle


def _views(patterns: Iterable[Any]) -> Iterator[Any]:
    for pattern in patterns:
        if not isinstance(pattern, URLPattern):
            yield from _views(pattern.url_patterns)
            continue
        view, options = getattr(pattern.callback, "cls", None), getattr(pattern.callback, "initkwargs", {})
        if view is not None and hasattr(view, "throttle_classes"):
            yield view(**options)  # an extra action of a view set has throttles of its own there
