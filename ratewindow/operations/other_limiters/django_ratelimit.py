"""Limits by the decorator of django-ratelimit."""

import re
from dataclasses import replace
from typing import Any

from ratewindow.operations.other_limiters.decorators import Use, uses
from ratewindow.operations.other_limiters.found import Found, Limit, rate_text
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
    return found


def _limit(use: Use) -> Limit:
    """The limit of one use; ValueError says why no rule can count the same."""
    arguments = use.arguments
    method = arguments.get("method")
    methods = {method} if isinstance(method, str) else set(method or ())
    names = sorted({str(each).upper() for each in methods - {None}} or use.methods)
    key = _key(arguments.get("key"))
    notes = (
        ["there all clients without it share one count; here each counts by its address."]
        if key not in ("ip", "user_or_ip")
        else []
    )
    return Limit(
        arguments.get("group") or use.view,
        _rate(arguments.get("rate")),
        key,
        fields={"methods": ",".join(names)} if names else {},
        windows={"algorithm": "fixed_window"},
        notes=tuple(notes),
    )


def _rate(rate: Any) -> str:
    if callable(rate) or (isinstance(rate, str) and "." in rate):
        raise ValueError("a function makes its rate, which a rule cannot call. Write a rate, or keep this in code.")
    if isinstance(rate, tuple | list) and len(rate) == 2:
        return rate_text(*rate)
    parts = _RATE.match(rate) if isinstance(rate, str) else None
    if parts is None:
        raise ValueError(f"it has no rate that can be read: {rate!r}.")
    limit, times, period = parts.groups()
    return rate_text(limit, int(times or 1) * _PERIODS_S[period or ""])


def _key(key: Any) -> str:
    if key in ("ip", "user", "user_or_ip"):
        return str(key)
    if isinstance(key, str) and ":" in key and (kind := _KEYS.get(key.partition(":")[0])):
        return f"{kind}:{key.partition(':')[2]}"
    raise ValueError("a function makes its key. Register one of the same kind with @ratekey, and add the rule with that.")
