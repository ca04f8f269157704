"""Limits that code asks for itself: `is_ratelimited` and `get_usage`, by `ratewindow.hit` and `ratewindow.peek`."""

from math import ceil
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest

from ratewindow import api
from ratewindow.contrib.moving.django_ratelimit import ALL, UNSAFE, arguments, settings
from ratewindow.limiter.rates import parse_rates
from ratewindow.request.doors import name_of

__all__ = ["get_usage", "is_ratelimited"]

Usage = dict[str, Any]
_get_ip = arguments.address  # sites call it in keys of their own
user_or_ip = arguments.user_or_ip


def get_usage(
    request: HttpRequest,
    group: str | None = None,
    fn: Any = None,
    key: Any = None,
    rate: Any = None,
    method: Any = ALL,
    increment: bool = False,
) -> Usage | None:
    """What a client has used, and whether its next request is refused; None where nothing is limited. With `increment` it
    counts this one."""
    if group is None and fn is None:
        raise ImproperlyConfigured("get_usage must be called with either `group` or `fn` arguments")
    named = arguments.methods(method)
    if rate is None or not settings.is_enabled() or (named and request.method not in named):
        return None
    name = name_of(fn) if group is None else arguments.name_in(group, key, rate, method)
    arguments.ask_for(arguments.group_of(fn) if group is None else group, request)
    ask = api.hit if increment else api.peek
    decision = ask(name, request, rate=arguments.rate_of(rate), key=arguments.key_of(key), on_error=settings.on_error())
    if decision.limit is None:  # decided without a limit: by a block, or while Redis is unavailable
        return None if decision.allowed else {"count": 0, "limit": 0, "should_limit": True, "time_left": -1}
    used = decision.limit - (decision.remaining or 0)
    wait_s = decision.reset_after if decision.allowed else decision.retry_after
    return {
        "count": used if decision.allowed else max(used, decision.limit) + 1,
        "limit": decision.limit,
        "should_limit": not decision.allowed,
        "time_left": ceil(wait_s or 0),
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
    usage = get_usage(request, group, fn, key, rate, method, increment)
    return usage is not None and bool(usage["should_limit"])


def get_header(request: HttpRequest, header: str) -> str:
    return request.headers.get(header.replace("_", "-"), "")


def _split_rate(rate: Any) -> tuple[int, int]:
    """A rate as its limit and its seconds."""
    if isinstance(rate, tuple):
        return rate
    first = parse_rates(arguments.read(rate))[0]
    return first.limit, first.period_ms // 1000


for _function in (get_usage, is_ratelimited):
    vars(_function).update(ALL=ALL, UNSAFE=UNSAFE)
