"""The decorator: the door for rules that code names, and for rates that code gives.

It also understands the words of django-ratelimit, so that a site moves over by its imports.
"""

from collections.abc import Callable, Iterable
from functools import wraps
from types import MethodType
from typing import Any, Never, ParamSpec, Protocol, TypeVar, cast

from django.http import HttpRequest
from django.utils.decorators import method_decorator

from ratewindow import coderules, handlers, userfunctions
from ratewindow.coderules import CodeRate
from ratewindow.givenrate import GivenRate, Rate
from ratewindow.guard import guarded
from ratewindow.identity import incode, recipe
from ratewindow.identity.incode import Key
from ratewindow.limiter.limiter import check_cost
from ratewindow.question import Cost
from ratewindow.rule import Rule, check_name, parse_methods
from ratewindow.rulebook import Rulebook

View = TypeVar("View", bound=Callable[..., Any])
Given = ParamSpec("Given")
Made = TypeVar("Made", covariant=True)
Methods = str | Iterable[str | None]

ALL = (None,)  # as django-ratelimit has it
UNSAFE = ("DELETE", "PATCH", "POST", "PUT")


class _WithMethods(Protocol[Given, Made]):
    """A function that has django-ratelimit's names for methods, as ``ratelimit.UNSAFE``."""

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
    rate: Rate | None = None,
    *misplaced: Never,
    key: Key = "ip",
    methods: Methods | None = None,
    cost: Cost = 1,
    block: bool = True,
    normalise: bool = False,
    group: str | None = None,
    method: Methods | None = None,
) -> Callable[[View], View]:
    """Limit a view, sync or async, or all of a class's.

    ``@ratelimit("login")`` follows the rule of that name; without one it lets pass. ``@ratelimit("login",
    "5/m; 20/h", key="user")`` enforces the rate until a rule of that name is enforced or switched off; a rule
    in shadow is tried beside it. ``@ratelimit(rate="10/h")`` makes a name from the view's. `rate` and `cost`
    may be functions of the request; a rate of None does not limit it. So may `key`, which returns what tells
    clients apart, or None; `normalise` makes spellings of what they type one client. With ``block=False`` the view decides,
    by ``request.ratewindow.allowed``, or by ``request.limited``. `group` and `method` are django-ratelimit's
    words for `name` and `methods`. ValueError, at import, names a bad name, rate, key, cost or method, and TypeError
    what is no view.
    """
    if misplaced:
        raise TypeError(
            "ratelimit() takes the name and the rate by position, then names: ratelimit(group=..., key=..., rate=...)"
        )
    called = _one_of("name", name, "group", group)
    if called is None and rate is None:
        raise ValueError('ratelimit() needs a rule\'s name, a rate, or both: @ratelimit("login") or @ratelimit(rate="5/m")')
    if called is not None:
        check_name(called)
    key = incode.as_text(key, called or "")
    recipe(key, normalise)
    allowed_methods = _methods(_one_of("methods", methods, "method", method))
    if userfunctions.is_async(cost):
        raise ValueError(f"{cost!r} is async, and a cost is asked for without waiting: give a plain function")
    if not callable(cost):
        check_cost(cost)
    given = GivenRate(rate, key, allowed_methods, normalise)  # for a method of a class, `decorate` runs at each call

    def decorate(view: View) -> View:
        handlers.check(view)
        door = _Door(called or _name_of(view), given, cost, block)
        if called or not _is_stand_in(view):
            coderules.register(CodeRate(door.name, given.words, key, allowed_methods, _place_of(view), normalise))
        if isinstance(view, type):
            return cast("View", _guard_class(view, door))
        wrapped: Any = guarded(view, door)
        if not hasattr(view, "__name__"):  # Django names a route without a name after its view
            for each in ("__module__", "__name__", "__qualname__"):
                setattr(wrapped, each, getattr(handlers.called(view), each))
        wrapped._ratewindow_doors = getattr(view, "_ratewindow_doors", 0) + 1
        return cast("View", wrapped)

    return decorate


class _Door:
    at_view = True

    def __init__(self, name: str, given: GivenRate, cost: Cost, block: bool) -> None:
        self.name, self.cost, self.block, self._given = name, cost, block, given

    def rules(self, book: Rulebook, request: HttpRequest) -> Iterable[Rule]:
        try:
            method = request.method
        except AttributeError:
            told = f"{type(request).__name__} came to rule {self.name} as a request: of a class, limit"
            raise TypeError(f"{told} methods by @method_decorator(ratelimit(...))") from None
        code = None if book.alone else self._given.rule(self.name, request)
        return book.named(self.name, code, method, warn=self._given.rate is None)


def _guard_class(view: Any, door: _Door) -> Any:
    """Every method of a view class, by way of its `dispatch`. Whether they are async, each subclass knows of itself."""
    dispatch = view.dispatch

    @wraps(dispatch)  # with its attributes, such as that it is exempt from CSRF
    def guarded_dispatch(self: Any, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return guarded(MethodType(dispatch, self), door)(request, *args, **kwargs)

    view.dispatch = guarded_dispatch
    view._ratewindow_doors = vars(view).get("_ratewindow_doors", 0) + 1
    return view


def _is_stand_in(view: Any) -> bool:
    """Whether this is what ``method_decorator`` tries a decorator on; the method itself comes at each call."""
    return bool(view.__module__ == method_decorator.__module__)


def _one_of(ours: str, value: Any, theirs: str, other: Any) -> Any:
    if value is not None and other is not None:
        raise ValueError(f"{theirs} is another word for {ours}: give one of them, not {value!r} and {other!r}")
    return other if value is None else value


def _methods(methods: Methods | None) -> frozenset[str]:
    named = methods if isinstance(methods, Iterable) and not isinstance(methods, str) else [methods]
    texts = [each for each in named if each is not None]
    if not all(isinstance(each, str) for each in texts):
        raise ValueError(f"{methods!r} names no HTTP methods: write for example 'POST', or ['GET', 'HEAD']")
    return parse_methods(",".join(texts))


def _place_of(view: Any) -> str:
    return "a method of a class" if _is_stand_in(view) else handlers.place_of(view)


def _name_of(view: Any) -> str:
    """A rule name from the view's own and its place in a stack of decorators: ``shop.views.search``, ``...-2``."""
    stack = [view] if (behind := handlers.called(view)) is view else [view, behind]  # a class may have decorators itself
    doors = sum(getattr(each, "__dict__", {}).get("_ratewindow_doors", 0) for each in stack)  # not a base class's
    return handlers.name_of(view, doors + 1)
