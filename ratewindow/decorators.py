"""The decorator: the door for rules that code names, and for rates in code; and limits that code declares once, by name.

It also takes the arguments of django-ratelimit, so that a site migrates by changing its imports.
"""

import sys
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import wraps
from pathlib import Path
from types import MethodType
from typing import Any, Never, ParamSpec, Protocol, TypeVar, Unpack, cast
from weakref import WeakKeyDictionary

from django.http import HttpRequest

from ratewindow import api
from ratewindow.api import Who
from ratewindow.conf import site_functions
from ratewindow.identity import key_argument, recipe
from ratewindow.identity.key_argument import Key
from ratewindow.limiter.keys import digest
from ratewindow.limiter.limiter import check_cost
from ratewindow.limiter.types import Decision
from ratewindow.request import handlers
from ratewindow.request.doors import with_door
from ratewindow.request.guard import guarded
from ratewindow.request.prepare import Cost
from ratewindow.request.view_door import AwaitingDoor, ViewDoor, must_be_async
from ratewindow.rules import code_rates
from ratewindow.rules import decorated_methods as methods_of
from ratewindow.rules.code_rates import CodeRate, Declared
from ratewindow.rules.decorated_methods import Place
from ratewindow.rules.rate_argument import DeclaredRate, GivenRate, Rate
from ratewindow.rules.rate_options import ViewOptions, parse_options
from ratewindow.rules.rule import check_methods, check_name

View = TypeVar("View", bound=Callable[..., Any])
Given = ParamSpec("Given")
Made = TypeVar("Made", covariant=True)
Methods = str | Iterable[str | None]

ALL = (None,)  # as django-ratelimit has it
_UNSAID: Any = object()  # no rate given; a rate of None is one that limits nobody
UNSAFE = ("DELETE", "PATCH", "POST", "PUT")


class _WithMethods(Protocol[Given, Made]):
    """A function with django-ratelimit's names for methods as attributes, such as ``ratelimit.UNSAFE``."""

    ALL: tuple[None]
    UNSAFE: tuple[str, ...]

    def __call__(self, *args: Given.args, **kwargs: Given.kwargs) -> Made: ...


def _with_methods(function: Callable[Given, Made]) -> _WithMethods[Given, Made]:
    made = cast("_WithMethods[Given, Made]", function)
    made.ALL, made.UNSAFE = ALL, UNSAFE
    return made


