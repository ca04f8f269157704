"""What the site's views use in their throttles, found before any request: rules and rates for lists and checks, and doors for
explanations."""

import logging
from collections.abc import Iterable, Iterator
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.urls import get_resolver
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from ratewindow.identity import custom_keys, request_attributes
from ratewindow.request.doors import Door
from ratewindow.rest_framework.decide_together import Together
from ratewindow.rest_framework.throttles import RuleThrottle, ScopedRateThrottle, SimpleRateThrottle
from ratewindow.rules import code_rates, path_variants, site_routes

logger = logging.getLogger("ratewindow")

_OURS = (RuleThrottle, SimpleRateThrottle)


def problems() -> Iterable[tuple[str, str]]:
    """Register the rules and rates in the throttles of the URLconf's views; returns what is wrong with bad ones, and where."""
    wrong: dict[str, str] = {}
    for view, throttle in dict.fromkeys(_throttled()):
        try:
            _register(view, throttle)
        except ImproperlyConfigured as error:
            wrong.setdefault(str(error), f"Seen at the view {custom_keys.place_of(type(view))}.")
        except Exception as error:  # a class of the site's that needs a request, or the database, to be made
            logger.debug("ratewindow: %s is not known before its first request: %r", custom_keys.place_of(throttle), error)
    return wrong.items()


def _register(view: Any, throttle: type[BaseThrottle]) -> None:
    """Register what a throttle of ours has at this view."""
    if issubclass(throttle, RuleThrottle):
        for name in throttle.names(view):
            code_rates.register(code_rates.CodeRate(name, None, "", frozenset(), custom_keys.place_of(type(view)), shared=True))
    else:
        made: Any = throttle()
        if not isinstance(made, ScopedRateThrottle) or made.take_scope(view):
            made.code_rule(made.rule_name)


def _throttled() -> Iterator[tuple[Any, type[BaseThrottle]]]:
    """Every view of the URLconf with each of its throttles that is ours."""
    for way in path_variants.ways_of(get_resolver()):
        shown, given = site_routes.class_behind(way.callback) or (object, {})
        if ours := [each for each in site_routes.listed_by(shown, given, "throttle_classes") if issubclass(each, _OURS)]:
            view: Any = object.__new__(shown)  # without what the site may do when one is made for a request
            vars(view).update(given)  # an extra action of a view set has throttles of its own there
            yield from ((view, throttle) for throttle in ours)


def doors(request: HttpRequest, callback: Any) -> Iterator[Door]:
    """The throttles of ours at the view of a request that is not sent, as one door, but for those with an `allow_request` of the
    site's own."""
    shown, match = getattr(callback, "cls", None), request_attributes.match_of(request)
    if shown is None or match is None or not hasattr(shown, "throttle_classes"):
        return
    view = shown(**getattr(callback, "initkwargs", {}))
    actions = getattr(callback, "actions", None) or {}
    view.action_map, view.action = actions, actions.get((request.method or "").lower())
    view.setup(request, *match.args, **match.kwargs)
    wrapped: Any = Request(request)
    wrapped.user = getattr(request, "user", None)  # the one that is asked about, whatever the view's authentication says
    view.request = wrapped
    throttles = [each for each in view.get_throttles() if isinstance(each, _OURS) and not each.has_own("allow_request")]
    if throttles:
        yield Together(throttles, view, request=wrapped)
