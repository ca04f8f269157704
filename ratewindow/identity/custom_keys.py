"""Keys that a project adds: functions registered by `ratekey`, and functions named by their dotted path."""

import inspect
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, TypeVar
from uuid import UUID

from django.http import HttpRequest

from ratewindow.conf import site_functions
from ratewindow.identity.normalise import Normaliser
from ratewindow.identity.request_attributes import load_user, report_failure
from ratewindow.identity.sent_fields import Extractor
from ratewindow.identity.typed_values import typed
from ratewindow.limiter.problem import Problem

Function = TypeVar("Function", bound=Callable[[HttpRequest], Any])
RESERVED = frozenset(
    "ip user user_or_ip session global route path method header cookie query get post json jwt group scope".split()
)


@dataclass(frozen=True)
class CustomKey:
    """A project's function as a key. If `needs_user`, the user is loaded before the function is called on an event loop."""

    name: str
    function: Callable[[HttpRequest], Any]
    needs_user: bool = True


_registered: dict[str, CustomKey] = {}
_version = 0


def ratekey(name: str, *, needs_user: bool = True) -> Callable[[Function], Function]:
    """Register a function of the request as a key, ``@ratekey("tenant")``, for rules in the admin and in code.

    The function returns what identifies the client: text, a whole number or a UUID; None if the request has none. Put it in
    a module ``ratekeys`` of an installed app, which is imported when Django starts. Set ``needs_user=False`` if it does not
    use ``request.user``, so that async views need not load the user for it. Raises ValueError if the name is invalid or
    belongs to another function.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name):
        raise Problem("{name!r} is not a name for a key: use at most 64 of a-z, 0-9 and _, beginning with a letter", name=name)
    if name in RESERVED:
        raise Problem("{name!r} is a built-in key: choose another name", name=name)

    def register(function: Function) -> Function:
        check(name, function)
        known = _registered.get(name)
        if known is not None and place_of(known.function) != place_of(function):
            raise Problem("key {name!r} belongs to {function}: choose another name", name=name, function=place_of(known.function))
        register_key(CustomKey(name, function, needs_user))
        return function

    return register


def version() -> int:
    """A number that grows with each registered key: a rule that could not be read before may be readable now."""
    return _version


def known() -> dict[str, CustomKey]:
    """The registered keys, by name."""
    return dict(_registered)


def find(name: str) -> CustomKey | None:
    """The key with this name or dotted path; None if there is none. Raises ValueError if the path cannot be imported."""
    if name in _registered:
        return _registered[name]
    if not is_path(name):
        return None
    function = imported(name)
    if name in _registered:  # by a view of that module
        return _registered[name]
    check(name, function)
    return CustomKey(name, function)


def is_path(name: str) -> bool:
    return "." in name and all(step.isidentifier() for step in name.split("."))


def paths_in(text: str) -> list[str]:
    """The dotted paths in a key, or in an identity, that are not registered by `ratekey`."""
    names = (part.partition(":")[0].strip() for part in text.split("+"))
    return [name for name in names if is_path(name) and name not in _registered]


def imported(name: str) -> Any:
    """The object at a dotted path. Raises ValueError if it cannot be imported."""
    module, _, attribute = name.rpartition(".")
    try:
        imported_module = import_module(module)
    except Exception as error:  # importing a module may raise anything
        raise Problem(
            "{name!r} is not a key: {module} cannot be imported, {kind}: {error}",
            name=name,
            module=module,
            kind=type(error).__name__,
            error=error,
        ) from None
    function = getattr(imported_module, attribute, None)
    if function is None:
        raise Problem("{name!r} is not a key: {module} has no {attribute!r}", name=name, module=module, attribute=attribute)
    return function


def extractor(key: CustomKey, normaliser: Normaliser) -> Extractor:
    """The function as a part of a recipe. If it raises, or returns a value of a wrong type, the part is missing."""
    prefix, function, where = f"{key.name}:", key.function, f"{key.name} ({place_of(key.function)})"

    def value(request: HttpRequest) -> str | None:
        try:
            returned = function(request)
            if returned is not None and not isinstance(returned, str):
                returned = _as_text(returned)
        except Exception as error:
            report_failure(request, where, error)
            return None
        if site_functions.failing:
            site_functions.worked("key", where)
        return typed(prefix, returned, normaliser)

    return value


def awaited(key: CustomKey, normaliser: Normaliser) -> tuple[Extractor, Callable[[HttpRequest], Awaitable[None]]]:
    """An async function as a part of a recipe, and what awaits it before that part is read."""
    prefix, where = f"{key.name}:", f"{key.name} ({place_of(key.function)})"

    async def load(request: HttpRequest) -> None:
        if key.needs_user:
            await load_user(request)
        try:
            returned = await key.function(request)
            if returned is not None and not isinstance(returned, str):
                returned = _as_text(returned)
        except Exception as error:
            report_failure(request, where, error)
            returned = None
        else:
            if site_functions.failing:
                site_functions.worked("key", where)
        request.__dict__.setdefault(_AWAITED, {})[key.name] = returned

    def value(request: HttpRequest) -> str | None:
        try:
            returned = vars(request)[_AWAITED][key.name]
        except KeyError:
            report_failure(request, where, ValueError("it is async, and awaited for async views only: name a plain function"))
            return None
        return typed(prefix, returned, normaliser)

    return value, load


_AWAITED = "_ratewindow_awaited_keys"


def register_key(key: CustomKey, name: str = "") -> None:
    """Register a key under its name, or under another."""
    global _version
    _registered[name or key.name] = key
    _version += 1


def _as_text(value: Any) -> str:
    """Whole numbers and UUIDs only: the text of another object may differ by process or by request."""
    if isinstance(value, int | UUID) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"it returned {type(value).__name__}: return text, a whole number, a UUID or None")


def check(name: str, function: Any, may_be_async: bool = False) -> None:
    """Raise ValueError unless this is a function of a request that can be called, without awaiting it unless it may be async."""
    if not callable(function) or isinstance(function, type) or inspect.isbuiltin(function):
        raise Problem("{name!r} is not a key: {function!r} is not a function of the request", name=name, function=function)
    if arguments_of(function) > 1:
        raise Problem("{name!r} is not a key: {function} needs more than the request", name=name, function=place_of(function))
    if not may_be_async and site_functions.is_async(function):
        raise Problem(
            "{name!r} is not a key: {function} is async, and keys are called without await",
            name=name,
            function=place_of(function),
        )


def arguments_of(function: Callable[..., Any]) -> int:
    """The number of required positional arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some callables have no signature
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.default is each.empty and each.kind in positional for each in parameters)


def place_of(function: Any) -> str:
    """The module and name of a function."""
    if isinstance(function, partial):
        function = function.func
    return f"{function.__module__}.{getattr(function, '__qualname__', type(function).__qualname__)}"
