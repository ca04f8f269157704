"""The ``key`` argument of decorators: a key as text, a function, or the dotted path of a function.

A function that needs two arguments is called as django-ratelimit does, with group and request.
"""

import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpRequest

from ratewindow.conf import site_functions
from ratewindow.identity import custom_keys
from ratewindow.identity.custom_keys import CustomKey, arguments_of, place_of

Identified = str | int | UUID | None
Key = str | Callable[..., Identified] | Callable[..., Awaitable[Identified]]


def as_text(key: Key, group: str) -> str:
    """The key as text for `recipe`; a value that is neither text nor a function is returned as it is."""
    if isinstance(key, str):
        return "+".join([_resolved(part.strip(), group) for part in key.split("+")])
    return _registered(key, group) if callable(key) else key


def of_call(key: Callable[..., Any], group: str) -> CustomKey:
    """A function as the key of one call. Another function of the same place may be made for the next call, so the first one
    alone is registered, for lists."""
    made = _custom(key, group)
    if made.name not in custom_keys.known():
        custom_keys.register_key(made)
    return made


def is_async(key: str) -> bool:
    """Whether a function that the key names must be awaited."""
    known = custom_keys.known()
    return any(site_functions.is_async(known[part.strip()].function) for part in key.split("+") if part.strip() in known)


class LateFunction:
    """A function by its dotted path, imported at the first request: its module is still being imported at the decorator."""

    def __init__(self, path: str, group: str) -> None:
        self._path, self._group = path, group
        self._function: Callable[[HttpRequest], Any] | None = None
        self.__module__, self.__qualname__ = path.rpartition(".")[::2]

    def __call__(self, request: HttpRequest) -> Any:
        if self._function is None:
            function = custom_keys.imported(self._path)
            if callable(function) and arguments_of(function) == 2:
                function = partial(function, self._group)
            if site_functions.is_async(function):
                raise ValueError(f"{self._path!r} is async, and was not known to be: define it above the view")
            custom_keys.check(self._path, function)
            self._function = function
        return self._function(request)


def _resolved(part: str, group: str) -> str:
    """A part of a key, with a function of two arguments replaced by its registered name."""
    if not custom_keys.is_path(part) or part in custom_keys.known():
        return part
    try:
        function = custom_keys.imported(part)
    except ValueError as error:
        if not _is_still_importing(part, error):
            raise
        name = f"{part}@{group or 'code'}"
        custom_keys.register_key(CustomKey(part, LateFunction(part, group)), name)
        return name
    is_special = callable(function) and (arguments_of(function) == 2 or site_functions.is_async(function))
    return _registered(function, group) if is_special else part


def _is_still_importing(path: str, error: ValueError) -> bool:
    """Whether the function's module is being imported: it is the view's own module, or it imports that."""
    module = sys.modules.get(path.rpartition(".")[0])
    return getattr(getattr(module, "__spec__", None), "_initializing", False) or "partially initialized module" in str(error)


def _registered(function: Callable[..., Any], group: str) -> str:
    """Register a function as a key, under a name made of its place."""
    made = _custom(function, group)
    name, number = made.name, 1  # several lambdas may stand in one line
    while name in custom_keys.known() and _unbound(custom_keys.known()[name].function) != function:
        number += 1
        name = f"{made.name}-{number}"
    custom_keys.register_key(CustomKey(name, made.function))
    return name


def _custom(function: Callable[..., Any], group: str) -> CustomKey:
    name = line_of(function)
    of_request: Callable[[HttpRequest], Any] = function
    if arguments_of(function) == 2:
        name, of_request = f"{name}@{group}", partial(function, group)
    custom_keys.check(name, of_request, may_be_async=True)
    return CustomKey(name, of_request)


def line_of(function: Any) -> str:
    """The place of a function, of a lambda or a local one with its line: a module may have several."""
    place = place_of(function)
    return f"{place}@{getattr(getattr(function, '__code__', None), 'co_firstlineno', 0)}" if "<" in place else place


def _unbound(function: Any) -> Any:
    return function.func if isinstance(function, partial) else function
