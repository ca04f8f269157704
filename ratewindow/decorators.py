"""The decorator: the door for rules that code names, and for rates that code gives."""

import logging
import re
from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any, TypeVar, cast

from django.http import HttpRequest
from django.utils.decorators import method_decorator

from ratewindow import coderules
from ratewindow.coderules import CodeRate
from ratewindow.guard import guarded
from ratewindow.identity import recipe
from ratewindow.limiter.keys import digest
from ratewindow.limiter.limiter import check_cost
from ratewindow.limiter.rates import parse_rates
from ratewindow.question import Cost
from ratewindow.rule import Rule, check_name, parse_methods
from ratewindow.rulebook import Rulebook

logger = logging.getLogger("ratewindow")

Rate = str | Callable[[HttpRequest], str | None]
View = TypeVar("View", bound=Callable[..., Any])


def ratelimit(
    name: str | None = None,
    rate: Rate | None = None,
    *,
    key: str = "ip",
    methods: str | Iterable[str] | None = None,
    cost: Cost = 1,
    block: bool = True,
) -> Callable[[View], View]:
    """Limit a view, sync or async, or all of a class's.

    ``@ratelimit("login")`` follows the rule of that name; without one it lets pass. ``@ratelimit("login",
    "5/m; 20/h", key="user")`` enforces the rate until a rule of that name is enforced or switched off; a rule
    in shadow is tried beside it. ``@ratelimit(rate="10/h")`` makes a name from the view's. `rate` and `cost`
    may be functions of the request; a rate of None does not limit it. With ``block=False`` the view decides,
    by ``request.ratewindow.allowed``. ValueError, at import, names a bad name, rate, key or method.
    """
    if name is None and rate is None:
        raise ValueError('ratelimit() needs a rule\'s name, a rate, or both: @ratelimit("login") or @ratelimit(rate="5/m")')
    if name is not None:
        check_name(name)
    if rate is not None and not callable(rate) and not parse_rates(rate):
        raise ValueError(f"rate {rate!r} limits nothing: write for example 5/m")
    recipe(key)
    allowed_methods = parse_methods(methods if isinstance(methods, str) else ",".join(methods or ()))
    if not callable(cost):
        check_cost(cost)

    told: set[str] = set()  # of which names the log has; for a method, `decorate` runs at each call

    def decorate(view: View) -> View:
        door = _Door(name or _name_of(view), rate, key, allowed_methods, cost, block, told)
        if name or not _is_stand_in(view):
            coderules.register(CodeRate(door.name, rate, key, allowed_methods, _place_of(view)))
        if isinstance(view, type):
            return cast("View", _guard_class(view, door))
        wrapped: Any = guarded(view, door)
        wrapped._ratewindow_doors = getattr(view, "_ratewindow_doors", 0) + 1
        return cast("View", wrapped)

    return decorate


class _Door:
    def __init__(
        self, name: str, rate: Rate | None, key: str, methods: frozenset[str], cost: Cost, block: bool, told: set[str]
    ) -> None:
        self.name, self.cost, self.block, self._told = name, cost, block, told
        self._rate, self._key, self._methods = rate, key, methods

    def rules(self, book: Rulebook, request: HttpRequest) -> Iterable[Rule]:
        row, code = book.by_name.get(self.name), None if book.alone else self._code_rule(request)
        if row is not None and row.mode == "shadow" and code is not None:
            found = [code, row.beside]
        elif row is not None:
            found = [row] if row.mode != "off" else []
        else:
            found = [code] if code is not None else []
            if self._rate is None and not book.alone and self.name not in self._told:
                self._told.add(self.name)
                logger.warning("ratewindow: code names rule %r, which nobody has defined: requests pass", self.name)
        return [rule for rule in found if rule.windows and rule.meets_method(request.method)]

    def _code_rule(self, request: HttpRequest) -> Rule | None:
        text = self._rate(request) if callable(self._rate) else self._rate
        return coderules.rule_of(self.name, text, self._key, self._methods) if text is not None else None


def _guard_class(view: Any, door: _Door) -> Any:
    """Every method of a view class, by way of its `dispatch`, which returns a coroutine where they are async."""
    dispatch = view.dispatch

    @wraps(dispatch)  # with its attributes, such as that it is exempt from CSRF
    def guarded_dispatch(self: Any, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        async def ahandler(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            return await dispatch(self, request, *args, **kwargs)

        handler = ahandler if getattr(view, "view_is_async", False) else partial(dispatch, self)
        return guarded(handler, door)(request, *args, **kwargs)

    view.dispatch = guarded_dispatch
    view._ratewindow_doors = vars(view).get("_ratewindow_doors", 0) + 1
    return view


def _is_stand_in(view: Any) -> bool:
    """Whether this is what ``method_decorator`` tries a decorator on; the method itself comes at each call."""
    return bool(view.__module__ == method_decorator.__module__)


def _place_of(view: Any) -> str:
    return "a method of a class" if _is_stand_in(view) else f"{view.__module__}.{view.__qualname__}"


def _name_of(view: Any) -> str:
    """A rule name from the view's own and its place in a stack of decorators: ``shop.views.search``, ``...-2``."""
    full = f"{view.__module__}.{view.__qualname__}".replace("<locals>.", "").lower()
    place = vars(view).get("_ratewindow_doors", 0) + 1  # not a base class's
    name = re.sub(r"[^a-z0-9._-]", "-", full).lstrip("._-") + (f"-{place}" if place > 1 else "")
    return name if len(name) <= 64 else f"{name[-55:].lstrip('._-')}-{re.sub('[^a-z0-9]', 'x', digest(name, 6).lower())}"
