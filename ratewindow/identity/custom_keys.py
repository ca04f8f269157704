"""Keys that a project adds: its own functions of the request, and the function of the setting ``SCOPE``.

What is held is `_registered`, the project's functions by name. ``@ratekey("tenant")`` registers one for rules in the admin and in
code; one that code gives as its ``key`` is registered by its place, ``shop.views.tenant``. Any other is found by its dotted path.

A key is parsed once: `recipe` finds the function here, and `extractor` makes a part of the key of it. With each request that part
calls the function, and ``acme`` becomes ``tenant:acme``. If it returns None the part is missing, and the rule's `on_missing` says
what happens; so it is if it raises, or returns what identifies nobody, which is logged. An async function is awaited before.

The scope, such as the tenant, is the first part of every identity: ``scope:acme+user:1`` is user 1 of the tenant acme.
"""

import inspect
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, TypeVar
from uuid import UUID

from django.http import HttpRequest

from ratewindow import conf
from ratewindow.conf import site_functions
from ratewindow.identity.request_attributes import load_user, report_failure
from ratewindow.identity.typed_values import Extractor, Normaliser, as_sent, split, typed
from ratewindow.limiter.keys import joined
from ratewindow.limiter.problem import Problem

Function = TypeVar("Function", bound=Callable[[HttpRequest], Any])
Identified = str | int | UUID | None
Key = str | Callable[..., Identified] | Callable[..., Awaitable[Identified]]
SCOPE = "scope"
RESERVED = frozenset(
    """ip user user_or_ip session global route path method header cookie query get post json jwt group scope condition
    permission""".split()
)


@dataclass(frozen=True)
class CustomKey:
    """A project's function as a key. If `needs_user`, the user is loaded before the function is called on an event loop."""

    name: str
    function: Callable[[HttpRequest], Any]
    needs_user: bool = True


_registered: dict[str, CustomKey] = {}
version = 0  # grows with each registered key: a rule that could not be read before may be readable now


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
        _check(name, function)
        known = _registered.get(name)
        if known is not None and place_of(known.function) != place_of(function):
            raise Problem("key {name!r} belongs to {function}: choose another name", name=name, function=place_of(known.function))
        _register(CustomKey(name, function, needs_user))
        return function

    return register


def registered(key: Key, group: str) -> str:
    """The key as text for `recipe`: a function is registered for that, anything else is returned as it is.

    A function that needs two arguments is called as django-ratelimit does, with group and request.
    """
    if not callable(key):
        return key
    made = _by_place(key, group)
    name, number = made.name, 1  # several lambdas may stand in one line
    while name in _registered and _unbound(_registered[name].function) != key:
        number += 1
        name = f"{made.name}-{number}"
    _register(CustomKey(name, made.function))
    return name


def of_call(key: Callable[..., Any], group: str) -> CustomKey:
    """A function as the key of one call. Another function of the same place may be made for the next call, so the first one
    alone is registered, for lists."""
    made = _by_place(key, group)
    if made.name not in _registered:
        _register(made)
    return made


def _by_place(function: Callable[..., Any], group: str) -> CustomKey:
    """A function as a key whose name is made of its place."""
    name = place_of(function)
    if "<" in name:  # a lambda or a local one: a module may have several
        name += f"@{getattr(getattr(function, '__code__', None), 'co_firstlineno', 0)}"
    of_request: Callable[[HttpRequest], Any] = function
    if arguments_of(function) == 2:
        name, of_request = f"{name}@{group}", partial(function, group)
    _check(name, of_request, may_be_async=True)
    return CustomKey(name, of_request)


def _register(key: CustomKey) -> None:
    global version
    _registered[key.name] = key
    version += 1


def known() -> dict[str, CustomKey]:
    """The registered keys, by name."""
    return dict(_registered)


def find(name: str) -> CustomKey | None:
    """The key with this name or dotted path; None if there is none. Raises ValueError if the path cannot be imported."""
    if name in _registered:
        return _registered[name]
    if not conf.is_dotted_path(name):
        return None
    if _is_to_come(name):
        return CustomKey(name, partial(_imported_late, name))
    return CustomKey(name, _imported(name))


def _is_to_come(path: str) -> bool:
    """Whether the function stands further down in a module that is being imported."""
    module, _, attribute = path.rpartition(".")
    known = sys.modules.get(module)
    return getattr(getattr(known, "__spec__", None), "_initializing", False) and not hasattr(known, attribute)


