"""Limits of logins by packages that settings configure: what is read of a setting, and what becomes a rule.

The packages are not imported, and neither is the room of logins, whose words for such rules stand here.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.conf import settings

from ratewindow.contrib.moving.importers.limits import Found as Found, Limit
from ratewindow.limiter.durations import format_duration, parse_duration
from ratewindow.limiter.rates import parse_rates

ROOM = "ratewindow.contrib.logins"
FAILED = {"count_when": "login_failed"}  # fields of a rule
AS_WRONG = 401  # a status: the room answers a refusal as it does a wrong password


def begin(app: str, prefix: str) -> Found:
    """Nothing found yet. Raises ImportError on a site with neither that app nor such settings, ValueError without the room."""
    if not apps.is_installed(app) and not any(name.startswith(prefix) for name in dir(settings)):
        raise ImportError(f"INSTALLED_APPS has no {app!r}, and no setting begins with {prefix}")
    if not apps.is_installed(ROOM):
        raise ValueError(f"rules about logins need a room that this site does not have: add {ROOM!r} to INSTALLED_APPS.")
    return Found()


def read(found: Found, name: str, usual: Any, parse: Callable[[Any], Any], instead: Any = None) -> Any:
    """What a setting says. If no rule can do that, it is left out, and `instead` holds, or else the usual value."""
    value = getattr(settings, name, usual)
    try:
        if callable(value) or (isinstance(value, str) and "." in value and value.replace(".", "_").isidentifier()):
            raise ValueError("a function says it, which no rule can call")
        return parse(value)
    except (ValueError, OverflowError) as error:
        parsed = parse(usual if instead is None else instead)
        found.leave_out(name, f"{error}. The rules have {parsed}.")
        return parsed


def whole(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise ValueError(f"{value!r} is no whole number from 1 on")
    return value


def period(value: Any) -> str:
    """``15m`` for a timedelta."""
    if not isinstance(value, timedelta):
        raise ValueError(f"{value!r} is no timedelta")
    return format_duration(parse_duration(value))


def add(found: Found, name: str, rate: str, key: str, applies_to: str, *notes: str, **fields: Any) -> None:
    """A limit for what the room of logins knows; left out if a rule cannot have its rate."""
    try:
        parse_rates(rate)
    except ValueError as error:
        found.leave_out(name, f"{error}.")
    else:
        found.limits.append(Limit(name, rate, key, (), applies_to, {**fields, "on_error": "local"}, notes))


def leave_out(found: Found, sentences: Mapping[str, str], on: Collection[str] = ()) -> None:
    """Say what is not carried over of the settings that are not as usual. Those named in `on` are usually true."""
    for names, sentence in sentences.items():
        for name in names.split():
            if bool(getattr(settings, name, name in on)) != (name in on):
                found.leave_out(name, sentence)
