"""The decorator: ours, below which a refusal is raised."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

from asgiref.sync import markcoroutinefunction

from ratewindow.contrib.moving.django_ratelimit import ALL, UNSAFE, core
from ratewindow.contrib.moving.django_ratelimit.exceptions import Ratelimited
from ratewindow.identity import custom_keys, original

View = TypeVar("View", bound=Callable[..., Any])


def ratelimit(
    group: str | None = None, key: Any = None, rate: Any = None, method: Any = ALL, block: bool = True
) -> Callable[[View], View]:
    """Limit a view, sync or async. A refusal is raised as `Ratelimited`, or with ``block=False`` said by ``request.limited``."""

    def decorate(fn: Any) -> Any:
        from ratewindow.request.doors import is_async

        @wraps(fn)
        def decided(request: Any, *args: Any, **kwargs: Any) -> Any:
            core.options("", key if rate else "none", None)  # at a request, as there: raises if there is no key
            decisions = original(request).ratewindow.decisions  # type: ignore[attr-defined]
            if block and not all(each for each in decisions if each.rule == limited._ratewindow_door.name):
                raise core.found(core.setting("EXCEPTION_CLASS", Ratelimited))()
            return fn(request, *args, **kwargs)

        methods = core.methods_of(method)
        name = group and core.name_in(group, key, rate, methods)
        guard = _guard(name, methods=methods, **core.options(group or custom_keys.place_of(fn), key or "ip", rate))
        limited: Any = guard(markcoroutinefunction(decided) if is_async(fn) else decided)
        return limited

    return decorate


@lru_cache(maxsize=1024)
def _guard(name: str | None, **arguments: Any) -> Callable[[Any], Any]:
    """Our decorator, one for all requests to a method, which Django decorates each time."""
    from ratewindow import decorators  # sites make theirs before their apps are loaded

    return decorators.ratelimit(name, block=False, **arguments)


vars(ratelimit).update(ALL=ALL, UNSAFE=UNSAFE)
