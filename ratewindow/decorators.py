"""The decorator: the door for rules that code names, and for rates in code; and limits that code declares once, by name.

It also takes the arguments of django-ratelimit, so that a site migrates by changing its imports.
"""

import sys
from collections.abc import Callable, Iterable
from functools import wraps
from types import MethodType
from typing import Any, TypeVar, Unpack, cast
from weakref import WeakKeyDictionary

from django.http import HttpRequest

from ratewindow import api
from ratewindow.conf import site_functions
from ratewindow.identity import custom_keys, recipe
from ratewindow.limiter.arguments import check_cost
from ratewindow.limiter.keys import digest
from ratewindow.limiter.types import Decision
from ratewindow.request.doors import (
    ViewDoor,
    check_view,
    is_async,
    made_name,
    must_be_async,
    name_of,
    named_by,
    place_of,
    with_door,
)
from ratewindow.request.guard import guarded
from ratewindow.request.prepare import Cost, Who
from ratewindow.rules import code_rates, site_routes
from ratewindow.rules.code_rates import CodeRate, DeclaredRate, GivenRate, Rate
from ratewindow.rules.rate_options import ViewOptions, parse_options
from ratewindow.rules.rule import check_name, parse_methods

View = TypeVar("View", bound=Callable[..., Any])
Methods = str | Iterable[str | None]

ALL = (None,)  # as django-ratelimit has it
_UNSAID: Any = object()  # no rate given; a rate of None is one that limits nobody
UNSAFE = ("DELETE", "PATCH", "POST", "PUT")


def ratelimit(
    name: str | None = None,
    rate: Rate | None = _UNSAID,
    *,
    key: custom_keys.Key = "ip",
    methods: Methods | None = None,
    cost: Cost = 1,
    block: bool = True,
    normalise: bool = False,
    group: str | None = None,
    method: Methods | None = None,
    **options: Unpack[ViewOptions],
) -> Callable[[View], View]:
    """Limit a view, sync or async, or all methods of a class-based view.

    ``@ratelimit("login")`` follows the rule of that name, or the `limit` that code declares; while there is neither, requests
    pass. ``@ratelimit("login", "5/m; 20/h", key="user")`` enforces the rate until a rule of that name is enforced or switched
    off; a rule in shadow counts in parallel. ``@ratelimit(rate="10/h")`` derives a name from the view's. `rate` and `cost`
    may be functions of the request; a rate of None does not limit it. `key` may be one, too: it returns what identifies
    the client, or None. For an async view they may be async. `normalise` treats different spellings of what clients type
    as one client. With ``block=False`` the view decides, by ``request.ratewindow.allowed``, or by ``request.limited``.
    `group` and `method` are django-ratelimit's names of `name` and `methods`. `options` belong to the rate, and are named
    as the fields of a rule in the admin: ``burst=20``, ``mode="shadow"``, ``penalty="15m"``; `ViewOptions` lists them. A bad
    value raises ValueError at import; an unknown option, and what is not a view, TypeError.
    """
    if callable(name):
        raise TypeError(f"@ratelimit needs its parentheses: write @ratelimit(rate='5/m') above {place_of(name)}")
    called = _one_of("name", name, "group", group)
    if called is None and rate is _UNSAID:
        raise ValueError('ratelimit() needs a rule\'s name, a rate, or both: @ratelimit("login") or @ratelimit(rate="5/m")')
    if called is not None:
        check_name(called)
    key = custom_keys.registered(key, called or "")
    recipe(key, normalise)
    allowed_methods = _methods(_one_of("methods", methods, "method", method))
    if not callable(cost):
        check_cost(cost)
    if options and rate is _UNSAID:
        raise ValueError(f"{next(iter(options))} belongs to a rate in code: give a rate, or set it at the rule in the admin")
    if called is not None and rate is _UNSAID:
        given: GivenRate = DeclaredRate(called, key, allowed_methods, normalise)
    else:
        given = GivenRate(rate, key, allowed_methods, normalise, parse_options(options))
    return _Arguments(called, given, cost, block).around


ratelimit.ALL = ALL  # type: ignore[attr-defined]
ratelimit.UNSAFE = UNSAFE  # type: ignore[attr-defined]


