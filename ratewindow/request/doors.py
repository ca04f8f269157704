"""Doors: what a guard needs to know of the place where it stands, and of the view behind it: its name, and whether it is awaited.
Also all the doors of a request, found without sending it."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from copy import copy
from functools import lru_cache, partial
from typing import Any, TypeVar

from asgiref.sync import iscoroutinefunction
from django.apps import apps
from django.conf import settings
from django.http import HttpRequest
from django.utils.module_loading import import_string

from ratewindow.conf import site_functions
from ratewindow.identity.request_attributes import match_of
from ratewindow.limiter.keys import digest
from ratewindow.request.prepare import Cost
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.code_rates import GivenRate
from ratewindow.rules.rule import Rule
from ratewindow.rules.site_routes import limits_on

Awaited = Callable[[Rulebook, HttpRequest], Awaitable["Door"]]
Guard = TypeVar("Guard", bound=Callable[..., Any])
Finder = Callable[[HttpRequest, Any], Iterable["Door"]]


class Door:
    """What a guard needs to know of the place where it stands, as most doors have it."""

    cost: Cost = 1
    block = True
    at_view = False  # sets ``request.limited``, as django-ratelimit does, and may be given the request of DRF
    rules: Callable[[Rulebook, HttpRequest], Iterable[Rule]]  # those that hold for a request here

    @property
    def awaited(self) -> Awaited | None:
        """The door for one request, where functions of the site's must be awaited for it."""
        return None


class PathDoor(Door):
    """The door for every rule that applies by path: the middleware's."""

    rules = staticmethod(Rulebook.match)  # one call less in each request


class ViewDoor(Door):
    """The door at a view. At an async view the rate, the key and the cost may be async `functions`; at a sync view it raises for
    these, which Django's ``method_decorator`` does not let the decorator see at import."""

    at_view = True

    def __init__(self, name: str, given: GivenRate, cost: Cost, block: bool, warn: bool, functions: str = "") -> None:
        self.name, self.cost, self.block = name, cost, block
        self._given, self._warn, self._functions = given, warn, functions
        self._rate_of: Callable[[str, HttpRequest], Rule | None] = given.rule

    @property
    def awaited(self) -> Awaited | None:
        return self._of_request if self._functions or self._given.is_async else None

    def rules(self, book: Rulebook, request: HttpRequest) -> Iterable[Rule]:
        if self._functions:
            raise TypeError(must_be_async(self._functions, f"the view with rule {self.name}"))
        code = None if book.alone else self._rate_of(self.name, request)
        return book.named(self.name, code, request.method, warn=self._warn)

    async def _of_request(self, book: Rulebook, request: HttpRequest) -> "ViewDoor":
        """The door for one request. A cost is not asked for if no rule holds."""
        code = None if book.alone else await self._given.arule(self.name, request)
        door = copy(self)
        door._functions, door._rate_of = "", lambda name, request: code
        if site_functions.is_async(self.cost) and [*door.rules(book, request)]:
            door.cost = await _answer(self.cost, request)
        return door


async def _answer(cost: Any, request: HttpRequest) -> Callable[[HttpRequest], int]:
    """A function that returns or raises what the async one has."""
    try:
        answer = await cost(request)
    except Exception as error:
        return partial(_fail, error)
    return lambda request: answer


def _fail(error: Exception, request: HttpRequest) -> int:
    raise error


def must_be_async(functions: str, view: str) -> str:
    """What is wrong with async functions at a sync view."""
    return f"the {functions} is given by an async function, and {view} is not async: give a plain function"


finders: list[Finder] = []  # of the doors that a view has for a request further in, as those of REST framework


def with_door(guard: Guard, door: Door) -> Guard:
    """The guard, with the door that it stands at, for `doors_of`."""
    guard._ratewindow_door = door  # type: ignore[attr-defined]
    return guard


