"""The decorator, around ours: it raises where ours would answer."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from asgiref.sync import markcoroutinefunction
from django.conf import settings as site
from django.http import HttpRequest
from django.utils.module_loading import import_string

from ratewindow import decorators
from ratewindow.contrib.moving.django_ratelimit import ALL, UNSAFE, arguments, settings
from ratewindow.contrib.moving.django_ratelimit.exceptions import Ratelimited
from ratewindow.identity import original
from ratewindow.request.doors import is_async

__all__ = ["ratelimit"]

View = TypeVar("View", bound=Callable[..., Any])
_BEFORE = "_ratewindow_limited_before"


def ratelimit(
    group: str | None = None, key: Any = None, rate: Any = None, method: Any = ALL, block: bool = True
) -> Callable[[View], View]:
    """Limit a view, sync or async. A refusal is raised as `Ratelimited`, or with ``block=False`` said by ``request.limited``."""
    guard = decorators.ratelimit(
        None if group is None else arguments.name_in(group, key, rate, method),
        arguments.rate_of(rate),
        key=arguments.key_of(key) if key else "ip",
        methods=arguments.methods(method),
        block=False,
        on_error=settings.on_error(),  # type: ignore[call-overload]
    )

    def decorate(fn: Any) -> Any:
        @wraps(fn)
        def decided(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            asked: Any = original(request)
            refused, asked.limited = asked.limited, asked.limited or getattr(asked, _BEFORE)
            if refused and block:
                raise _exception()()
            return fn(request, *args, **kwargs)

        @wraps(limited := guard(_as_awaited(decided, fn)))
        def asks(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            asked: Any = original(request)
            before = getattr(asked, "limited", False)
            if rate is None or not settings.is_enabled():
                asked.limited = before
                return fn(request, *args, **kwargs)
            arguments.key_of(key)
            arguments.ask_for(group or arguments.group_of(fn), request)
            setattr(asked, _BEFORE, before)
            asked.limited = False
            return limited(request, *args, **kwargs)

        return _as_awaited(asks, fn)

    return decorate


def _as_awaited(function: Any, fn: Any) -> Any:
    return markcoroutinefunction(function) if is_async(fn) else function


def _exception() -> type[Exception]:
    given = getattr(site, "RATELIMIT_EXCEPTION_CLASS", Ratelimited)
    found: type[Exception] = import_string(given) if isinstance(given, str) else given
    return found


vars(ratelimit).update(ALL=ALL, UNSAFE=UNSAFE)