def limit(
    name: str,
    rate: Rate,
    *,
    key: custom_keys.Key = "ip",
    methods: Methods | None = None,
    normalise: bool = False,
    **options: Unpack[ViewOptions],
) -> "DeclaredLimit":
    """Declare a limit once, in a module that is imported when the site starts: ``EXPORT = limit("export", "20/h", key="user")``.

    It is listed from then on, and a rule of that name can take its place. The arguments are those of `ratelimit`. ValueError
    names a bad value, and a second declaration that says something else.
    """
    check_name(name)
    given = GivenRate(rate, custom_keys.registered(key, name), _methods(methods), normalise, parse_options(options, "limit()"))
    if given.registered is None:
        raise ValueError(f"limit {name!r} has no rate: write for example 5/m")
    recipe(given.key, normalise)
    frame = sys._getframe(1)
    place = f"{frame.f_globals.get('__name__', '')}:{frame.f_lineno}"
    code_rates.declare(
        CodeRate(name, given.registered, given.key, given.methods, place, normalise, options=given.options, declared=given)
    )
    return DeclaredLimit(name, given)


class DeclaredLimit:
    """A limit that code has declared: ``EXPORT.hit(request)``, and ``@EXPORT`` at a view.

    `who` is a request, or an identity such as ``"user:42"``. `rate` is that call's own limit on the same count.
    """

    def __init__(self, name: str, given: GivenRate) -> None:
        self.name = name
        self._arguments = _Arguments(name, given, cost=1, block=True)

    def __call__(self, view: View) -> View:
        """Limit a view, as ``@ratelimit(name)`` does."""
        return cast("View", self._arguments.around(view))

    def hit(
        self, who: Who, cost: int = 1, force: bool = False, raise_exception: bool = False, rate: Rate | None = None
    ) -> Decision:
        return api.hit(self.name, who, cost, force, raise_exception, rate)

    def peek(self, who: Who, cost: int = 1, rate: Rate | None = None) -> Decision:
        return api.peek(self.name, who, cost, rate)

    def reset(self, who: Who, rate: Rate | None = None) -> None:
        api.reset(self.name, who, rate)

    async def ahit(
        self, who: Who, cost: int = 1, force: bool = False, raise_exception: bool = False, rate: Rate | None = None
    ) -> Decision:
        return await api.ahit(self.name, who, cost, force, raise_exception, rate)


class _Arguments:
    """The arguments of one decorator, whatever it decorates."""

    def __init__(self, called: str | None, given: GivenRate, cost: Cost, block: bool) -> None:
        self._called, self._given, self._cost, self._block = called, given, cost, block
        self._async = _async_ones(given, cost)
        # The same for each of the decorators that a decorator of the site's makes, one at each request.
        methods, options = sorted(given.methods), given.options.words
        arguments = (called, given.registered, given.key, methods, given.normalise, options, cost, block)
        self._mark = site_routes.MARK + digest(repr(arguments), 12)
        self._doors: WeakKeyDictionary[type, ViewDoor] = WeakKeyDictionary()  # of classes whose methods are limited

    def around(self, view: Any) -> Any:
        """The view, limited; of a class all its methods."""
        if (owner := site_routes.owner(view)) is not None:
            return _guarded(view, self.door_of(owner, view))
        check_view(view)
        if site_routes.is_dummy(view):
            if self._called:
                self._register(self._called, code_rates.SOME_METHOD)
            setattr(view, self._mark, self)
            return view
        if self._async and _is_sync(view):
            raise ValueError(must_be_async(self._async, place_of(view)))
        door = self._door(self._called or _name_of(view))
        self._register(door.name, place_of(view))
        return _guard_class(view, door) if isinstance(view, type) else _guarded(view, door)

    def door_of(self, owner: type, view: Any) -> ViewDoor:
        """The door of a class's method, which each request brings bound to another view of the class."""
        if (door := self._doors.get(owner)) is None:
            name = self._called
            if name is None:  # without a place: decorators that are made for each request, or hide what they decorate
                position = getattr(view, "_ratewindow_doors", 0) + 1
                limited = site_routes.limited_method(owner, self._mark) or site_routes.LimitedMethod(
                    owner, view.__name__, position
                )
                name = _name_at(limited)
                self.register_at(limited)
            door = self._doors[owner] = self._door(name)
        return door

    def _door(self, name: str) -> ViewDoor:
        warn = bool(self._called) and self._given.registered is None
        return ViewDoor(name, self._given, self._cost, self._block, warn, self._async)

    def register_at(self, limited: site_routes.LimitedMethod) -> None:
        where = f"{limited.view.__module__}.{limited.view.__qualname__}.{limited.method}"
        self._register(self._called or _name_at(limited), where)

    def _register(self, name: str, place: str) -> None:
        given = self._given
        if given.registered is not None or self._called:  # else it limits nobody, and needs no rule
            code_rates.register(
                CodeRate(name, given.registered, given.key, given.methods, place, given.normalise, options=given.options)
            )


