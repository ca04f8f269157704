"""Doors: what a guard needs to know of the place where it stands; and all the doors of a request, found without sending it."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import Any, Protocol, TypeVar

from django.conf import settings
from django.http import HttpRequest
from django.utils.module_loading import import_string

from ratewindow.identity.routes import match_of
from ratewindow.request.prepare import Cost
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules import decorated_methods
from ratewindow.rules.rule import Rule

Awaited = Callable[[Rulebook, HttpRequest], Awaitable["Door"]]
Guard = TypeVar("Guard", bound=Callable[..., Any])
Finder = Callable[[HttpRequest, Any], Iterable["Door"]]


class Door(Protocol):
    """What a guard needs to know of the place where it stands."""

    cost: Cost
    block: bool
    at_view: bool  # sets ``request.limited``, as django-ratelimit does, and may be given the request of DRF

    @property
    def awaited(self) -> Awaited | None:
        """The door for one request, where functions of the site's must be awaited for it."""

    def rules(self, book: Rulebook, request: HttpRequest) -> Iterable[Rule]:
        """The rules that hold for this request here."""


class PathDoor:
    """The door for every rule that applies by path: the middleware's."""

    cost: Cost = 1
    block = True
    at_view = False
    awaited: Awaited | None = None
    rules = staticmethod(Rulebook.match)


_finders: list[Finder] = []


def add_finder(finder: Finder) -> None:
    """Let `finder` add the doors that a view has for a request further in, as those of REST framework."""
    _finders.append(finder)


def with_door(guard: Guard, door: Door) -> Guard:
    """The guard, with the door that it stands at, for `doors_of`."""
    guard._ratewindow_door = door  # type: ignore[attr-defined]
    return guard


def doors_of(request: HttpRequest) -> list[Door]:
    """The doors that a request will pass, the outermost first."""
    found: list[Door] = [PathDoor()] if any(map(_is_ours, settings.MIDDLEWARE)) else []
    match = match_of(request)
    if match is not None:
        for door in (*_of_view(match.func, request), *(door for find in _finders for door in find(request, match.func))):
            if not any(door is each for each in found):  # a decorator copies the attributes of what it decorates
                found.append(door)
    return found


def _is_ours(path: str) -> bool:
    middleware = import_string(path)
    return isinstance(middleware, type) and issubclass(middleware, PathDoor)


def _of_view(view: Any, request: HttpRequest) -> Iterator[Door]:
    """The doors of a view, under any decorators that keep what they decorate."""
    while view is not None:
        if (door := getattr(view, "__dict__", {}).get("_ratewindow_door")) is not None:
            yield door
        owner = getattr(view, "__self__", None)
        if owner is not None:
            yield from (limit.door_of(type(owner), view) for limit in decorated_methods.limits_on(view))
        shown = getattr(view, "view_class", None) or getattr(view, "cls", None)
        if isinstance(shown, type):
            yield from _of_class(shown, _handler(view, shown, request.method or ""))
            return
        view = view.func if isinstance(view, partial) else getattr(view, "__wrapped__", None)


def _of_class(shown: type, handler: str) -> Iterator[Door]:
    """The doors of a class of views, at its `dispatch` and at the method that answers."""
    for name in ("dispatch", handler):
        method = getattr(shown, name, None)
        while method is not None:
            if (door := getattr(method, "__dict__", {}).get("_ratewindow_door")) is not None:
                yield door
            yield from (limit.door_of(shown, method) for limit in decorated_methods.limits_on(method))
            method = getattr(method, "__wrapped__", None)


def _handler(view: Any, shown: type, method: str) -> str:
    """The name of the method that answers; of a view set of REST framework that of its action."""
    name = method.lower()
    actions = getattr(view, "actions", None)
    if isinstance(actions, dict):
        return str(actions.get(name) or (actions.get("get") if name == "head" else None) or name)
    return "get" if name == "head" and not hasattr(shown, "head") else name