def _imported_late(path: str, request: HttpRequest) -> Any:
    return _imported(path)(request)


def _imported(name: str) -> Callable[[HttpRequest], Any]:
    """The function at a dotted path. Raises ValueError if it cannot be imported, or is no function of the request."""
    module, _, attribute = name.rpartition(".")
    try:
        function: Callable[[HttpRequest], Any] = getattr(import_module(module), attribute)
    except Exception as error:  # importing a module may raise anything
        raise Problem(
            "{name!r} is not a key: it cannot be imported, {kind}: {error}", name=name, kind=type(error).__name__, error=error
        ) from None
    _check(name, function)
    return function


def paths_in(text: str) -> list[str]:
    """The dotted paths in a key, or in an identity, that are not registered by `ratekey`."""
    names = (part.partition(":")[0].strip() for part in text.split("+"))
    return [name for name in names if conf.is_dotted_path(name) and name not in _registered]


def is_async(key: str) -> bool:
    """Whether a function that the key names must be awaited."""
    named = filter(None, (_registered.get(part.strip()) for part in key.split("+")))
    return any(site_functions.is_async(each.function) for each in named)


def extractor(key: CustomKey, normaliser: Normaliser) -> Extractor:
    """The function as a part of a recipe. If it raises, or returns a value of a wrong type, the part is missing."""
    prefix, function, where = f"{key.name}:", key.function, f"{key.name} ({place_of(key.function)})"

    def value(request: HttpRequest) -> str | None:
        try:
            return typed(prefix, _checked(function(request)), normaliser)
        except Exception as error:
            report_failure(request, where, error)
            return None

    return value


_AWAITED = "_ratewindow_awaited_keys"


def awaited(key: CustomKey, normaliser: Normaliser) -> tuple[Extractor, Callable[[HttpRequest], Awaitable[None]]]:
    """An async function as a part of a recipe, and what awaits it before that part is read."""
    prefix, where = f"{key.name}:", f"{key.name} ({place_of(key.function)})"

    async def load(request: HttpRequest) -> None:
        if key.needs_user:
            await load_user(request)
        try:
            returned = _checked(await key.function(request))
        except Exception as error:
            report_failure(request, where, error)
            returned = None
        request.__dict__.setdefault(_AWAITED, {})[key.name] = returned

    def value(request: HttpRequest) -> str | None:
        try:
            return typed(prefix, vars(request)[_AWAITED][key.name], normaliser)
        except KeyError:
            report_failure(request, where, ValueError("it is async, and awaited for async views only: name a plain function"))
            return None

    return value, load


def _checked(value: Any) -> str | None:
    """Of objects whole numbers and UUIDs only: the text of another one may differ by process or by request."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | UUID) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"it returned {type(value).__name__}: return text, a whole number, a UUID or None")


def _check(name: str, function: Any, may_be_async: bool = False) -> None:
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
    function = _unbound(function)
    return f"{function.__module__}.{getattr(function, '__qualname__', type(function).__qualname__)}"


def _unbound(function: Any) -> Any:
    """The project's own function, without the group that it is called with."""
    return function.func if isinstance(function, partial) else function


def scope(request: HttpRequest) -> str | None:
    """``scope:acme``; None without the setting, if the request has no scope, or if the site's function fails."""
    setting = conf.current().scope
    if setting is None:
        return None
    try:
        return _of_scope(setting)(request)
    except ValueError as error:  # a system check reports it, too; a server that runs no checks must still serve
        report_failure(request, f"RATEWINDOW['SCOPE'] ({setting})", error)
        return None


def scoped(identity: str, scope: str) -> str:
    """The identity in that scope; unchanged if it has the scope already."""
    parts = split(identity)
    return identity if parts[0] == scope else joined((scope, *parts))


@lru_cache(maxsize=8)
def _of_scope(setting: str | Callable[[HttpRequest], Any]) -> Extractor:
    return extractor(CustomKey(SCOPE, scope_function(setting), needs_user=False), as_sent)


def scope_function(setting: str | Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """The function that the setting names. Raises ValueError."""
    if isinstance(setting, str):
        return _imported(setting)
    _check(place_of(setting), setting)
    return setting
