"""Keys that code gives as functions, or as the dotted paths of functions, which may be django-ratelimit's.

Those are called with group and request where they need two.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpRequest

from ratewindow.identity import custom_keys
from ratewindow.identity.custom_keys import CustomKey, arguments_of, place_of

Key = str | Callable[..., str | int | UUID | None]


def as_text(key: Key, group: str) -> str:
    """The text of a recipe for what code gives as a key; what is neither text nor a function stays as it is."""
    if isinstance(key, str):
        return "+".join([_found(part.strip(), group) for part in key.split("+")])
    return _anonymous(key, group) if callable(key) else key


class Late:
    """The function at a path that leads back to a module which is still being imported: found at the first request."""

    def __init__(self, path: str, group: str) -> None:
        self._path, self._group = path, group
        self._function: Callable[[HttpRequest], Any] | None = None
        self.__module__, self.__qualname__ = path.rpartition(".")[::2]

    def __call__(self, request: HttpRequest) -> Any:
        if self._function is None:
            found = custom_keys.imported(self._path)
            function = partial(found, self._group) if callable(found) and arguments_of(found) == 2 else found
            custom_keys.check(self._path, function)
            self._function = function
        return self._function(request)


def _found(part: str, group: str) -> str:
    if not custom_keys.is_path(part) or part in custom_keys.known():
        return part
    try:
        function = custom_keys.imported(part)
    except ValueError as error:
        if not _is_too_early(part, error):
            raise
        name = f"{part}@{group or 'code'}"
        custom_keys.remember(CustomKey(part, Late(part, group)), name)
        return name
    return _anonymous(function, group) if callable(function) and arguments_of(function) == 2 else part


def _is_too_early(path: str, error: ValueError) -> bool:
    """Whether the decorated view's module has not come to the function yet, or the function's needs that of the view."""
    module = sys.modules.get(path.rpartition(".")[0])
    return getattr(getattr(module, "__spec__", None), "_initializing", False) or "partially initialized module" in str(error)


def _anonymous(function: Callable[..., Any], group: str) -> str:
    name = place_of(function)
    if "<" in name:  # a lambda, or a function in a function: a module may have several
        name = f"{name}@{getattr(getattr(function, '__code__', None), 'co_firstlineno', 0)}"
    made: Callable[[HttpRequest], Any] = function
    if arguments_of(function) == 2:
        name, made = f"{name}@{group}", partial(function, group)
    custom_keys.check(name, made)
    base, number = name, 1  # several lambdas may stand in one line
    while name in custom_keys.known() and _undone(custom_keys.known()[name].function) != function:
        number += 1
        name = f"{base}-{number}"
    custom_keys.remember(CustomKey(name, made))
    return name


def _undone(function: Any) -> Any:
    return function.func if isinstance(function, partial) else function
