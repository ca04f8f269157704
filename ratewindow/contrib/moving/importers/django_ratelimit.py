"""Limits by the decorator of django-ratelimit, read from the functions that it left around views.

Such packages keep no list of what they limit. But the function that a decorator returns refers to its arguments, and to the view
below it.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from ratewindow.contrib.moving.importers.limits import PERIODS_S, Found, Limit, as_rate
from ratewindow.rules.site_routes import Route, routes

_METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")


class Use(NamedTuple):
    """A decorator at the view of a route, with its arguments. Empty `methods` means all."""

    route: Route
    arguments: dict[str, Any]
    methods: frozenset[str]


def uses(module: str) -> Iterator[Use]:
    """Every use of the decorators of this module, and of those below it, at the views of the URLconf."""
    for route in routes():
        seen = set[int]()
        for function, methods in _functions(route.way.callback):
            if _is_of(function, module) and id(function) not in seen:
                seen.add(id(function))
                yield Use(route, arguments_of(function), methods)


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
        if _is_of(view, "django.utils.decorators"):  # the decorators that `method_decorator` applies at each call
            yield from ((decorator, methods) for decorator in arguments_of(view).get("decorators", ()))
        shown = getattr(view, "view_class", None) or getattr(view, "cls", None)
        if isinstance(shown, type):
            yield from _functions(getattr(shown, "dispatch", None), methods)
            actions: dict[str, str] = getattr(view, "actions", None) or {name: name for name in _METHODS}
            for method, name in actions.items():
                yield from _functions(getattr(shown, name, None), frozenset([method.upper()]))
        view = getattr(view, "__wrapped__", None)


_RATE = re.compile(r"(\d+)/(\d*)([smhd])?")
_KEYS = {"get": "query", "post": "post", "header": "header"}


def find() -> Found:
    found, together = Found(), dict[Any, tuple[Limit, list[Route]]]()
    for use in uses("django_ratelimit.decorators"):
        try:
            limit = _limit(use)
        except ValueError as error:
            found.leave_out(use.route.way.view, str(error))
        else:
            # As there, uses of one group count together if they also have one rate and the same methods.
            shared = (limit.name, limit.rate, limit.key, str(limit.fields))
            together.setdefault(shared, (limit, []))[1].append(use.route)
    for use in uses("ratewindow.contrib.moving.django_ratelimit"):
        found.leave_out(use.route.way.view, "its limit is ours already. On the page of rules, Edit here makes a rule of it.")
    for limit, where in together.values():
        is_alone = limit.name == where[0].way.view and len(set(where)) == 1
        found.limits.append(replace(limit, name=where[0].label if is_alone else limit.name, where=tuple(where)))
    return found


def _limit(use: Use) -> Limit:
    """The limit of one use; ValueError says why no rule can count the same."""
    arguments = use.arguments
    method = arguments.get("method")
    methods = {method} if isinstance(method, str) else set(method or ())
    names = sorted({str(each).upper() for each in methods - {None}} or use.methods)
    key = _key(arguments.get("key"))
    note = "there all clients without it share one count; here each counts by its address."
    return Limit(
        arguments.get("group") or use.route.way.view,
        _rate(arguments.get("rate")),
        key,
        fields={**({"methods": ",".join(names)} if names else {}), "algorithm": "fixed_window"},
        notes=() if key in ("ip", "user_or_ip") else (note,),
    )


def _rate(rate: Any) -> str:
    """As django-ratelimit reads it: of several limits the first."""
    if isinstance(rate, tuple | list) and [*map(type, rate)] == [int, int]:
        return as_rate(*rate)
    if callable(rate) or (isinstance(rate, str) and "." in rate):
        raise ValueError("a function makes its rate, which a rule cannot call. Write a rate, or keep this in code.")
    parts = _RATE.match(str(rate))
    if parts is None:
        raise ValueError(f"it has no rate that can be read: {rate!r}.")
    limit, times, period = parts.groups()
    return as_rate(limit, int(times or 1) * PERIODS_S[period or "s"])


def _key(key: Any) -> str:
    if key in ("ip", "user", "user_or_ip"):
        return str(key)
    if isinstance(key, str) and ":" in key and (kind := _KEYS.get(key.partition(":")[0])):
        return f"{kind}:{key.partition(':')[2]}"
    raise ValueError("a function makes its key. Register one of the same kind with @ratekey, and add the rule with that.")
