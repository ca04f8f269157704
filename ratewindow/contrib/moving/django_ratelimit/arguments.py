"""What the arguments of django-ratelimit mean here: a group as the name of a rule, keys and rates as ours.

Functions of the site's are called with its own group, which stands at the request while a limit of that group is asked.
"""

import re
from collections.abc import Callable
from functools import lru_cache, partial, update_wrapper
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.utils.module_loading import import_string

from ratewindow.contrib.moving.django_ratelimit import ALL, settings
from ratewindow.identity import original, ratekey
from ratewindow.identity.address import client_address, client_of
from ratewindow.request.doors import made_name

Function = Callable[[str, HttpRequest], Any]
_GROUP = "_ratewindow_group"
_SIMPLE = re.compile(r"\d+/\d*")


def group_of(fn: Any) -> str:
    """The group of a view that is given none: its place, of a method with the class of the view."""
    view = fn.func if isinstance(fn, partial) else fn
    owner = [type(view.__self__).__name__] if hasattr(view, "__self__") else []
    return ".".join([view.__module__, *owner, view.__qualname__])


def name_in(group: str, key: Any, rate: Any, method: Any) -> str:
    """The name of a rule for one limit of a group: each rate, key and choice of methods has counts of its own there."""
    return made_name("", ".".join([group, _word(key), _word(rate), *methods(method)]))


def _word(value: Any) -> str:
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    return "-".join(map(str, value)) if isinstance(value, tuple | list) else str(value).rpartition(".")[2]


def methods(method: Any) -> list[str]:
    """Which methods count, in capitals; empty for all."""
    named = [method] if isinstance(method, str) else [*(method or ALL)]
    return sorted(each.upper() for each in named if each is not None)


def ask_for(group: str, request: HttpRequest) -> None:
    """Call the site's functions with this group from now on."""
    setattr(original(request), _GROUP, group)


@lru_cache(maxsize=1024)
def _of_request(function: Function | str) -> Callable[[HttpRequest], Any]:
    """A function of group and request, or its dotted path, as one of the request; always the same one, which names the key."""

    def called(request: HttpRequest) -> Any:
        found: Any = import_string(function) if isinstance(function, str) else function
        return found(getattr(original(request), _GROUP, ""), request)

    if isinstance(function, str):
        called.__module__, _, called.__qualname__ = function.rpartition(".")
        return called
    update_wrapper(called, function)
    del called.__wrapped__  # type: ignore[attr-defined]  # else its arguments would be taken for these
    return called


def rate_of(rate: Any) -> Any:
    """A rate as ours; of a function what that returns."""
    if callable(rate) or (isinstance(rate, str) and "." in rate):
        return _read_by(_of_request(rate))
    return read(rate)


@lru_cache(maxsize=1024)
def _read_by(function: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    return update_wrapper(lambda request: read(function(request)), function)


def read(rate: Any) -> Any:
    """A rate without a unit is one by seconds."""
    return f"{rate}s" if isinstance(rate, str) and _SIMPLE.fullmatch(rate) else rate


def key_of(key: Any) -> Any:
    """A key as ours, also where a setting says in which header the address is."""
    if not key:
        raise ImproperlyConfigured("Ratelimit key must be specified")
    if callable(key) or ("." in key and ":" not in key):
        return _of_request(key)
    if key in _BY_SETTING and settings.address_key():
        return ratekey(f"ratelimit_{key}")(_BY_SETTING[key]) and f"ratelimit_{key}"
    return key


def address(request: HttpRequest) -> str:
    """The client's address, without the bits that may differ for one client."""
    where = settings.address_key()
    if where is None:
        return client_address(request).partition("/")[0]
    if isinstance(where, str) and "." in where:
        where = import_string(where)
    if not callable(where) and where not in request.META:
        raise ImproperlyConfigured(f"Could not get IP address from {where!r}")
    return client_of(where(request) if callable(where) else request.META[where], "").partition("/")[0]


def user_or_ip(request: HttpRequest) -> str:
    user: Any = request.user  # type: ignore[attr-defined]
    return str(user.pk) if user.is_authenticated else address(request)


_BY_SETTING = {"ip": address, "user_or_ip": user_or_ip}
