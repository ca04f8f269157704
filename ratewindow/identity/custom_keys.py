"""Keys that a project adds: a function with a name of its own, or one that is named by its dotted path."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, TypeVar
from uuid import UUID

from django.http import HttpRequest

from ratewindow import site_functions
from ratewindow.identity.normalise import Normaliser
from ratewindow.identity.request_attributes import report_failure
from ratewindow.identity.sent_fields import Extractor
from ratewindow.identity.typed_values import typed

Function = TypeVar("Function", bound=Callable[[HttpRequest], Any])
RESERVED = frozenset(
    "ip user user_or_ip session global route path method header cookie query get post json jwt group scope".split()
)


@dataclass(frozen=True)
class CustomKey:
    """A project's function. `needs_user`: on an event loop the user is loaded before it is called."""

    name: str
    function: Callable[[HttpRequest], Any]
    needs_user: bool = True


_registered: dict[str, CustomKey] = {}
_version = 0


def ratekey(name: str, *, needs_user: bool = True) -> Callable[[Function], Function]:
    """Make a function of the request a key of that name, ``@ratekey("tenant")``, for rules in the admin and in code.

    It returns what tells clients apart, text, a whole number or a UUID, or None where a request has none. Put it in a module
    ``ratekeys`` of an installed app, which is imported when Django starts. Set ``needs_user=False`` where it does not
    look at ``request.user``, so that async views need not load the user for it. ValueError names a bad name, and a
    name that another function has.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name):
        raise ValueError(f"{name!r} is no name of a key: use at most 64 of a-z, 0-9 and _, beginning with a letter")
    if name in RESERVED:
        raise ValueError(f"{name!r} is a key already: choose another name")

    def register(function: Function) -> Function:
        check(name, function)
        known = _registered.get(name)
        if known is not None and place_of(known.function) != place_of(function):
            raise ValueError(f"key {name!r} is {place_of(known.function)} already: choose another name")
        remember(CustomKey(name, function, needs_user))
        return function

    return register


def version() -> int:
    """Another number whenever a function has been added: what could not be read before may be readable now."""
    return _version


def known() -> dict[str, CustomKey]:
    """The functions that have a name by now."""
    return dict(_registered)


def find(name: str) -> CustomKey | None:
    """The key of that name or dotted path; None where it is neither. ValueError says why a path leads nowhere."""
    if name in _registered:
        return _registered[name]
    if not is_path(name):
        return None
    function = imported(name)
    check(name, function)
    return CustomKey(name, function)


def is_path(name: str) -> bool:
    return "." in name and all(step.isidentifier() for step in name.split("."))


def paths_in(text: str) -> list[str]:
    """The dotted paths in a key, or in an identity of one, that name code which nobody has made a key by `ratekey`."""
    names = (part.partition(":")[0].strip() for part in text.split("+"))
    return [name for name in names if is_path(name) and name not in _registered]


def imported(name: str) -> Any:
    """What a dotted path leads to; ValueError says why it leads nowhere."""
    module, _, attribute = name.rpartition(".")
    try:
        home = import_module(module)
    except Exception as error:  # whatever a module may do when it is imported
        raise ValueError(f"{name!r} is no key: {module} cannot be imported, {type(error).__name__}: {error}") from None
    function = getattr(home, attribute, None)
    if function is None:
        raise ValueError(f"{name!r} is no key: {module} has no {attribute!r}")
    return function


def extractor(key: CustomKey, normaliser: Normaliser) -> Extractor:
    """The function as a part of a recipe. What it raises, and what it must not return, makes the part missing."""
    prefix, function, where = f"{key.name}:", key.function, f"{key.name} ({place_of(key.function)})"

    def value(request: HttpRequest) -> str | None:
        try:
            told = function(request)
            if told is not None and not isinstance(told, str):
                told = _as_text(told)
        except Exception as error:
            report_failure(request, where, error)
            return None
        if site_functions.failing:
            site_functions.worked("key", where)
        return typed(prefix, told, normaliser)

    return value


def remember(key: CustomKey, name: str = "") -> None:
    """Make it a key under its name, or under another."""
    global _version
    _registered[name or key.name] = key
    _version += 1


def _as_text(told: Any) -> str:
    """Whole numbers and UUIDs only: the text of an object may be another one in each process, or for each request."""
    if isinstance(told, int | UUID) and not isinstance(told, bool):
        return str(told)
    raise TypeError(f"it returned {type(told).__name__}: return text, a whole number, a UUID or None")


def check(name: str, function: Any) -> None:
    if not callable(function) or isinstance(function, type) or inspect.isbuiltin(function):
        raise ValueError(f"{name!r} is no key: {function!r} is no function of a request")
    if arguments_of(function) > 1:
        raise ValueError(f"{name!r} is no key: {place_of(function)} needs more than the request")
    if site_functions.is_async(function):
        raise ValueError(f"{name!r} is no key: {place_of(function)} is async, and a key is asked for without waiting")


def arguments_of(function: Callable[..., Any]) -> int:
    """How many arguments a function cannot do without."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some things have no signature
        return 1
    usual = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.default is each.empty and each.kind in usual for each in parameters)


def place_of(function: Any) -> str:
    if isinstance(function, partial):
        function = function.func
    return f"{function.__module__}.{getattr(function, '__qualname__', type(function).__qualname__)}"