def _register_methods() -> None:
    for limited, arguments in site_routes.limited_methods():
        arguments.register_at(limited)


code_rates.finders.append(_register_methods)


def _guarded(view: Any, door: ViewDoor) -> Any:
    wrapped: Any = guarded(view, door)
    if not hasattr(view, "__name__"):  # Django names a route without a name after its view
        for each in ("__module__", "__name__", "__qualname__"):
            setattr(wrapped, each, getattr(named_by(view), each))
    wrapped._ratewindow_doors = getattr(view, "_ratewindow_doors", 0) + 1
    return wrapped


def _async_ones(given: GivenRate, cost: Cost) -> str:
    """Which arguments are async: ``rate and cost``, or empty."""
    found = {"rate": given.is_async, "key": custom_keys.is_async(given.key), "cost": site_functions.is_async(cost)}
    return " and ".join(name for name, is_async in found.items() if is_async)


def _is_sync(view: Any) -> bool:
    """Whether a view is known not to be awaited: subclasses of a class without handlers may be async."""
    if isinstance(view, type):
        named = getattr(view, "http_method_names", ())
        return any(hasattr(view, each) for each in named if each != "options") and not getattr(view, "view_is_async", False)
    return not is_async(view)


def _guard_class(view: Any, door: ViewDoor) -> Any:
    """Limit every method of a view class at its `dispatch`. Each subclass decides whether they are async."""
    dispatch = view.dispatch

    @wraps(dispatch)  # with its attributes, such as that it is exempt from CSRF
    def guarded_dispatch(self: Any, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return guarded(MethodType(dispatch, self), door)(request, *args, **kwargs)

    view.dispatch = with_door(guarded_dispatch, door)
    view._ratewindow_doors = vars(view).get("_ratewindow_doors", 0) + 1
    return view


def _one_of(ours: str, value: Any, theirs: str, other: Any) -> Any:
    if value is not None and other is not None:
        raise ValueError(f"{theirs} is another name of {ours}: give one of them, not {value!r} and {other!r}")
    return other if value is None else value


def _methods(methods: Methods | None) -> frozenset[str]:
    named = methods if isinstance(methods, Iterable) and not isinstance(methods, str) else [methods]
    texts = [each for each in named if each is not None]
    if not all(isinstance(each, str) for each in texts):
        raise ValueError(f"{methods!r} does not name HTTP methods: write for example 'POST', or ['GET', 'HEAD']")
    return parse_methods(",".join(texts))


def _name_at(limited: site_routes.LimitedMethod) -> str:
    """A rule name for a place in a class: the class's own where its `dispatch` is limited, and so all its methods."""
    method = "" if limited.method in ("dispatch", "__call__") else f".{limited.method}"
    return made_name(limited.view.__module__, limited.view.__qualname__ + method, limited.position)


def _name_of(view: Any) -> str:
    """A rule name from the view's own and its place in a stack of decorators: ``shop.views.search``, ``...-2``."""
    stack = [view] if (behind := named_by(view)) is view else [view, behind]  # a class may have decorators itself
    doors = sum(getattr(each, "__dict__", {}).get("_ratewindow_doors", 0) for each in stack)  # not a base class's
    return name_of(view, doors + 1)
