"""Limits by the decorator of django-ratelimit; calls of its functions are named, since no rule stands for a call."""

import re
from dataclasses import replace
from typing import Any

from ratewindow.operations.other_limiters import ratelimit_calls
from ratewindow.operations.other_limiters.decorators import Use, uses
from ratewindow.operations.other_limiters.found import Found, Limit, limits_in, rate_in
from ratewindow.rules.site_routes import Route

_PERIODS_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_RATE = re.compile(r"(\d+)/(\d*)([smhd])?")
_KEYS = {"get": "query", "post": "post", "header": "header"}


def find() -> Found:
    found, together = Found(), dict[Any, tuple[Limit, list[Route]]]()
    for use in uses("django_ratelimit.decorators"):
        try:
            limit = _limit(use)
        except ValueError as error:
            found.leave_out(use.view, str(error))
            continue
        # As there, uses of one group count together if they also have one rate and the same methods.
        shared = (limit.name, limit.rate, limit.key, str(limit.fields))
        together.setdefault(shared, (limit, []))[1].append(use.route)
    for limit, where in together.values():
        is_alone = limit.name == where[0].way.view and len(set(where)) == 1
        found.limits.append(replace(limit, name=where[0].label if is_alone else limit.name, where=tuple(where)))
    for place, why in ratelimit_calls.find():
        found.leave_out(place, why)
    return found


def _limit(use: Use) -> Limit:
    """The limit of one use; ValueError says why no rule can count the same."""
    arguments = use.arguments
    method = arguments.get("method")
    methods = {method} if isinstance(method, str) else set(method or ())
    names = sorted({str(each).upper() for each in methods - {None}} or use.methods)
    key = _key(arguments.get("key"))
    rate, notes = arguments.get("rate"), []
    if key not in ("ip", "user_or_ip"):
        notes.append("there all clients without it share one count; here each counts by its address.")
    if isinstance(rate, str) and len(limits_in(rate)) > 1:
        notes.append(f"there {limits_in(rate)[0][0]} alone is read of {rate!r}; here all of it holds.")
    return Limit(
        arguments.get("group") or use.view,
        _rate(rate, key, arguments.get("key")),
        key,
        fields={"methods": ",".join(names)} if names else {},
        windows={"algorithm": "fixed_window"},
        notes=tuple(notes),
    )


def _rate(rate: Any, *keys: Any) -> str:
    if callable(rate) or (isinstance(rate, str) and "." in rate):
        raise ValueError("a function makes its rate, which a rule cannot call. Write a rate, or keep this in code.")
    return rate_in(rate, _limit_and_seconds, *keys)


def _limit_and_seconds(text: str) -> tuple[str, int]:
    parts = _RATE.match(text)
    if parts is None:
        raise ValueError(f"it has no rate that can be read: {text!r}.")
    limit, times, period = parts.groups()
    return limit, int(times or 1) * _PERIODS_S[period or ""]


def _key(key: Any) -> str:
    if key in ("ip", "user", "user_or_ip"):
        return str(key)
    if isinstance(key, str) and ":" in key and (kind := _KEYS.get(key.partition(":")[0])):
        return f"{kind}:{key.partition(':')[2]}"
    raise ValueError("a function makes its key. Register one of the same kind with @ratekey, and add the rule with that.")