@_with_methods
def ratelimit(
    name: str | None = None,
    rate: Rate | None = _UNSAID,
    *misplaced: Never,
    key: Key = "ip",
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
    if misplaced:
        raise TypeError(
            "ratelimit() takes the name and the rate by position, then names: ratelimit(group=..., key=..., rate=...)"
        )
    if callable(name):
        raise TypeError(f"@ratelimit needs its parentheses: write @ratelimit(rate='5/m') above {handlers.place_of(name)}")
    called = _one_of("name", name, "group", group)
    if called is None and rate is _UNSAID:
        raise ValueError('ratelimit() needs a rule\'s name, a rate, or both: @ratelimit("login") or @ratelimit(rate="5/m")')
    if called is not None:
        check_name(called)
    key = key_argument.as_text(key, called or "")
    recipe(key, normalise)
    allowed_methods = _methods(_one_of("methods", methods, "method", method))
    if not callable(cost):
        check_cost(cost)
    if options and rate is _UNSAID:
        raise ValueError(f"{next(iter(options))} belongs to a rate in code: give a rate, or set it at the rule in the admin")
    of_rate = parse_options(options)
    if called is not None and rate is _UNSAID:
        given: GivenRate = DeclaredRate(called, key, allowed_methods, normalise)
    else:
        given = GivenRate(rate, key, allowed_methods, normalise, of_rate)
    arguments = _Arguments(called, given, cost, block)

    def decorate(view: View) -> View:
        return cast("View", arguments.around(view))

    return decorate


def limit(
    name: str,
    rate: Rate,
    *,
    key: Key = "ip",
    methods: Methods | None = None,
    normalise: bool = False,
    **options: Unpack[ViewOptions],
) -> "DeclaredLimit":
    """Declare a limit once, in a module that is imported when the site starts: ``EXPORT = limit("export", "20/h", key="user")``.

    It is listed from then on, and a rule of that name can take its place. The arguments are those of `ratelimit`. ValueError
    names a bad value, and a second declaration that says something else.
    """
    check_name(name)
    given = GivenRate(rate, key_argument.as_text(key, name), _methods(methods), normalise, parse_options(options, "limit()"))
    if given.registered is None:
        raise ValueError(f"limit {name!r} has no rate: write for example 5/m")
    recipe(given.key, normalise)
    in_code = Declared(given, _as_it_stands(rate), _as_it_stands(key))
    place = _place_of_caller(sys._getframe(1))
    code_rates.declare(
        CodeRate(name, given.registered, given.key, given.methods, place, normalise, options=given.options, declared=in_code)
    )
    return DeclaredLimit(name, given)


class DeclaredLimit:
    """A limit that code has declared: ``EXPORT.hit(request)``, and ``@EXPORT`` at a view.

    `who` is a request, or an identity such as ``"user:42"``. `rate` is that call's own limit on the same count.
    """

    def __init__(self, name: str, given: GivenRate) -> None:
        self.name = name
        self._arguments = _Arguments(name, given, cost=1, block=True)

    def __repr__(self) -> str:
        return f"<limit {self.name}>"

    def __call__(self, view: View) -> View:
        """Limit a view, as ``@ratelimit(name)`` does."""
        return cast("View", self._arguments.around(view))

    def hit(
        self, who: Who, cost: int = 1, force: bool = False, raise_exception: bool = False, rate: Rate | None = None
    ) -> Decision:
        return api.hit(self.name, who, cost, force, raise_exception, rate)

    def peek(self, who: Who, cost: int = 1, rate: Rate | None = None) -> Decision:
        return api.peek(self.name, who, cost, rate)

    def refund(self, who: Who, cost: int = 1, rate: Rate | None = None) -> None:
        api.refund(self.name, who, cost, rate)

    def reset(self, who: Who, rate: Rate | None = None) -> None:
        api.reset(self.name, who, rate)

    def acquire(self, who: Who, cost: int = 1, *, timeout: str | timedelta, rate: Rate | None = None) -> Decision:
        return api.acquire(self.name, who, cost, timeout=timeout, rate=rate)

    async def ahit(
        self, who: Who, cost: int = 1, force: bool = False, raise_exception: bool = False, rate: Rate | None = None
    ) -> Decision:
        return await api.ahit(self.name, who, cost, force, raise_exception, rate)

    async def apeek(self, who: Who, cost: int = 1, rate: Rate | None = None) -> Decision:
        return await api.apeek(self.name, who, cost, rate)

    async def arefund(self, who: Who, cost: int = 1, rate: Rate | None = None) -> None:
        await api.arefund(self.name, who, cost, rate)

    async def areset(self, who: Who, rate: Rate | None = None) -> None:
        await api.areset(self.name, who, rate)

    async def aacquire(
        self,
        who: Who,
        cost: int = 1,
        *,
        timeout: str | timedelta,  # noqa: ASYNC109  as `acquire`
        rate: Rate | None = None,
    ) -> Decision:
        return await api.aacquire(self.name, who, cost, timeout=timeout, rate=rate)


def _as_it_stands(value: Any) -> str:
    """A rate or key as it stands in the code: of a function its place, which is the same when its module is imported again."""
    return key_argument.line_of(value) if callable(value) else str(value)


def _place_of_caller(frame: Any) -> str:
    """``shop/limits.py:12``"""
    path = Path(frame.f_code.co_filename)
    depth = str(frame.f_globals.get("__name__", "")).count(".") + (2 if path.stem == "__init__" else 1)
    return f"{'/'.join(path.parts[-depth:])}:{frame.f_lineno}"


class _Arguments:
    """The arguments of one decorator, whatever it decorates."""

    def __init__(self, called: str | None, given: GivenRate, cost: Cost, block: bool) -> None:
        self._called, self._given, self._cost, self._block = called, given, cost, block
        self._async = _async_ones(given, cost)
        # The same for each of the decorators that a decorator of the site's makes, one at each request.
        methods, options = sorted(given.methods), given.options.words
        arguments = (called, given.registered, given.key, methods, given.normalise, options, cost, block)
        self._mark = methods_of.MARK + digest(repr(arguments), 12)
        self._doors: WeakKeyDictionary[type, ViewDoor] = WeakKeyDictionary()  # of classes whose methods are limited

    def around(self, view: Any) -> Any:
        """The view, limited; of a class all its methods."""
        if (owner := methods_of.owner(view)) is not None:
            return _guarded(view, self.door_of(owner, view))
        handlers.check(view)
        if methods_of.is_dummy(view):
            if self._called:
                self._register(self._called, code_rates.SOME_METHOD)
            setattr(view, self._mark, self)
            return view
        if self._async and _is_sync(view):
            raise ValueError(must_be_async(self._async, handlers.place_of(view)))
        door = self._door(self._called or _name_of(view))
        self._register(door.name, handlers.place_of(view), view)
        return _guard_class(view, door) if isinstance(view, type) else _guarded(view, door)

    def door_of(self, owner: type, view: Any) -> ViewDoor:
        """The door of a class's method, which each request brings bound to another view of the class."""
        if (door := self._doors.get(owner)) is None:
            name, place = self._called, methods_of.place(owner, self._mark)
            if name is None and place is not None:
                name = _name_at(place)
                self.register_at(place)
            elif name is None:  # decorators that are made for each request, or hide what they decorate
                position = getattr(view, "_ratewindow_doors", 0) + 1
                name = _name_at(Place(owner, view.__name__, position))
                self._register(name, f"{owner.__module__}.{owner.__qualname__}", owner)
            door = self._doors[owner] = self._door(name)
        return door

    def _door(self, name: str) -> ViewDoor:
        given, cost, block = self._given, self._cost, self._block
        warn = bool(self._called) and given.registered is None
        if self._async or given.may_be_async or isinstance(given, DeclaredRate):  # an async one may be declared later
            return AwaitingDoor(name, given, cost, block, warn, self._async)
        return ViewDoor(name, given.rule, cost, block, warn)

    def register_at(self, place: Place) -> None:
        where = f"{place.view.__module__}.{place.view.__qualname__}.{place.method}"
        self._register(self._called or _name_at(place), where, place.view)

    def _register(self, name: str, place: str, view: Any = None) -> None:
        if self._given.registered is None and not self._called:
            return  # it limits nobody, and needs no rule
        given = self._given
        made_of = id(view) if view is not None and not self._called else None
        of_rate = (given.registered, given.key, given.methods, place, given.normalise)
        code_rates.register(CodeRate(name, *of_rate, made_of=made_of, options=given.options))


def _register_methods() -> None:
    for place, arguments in methods_of.of_site():
        arguments.register_at(place)


code_rates.add_finder(_register_methods)


def _guarded(view: Any, door: ViewDoor) -> Any:
    wrapped: Any = guarded(view, door)
    if not hasattr(view, "__name__"):  # Django names a route without a name after its view
        for each in ("__module__", "__name__", "__qualname__"):
            setattr(wrapped, each, getattr(handlers.called(view), each))
    wrapped._ratewindow_doors = getattr(view, "_ratewindow_doors", 0) + 1
    return wrapped


def _async_ones(given: GivenRate, cost: Cost) -> str:
    """Which arguments are async: ``rate and cost``, or empty."""
    found = {"rate": given.is_async, "key": key_argument.is_async(given.key), "cost": site_functions.is_async(cost)}
    return " and ".join(name for name, is_async in found.items() if is_async)


def _is_sync(view: Any) -> bool:
    """Whether a view is known not to be awaited: subclasses of a class without handlers may be async."""
    if isinstance(view, type):
        named = getattr(view, "http_method_names", ())
        return any(hasattr(view, each) for each in named if each != "options") and not getattr(view, "view_is_async", False)
    return not handlers.is_async(view)


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
    return check_methods(",".join(texts))


def _name_at(place: Place) -> str:
    """A rule name for a place in a class: the class's own where its `dispatch` is limited, and so all its methods."""
    method = "" if place.method in ("dispatch", "__call__") else f".{place.method}"
    return handlers.made_name(place.view.__module__, place.view.__qualname__ + method, place.position)


def _name_of(view: Any) -> str:
    """A rule name from the view's own and its place in a stack of decorators: ``shop.views.search``, ``...-2``."""
    stack = [view] if (behind := handlers.called(view)) is view else [view, behind]  # a class may have decorators itself
    doors = sum(getattr(each, "__dict__", {}).get("_ratewindow_doors", 0) for each in stack)  # not a base class's
    return handlers.name_of(view, doors + 1)
