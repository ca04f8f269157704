"""Limits that code asks for itself, `is_ratelimited` and `get_usage`, and what their arguments and settings mean here.

Sites import this before their apps are loaded, so what needs these is imported in functions.
"""

from collections.abc import Callable
from functools import lru_cache, update_wrapper
from math import ceil
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.utils.module_loading import import_string

from ratewindow.contrib.moving.django_ratelimit import ALL, UNSAFE
from ratewindow.identity import address, custom_keys, original
from ratewindow.limiter.rates import parse_rates


def setting(name: str, usual: Any = None, ours: str = "") -> Any:
    """A setting of django-ratelimit; None if ``RATEWINDOW`` says what it is about."""
    return None if ours in getattr(settings, "RATEWINDOW", {}) else getattr(settings, f"RATELIMIT_{name}", usual)


def found(named: Any) -> Any:
    """What a dotted path leads to; anything else is it already."""
    return import_string(named) if isinstance(named, str) and "." in named else named


def methods_of(method: Any) -> tuple[str, ...]:
    """Those that count, in capitals; empty for all."""
    return tuple(sorted(each.upper() for each in ([method] if isinstance(method, str) else method) if each))


def name_in(group: str, *limit: Any) -> str:
    """The name of a rule for one limit of a group: each key, rate and choice of methods has counts of its own there."""
    from ratewindow.request.doors import made_name

    return made_name("", ".".join(str(getattr(each, "__name__", each)) for each in (group, *limit)))


def options(group: str, key: Any, rate: Any) -> dict[str, Any]:
    """The arguments as ours. What a function gives as the rate is a part of the key: each rate has counts of its own there."""
    if not key:
        raise ImproperlyConfigured("Ratelimit key must be specified")
    is_elsewhere = key in ("ip", "user_or_ip") and setting("IP_META_KEY", ours="TRUSTED_PROXIES")
    ours = f"ratelimit_{key}" if is_elsewhere else _of_request(key, group)
    given = _of_request(rate, group)
    return {
        "key": f"{_registered(ours, group)}+ratelimit_rate" if callable(given) else ours,
        "rate": _noted(given) if callable(given) else given,
        "on_error": {True: "allow", False: "refuse", None: ""}[setting("FAIL_OPEN", False, "ON_ERROR")],
    }


_registered = lru_cache(maxsize=1024)(custom_keys.registered)  # once: rules are read again after each


@lru_cache(maxsize=1024)
def _noted(rate: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """A function that leaves the rate which it gives at the request, for the key."""

    def noting(request: HttpRequest) -> Any:
        given = vars(original(request))["_ratewindow_rate"] = rate(request)
        return given

    return update_wrapper(noting, rate)


@custom_keys.ratekey("ratelimit_rate", needs_user=False)
def _rate_of(request: HttpRequest) -> str:
    return str(vars(original(request))["_ratewindow_rate"])


@lru_cache(maxsize=1024)
def _of_request(named: Any, group: str) -> Any:
    """A function of group and request, or its path, as one of the request: always the same one, by whose place it is known.
    Anything else is a key or a rate as it is."""
    if not callable(named) and (not isinstance(named, str) or "." not in named or ":" in named):
        return named

    def called(request: HttpRequest) -> Any:
        return found(named)(group, request)

    place = named if isinstance(named, str) else custom_keys.place_of(named)
    called.__module__, called.__qualname__ = place, name_in(group)
    return called


@custom_keys.ratekey("ratelimit_ip", needs_user=False)
def _get_ip(request: HttpRequest) -> str:
    """The client's address, without the bits that may differ for one client; sites call it in keys of their own."""
    where = found(setting("IP_META_KEY", ours="TRUSTED_PROXIES")) or address.client_address
    sent = where(request) if callable(where) else request.META[where]
    return address.client_of(sent.partition("/")[0], "").partition("/")[0]


@custom_keys.ratekey("ratelimit_user_or_ip")
def user_or_ip(request: Any) -> str:
    return str(request.user.pk) if request.user.is_authenticated else _get_ip(request)


def get_usage(
    request: HttpRequest,
    group: str | None = None,
    fn: Any = None,
    key: Any = None,
    rate: Any = None,
    method: Any = ALL,
    increment: bool = False,
) -> dict[str, Any] | None:
    """What a client has used, and whether its next request is refused; None where nothing is limited. With `increment` it
    counts this one."""
    from ratewindow import api
    from ratewindow.request.doors import name_of

    methods = methods_of(method)
    if group is None and fn is None:
        raise ImproperlyConfigured("get_usage must be called with either `group` or `fn`")
    if rate is None or (methods and request.method not in methods):
        return None
    name = name_of(fn) if group is None else name_in(group, key, rate, methods)
    decision = (api.hit if increment else api.peek)(name, request, **options(group or custom_keys.place_of(fn), key, rate))
    if decision.limit is None:  # decided without a limit: by a block, or while Redis is unavailable
        return None if decision.allowed else {"count": 0, "limit": 0, "should_limit": True, "time_left": -1}
    return {
        "count": decision.limit - (decision.remaining or 0) + (not decision.allowed),
        "limit": decision.limit,
        "should_limit": not decision.allowed,
        "time_left": ceil(decision.retry_after or decision.reset_after or 0),
    }


def is_ratelimited(
    request: HttpRequest,
    group: str | None = None,
    fn: Any = None,
    key: Any = None,
    rate: Any = None,
    method: Any = ALL,
    increment: bool = False,
) -> bool:
    """Whether the request is refused. With `increment` it is counted."""
    return bool((get_usage(request, group, fn, key, rate, method, increment) or {}).get("should_limit"))


def get_header(request: HttpRequest, header: str) -> str:
    return request.headers.get(header.replace("_", "-"), "")


def _split_rate(rate: str) -> tuple[int, int]:
    """A rate as its limit and its seconds."""
    return parse_rates(rate)[0].limit, parse_rates(rate)[0].period_ms // 1000


for _function in (get_usage, is_ratelimited):
    vars(_function).update(ALL=ALL, UNSAFE=UNSAFE)
