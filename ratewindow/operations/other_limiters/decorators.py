"""Finds what a package's decorator was given, in the functions that it left around views.

Such packages keep no list of what they limit. But the function that a decorator returns refers to its arguments, and to the view
below it.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ratewindow.rules.site_routes import Route, routes

_METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")


class Use(NamedTuple):
    """A decorator at the view of a route, with its arguments. Empty `methods` means all."""

    route: Route
    view: str  # for people
    arguments: dict[str, Any]
    methods: frozenset[str]


def uses(module: str) -> Iterator[Use]:
    """Every use of the decorators of this module, and of those below it, at the views of the URLconf."""
    for route in routes():
        seen = set[int]()
        for function, methods in _functions(route.way.callback):
            if _is_of(function, module) and id(function) not in seen:
                seen.add(id(function))
                yield Use(route, route.way.view, arguments_of(function), methods)


def arguments_of(function: Any) -> dict[str, Any]:
    """The variables of the functions around this one to which it refers."""
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    found = {}
    for name, cell in zip(names, getattr(function, "__closure__", None) or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not set yet
            continue
    return found


def _is_of(function: Any, module: str) -> bool:
    """By the module that its code is from, since a decorator gives its function the name and the module of the view."""
    name = getattr(function, "__globals__", {}).get("__name__", "")
    return name == module or str(name).startswith(f"{module}.")


def _functions(view: Any, methods: frozenset[str] = frozenset()) -> Iterator[tuple[Any, frozenset[str]]]:
    """The functions around a view, from outside to inside, and those around the methods of its class."""
    while view is not None:
        yield view, methods
        for decorator in _of_method_decorator(view):
            yield decorator, methods
        shown = getattr(view, "view_class", None) or getattr(view, "cls", None)
        if isinstance(shown, type):
            yield from _functions(getattr(shown, "dispatch", None), methods)
            actions: dict[str, str] = getattr(view, "actions", None) or {name: name for name in _METHODS}
            for method, name in actions.items():
                yield from _functions(getattr(shown, name, None), frozenset([method.upper()]))
        view = getattr(view, "__wrapped__", None)


def _of_method_decorator(function: Any) -> Iterator[Callable[..., Any]]:
    """The decorators that Django's `method_decorator` applies at each call."""
    if _is_of(function, "django.utils.decorators"):
        yield from arguments_of(function).get("decorators", ())
