"""Handlers: whether one is awaited, its place in the code, and the rule name that is derived from it."""

import inspect
import re
from functools import lru_cache, partial
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.apps import apps

from ratewindow.conf import site_functions
from ratewindow.limiter.keys import digest


def is_async(handler: Any) -> bool:
    """Whether its result must be awaited.

    The `dispatch` of a class with async methods is a plain function that returns a coroutine. It may be wrapped in a
    partial, as by ``method_decorator``, and in other decorators around that.
    """
    if iscoroutinefunction(handler):
        return True
    inner = handler
    while inner is not None:
        if (instance := getattr(inner, "__self__", None)) is not None:
            view: Any = type(instance)
            return _has_async_methods(view)
        inner = inner.func if isinstance(inner, partial) else getattr(inner, "__wrapped__", None)
    return site_functions.is_async(handler)


@lru_cache(maxsize=1024)
def _has_async_methods(view: Any) -> bool:
    """The class's `view_is_async`, which looks through all its methods; Django reads it once, too."""
    return bool(getattr(view, "view_is_async", False))


def check(handler: Any) -> None:
    """Raise TypeError for what is not a view, with the way to limit it."""
    if isinstance(handler, type):
        if not callable(getattr(handler, "dispatch", None)):
            raise TypeError(f"{place_of(handler)} is not a view class, it has no dispatch(): decorate what is in the URLconf")
    elif any(hasattr(handler, each) for each in _OF_TASKS):
        raise TypeError(f"{handler!r} is a task, which gets no request: {_ELSEWHERE}")
    elif not callable(handler):
        raise TypeError(f"{handler!r} is not a view: decorate a function or a class of views")
    elif inspect.isfunction(handler):  # a bound method, such as a site's admin.site.login, has its self already
        code = handler.__code__
        first = next(iter(code.co_varnames[: code.co_argcount]), "")
        annotation: Any = handler.__annotations__.get(first)
        if first == "self":
            raise TypeError(f"{place_of(handler)} is a method: write @method_decorator(ratelimit(...)) above it")
        takes_none = not first and not code.co_flags & inspect.CO_VARARGS
        if takes_none or annotation in _NO_REQUESTS:
            raise TypeError(f"{place_of(handler)} is not a view, it takes no request: {_ELSEWHERE}")


_OF_TASKS = ("apply_async", "delay", "enqueue", "send_with_options")  # of Celery, Django, and others
_NO_REQUESTS = (str, int, float, bytes, "str", "int", "float", "bytes")
_ELSEWHERE = "without one, call ratewindow.hit(name, identity), with an identity such as user:42"


def called(handler: Any) -> Any:
    """What gives the handler its name: the class behind ``as_view()``, the function in a partial, the class of an object."""
    while isinstance(handler, partial) and not hasattr(handler, "__qualname__"):  # method_decorator's have one
        handler = handler.func
    if isinstance(handler, type):
        return handler
    behind = getattr(handler, "view_class", None) or getattr(handler, "cls", None)  # Django's, or REST framework's
    if isinstance(behind, type):
        return behind
    return handler if hasattr(handler, "__qualname__") else type(handler)


def place_of(handler: Any) -> str:
    """Module and name, for messages. ``@api_view`` makes a class of a function, with the function's name, but not as its
    qualified name."""
    return ".".join(_place(handler))


def name_of(handler: Any, position: int = 1) -> str:
    """A rule name from that of a view or class and, if it is not the only one there, its position."""
    return made_name(*_place(handler), position)


def made_name(module: str, inside: str, position: int = 1) -> str:
    """A rule name as a person would give it, of the app's label, the module and the view, without the word views:
    ``shop.cart``, ``shop.cart-2``, ``shop.api.price-list.get``."""
    words = [*_of_app(module), *inside.replace("<locals>.", "").split(".")]
    apart = [re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", word).lower() for word in words]
    name = ".".join(filter(None, (re.sub(r"[^a-z0-9_]+", "-", word).strip("-_") for word in apart)))
    name += f"-{position}" if position > 1 else ""
    return name if len(name) <= 64 else f"{name[-55:].lstrip('._-')}-{re.sub('[^a-z0-9]', 'x', digest(name, 6).lower())}"


def _place(handler: Any) -> tuple[str, str]:
    thing = called(handler)
    outside, dot, last = thing.__qualname__.rpartition(".")
    return thing.__module__, f"{outside}{dot}{getattr(thing, '__name__', last)}"


def _of_app(module: str) -> list[str]:
    """The label of the app that a module belongs to, if any, and the module's path below it."""
    app = apps.get_containing_app_config(module) if apps.apps_ready else None
    label, below = ([app.label], module[len(app.name) :]) if app is not None else ([], module)
    return [*label, *(word for word in below.split(".") if word and word != "views")]