def doors_of(request: HttpRequest) -> list[Door]:
    """The doors that a request will pass, the outermost first."""
    doors: list[Door] = [PathDoor()] if has_middleware() else []
    match = match_of(request)
    if match is not None:
        doors += [*_of_view(match.func, request), *(door for find in finders for door in find(request, match.func))]
    return [*{id(door): door for door in doors}.values()]  # a decorator copies the attributes of what it decorates


def has_middleware() -> bool:
    """Whether the site has our middleware, or a subclass of it."""
    return any(class_at(path, PathDoor) for path in settings.MIDDLEWARE or ())


def class_at(path: str, base: type) -> Any:
    """The class that a setting names, if it is `base` or a subclass of that; else None."""
    try:
        found = import_string(path)
    except ImportError:  # which Django reports
        return None
    return found if isinstance(found, type) and issubclass(found, base) else None


def _of_view(view: Any, request: HttpRequest, owner: type | None = None) -> Iterator[Door]:
    """The doors of a view, under any decorators that keep what they decorate; of a class those of its `dispatch` and of the
    method that answers."""
    while view is not None:
        if (door := getattr(view, "__dict__", {}).get("_ratewindow_door")) is not None:
            yield door
        bound = getattr(view, "__self__", None)  # not of what as_view() makes, which copies the attributes of `dispatch`
        if of_class := owner or (type(bound) if bound is not None else None):
            yield from (limit.door_of(of_class, view) for limit in limits_on(view))
        shown = getattr(view, "view_class", None) or getattr(view, "cls", None)
        if isinstance(shown, type):
            for name in ("dispatch", _handler(view, shown, request.method or "")):
                yield from _of_view(getattr(shown, name, None), request, shown)
            return
        view = view.func if isinstance(view, partial) else getattr(view, "__wrapped__", None)


def _handler(view: Any, shown: type, method: str) -> str:
    """The name of the method that answers; of a view set of REST framework that of its action."""
    name = method.lower()
    actions = getattr(view, "actions", None)
    if isinstance(actions, dict):
        return str(actions.get(name) or (actions.get("get") if name == "head" else None) or name)
    return "get" if name == "head" and not hasattr(shown, "head") else name


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


def check_view(handler: Any) -> None:
    """Raise TypeError for what is not a view, with the way to limit it."""
    if any(hasattr(handler, name) for name in _OF_TASKS) or not callable(handler):
        raise TypeError(f"{handler!r} is not a view, it gets no request: {_ELSEWHERE}")
    if isinstance(handler, type) and not callable(getattr(handler, "dispatch", None)):
        raise TypeError(f"{place_of(handler)} is not a view class, it has no dispatch(): decorate what is in the URLconf")
    if inspect.isfunction(handler):  # a bound method, such as a site's admin.site.login, has its self already
        code = handler.__code__
        first = next(iter(code.co_varnames[: code.co_argcount]), "")
        if first == "self":
            raise TypeError(f"{place_of(handler)} is a method: write @method_decorator(ratelimit(...)) above it")
        if not first and not code.co_flags & inspect.CO_VARARGS:
            raise TypeError(f"{place_of(handler)} is not a view, it takes no request: {_ELSEWHERE}")


_OF_TASKS = ("apply_async", "delay", "enqueue", "send_with_options")  # of Celery, Django, and others
_ELSEWHERE = "without one, call ratewindow.hit(name, identity), with an identity such as user:42"


def named_by(handler: Any) -> Any:
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
    thing = named_by(handler)
    outside, dot, last = thing.__qualname__.rpartition(".")
    return thing.__module__, f"{outside}{dot}{getattr(thing, '__name__', last)}"


def _of_app(module: str) -> list[str]:
    """The label of the app that a module belongs to, if any, and the module's path below it."""
    app = apps.get_containing_app_config(module) if apps.apps_ready else None
    label, below = ([app.label], module[len(app.name) :]) if app is not None else ([], module)
    return [*label, *(word for word in below.split(".") if word and word != "views")]
