"""Limits on the methods of classes by Django's ``method_decorator``: finds the decorated class before any request.

``method_decorator`` calls a decorator for each request, with the method bound to the view that serves it, and once at
import for a dummy function, whose attributes it copies to the method. A limit leaves a mark in these attributes, by which
the decorated class is found even if its methods are inherited.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from django.apps import apps
from django.urls import URLPattern, get_resolver
from django.utils.decorators import method_decorator

MARK = "_ratewindow_limit_"


class Place(NamedTuple):
    """The place of a limit: the class, its method, and the position among several limits on that method."""

    view: type
    method: str
    position: int


def is_dummy(view: Any) -> bool:
    """Whether this is the dummy function of ``method_decorator``; the method itself is decorated at each call."""
    return bool(getattr(view, "__module__", None) == method_decorator.__module__)


def owner(view: Any) -> type | None:
    """The class of a bound method that ``method_decorator`` passes to a decorator; None for anything else."""
    while view is not None:
        if isinstance(view, partial):
            instance = getattr(view.func, "__self__", None)
            return type(instance) if instance is not None and hasattr(view, "__wrapped__") else None
        view = getattr(view, "__wrapped__", None)
    return None


def place(view: type, mark: str) -> Place | None:
    """The place of the limit with this mark, among those of the class and its bases."""
    return next((place for place, found, _ in _marked(view) if found == mark), None)


def limits_on(method: Any) -> list[Any]:
    """The values of the marks on a method, those of the outermost limits first."""
    return [value for name, value in getattr(method, "__dict__", {}).items() if name.startswith(MARK)]


def of_site() -> Iterator[tuple[Place, Any]]:
    """Every limit on a method of the URLconf's views, or of models, which may serve themselves as pages; with the value of
    its mark."""
    seen: set[type] = set()
    for view in (*_classes(get_resolver().url_patterns), *apps.get_models()):
        if view not in seen:
            seen.add(view)
            yield from ((place, value) for place, _, value in _marked(view))


def _marked(view: type) -> Iterator[tuple[Place, str, Any]]:
    """Place, mark and value of each limit, from the class to its bases; of several on one method the innermost first."""
    lineage = view.__mro__
    for depth, each in enumerate(lineage):
        for name, method in vars(each).items():
            marks = [mark for mark in getattr(method, "__dict__", ()) if mark.startswith(MARK)]
            if not marks:
                continue
            inherited = next((vars(base)[name] for base in lineage[depth + 1 :] if name in vars(base)), None)
            own = [mark for mark in reversed(marks) if mark not in getattr(inherited, "__dict__", ())]
            for position, mark in enumerate(own, 1):
                yield Place(each, name, position), mark, vars(method)[mark]


def _classes(patterns: Iterable[Any]) -> Iterator[type]:
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            if (found := _class_behind(pattern.callback)) is not None:
                yield found
        else:
            yield from _classes(pattern.url_patterns)


def _class_behind(view: Any) -> type | None:
    """The class of a view made by ``as_view()``, of a bound method, such as those of the admin, or of a callable object,
    under any decorators."""
    while view is not None:
        if not hasattr(view, "__qualname__") and not isinstance(view, partial):
            return type(view)
        for found in (getattr(view, "view_class", None), getattr(view, "cls", None), type(getattr(view, "__self__", None))):
            if isinstance(found, type) and found is not type(None):
                return found
        view = view.func if isinstance(view, partial) else getattr(view, "__wrapped__", None)
    return None
