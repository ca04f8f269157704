"""Limits by the settings of django-axes: one for each of its parameters of a lock."""

from datetime import timedelta
from typing import Any

from django.conf import settings

from ratewindow.contrib.moving.importers import logins

_KEYS = {"username": "login", "ip_address": "ip", "user_agent": "header:User-Agent"}
_PARAMETERS = "AXES_LOCKOUT_PARAMETERS"
_OLDER = "AXES_ONLY_USER_FAILURES AXES_LOCK_OUT_BY_USER_OR_IP AXES_LOCK_OUT_BY_COMBINATION_USER_AND_IP AXES_USE_USER_AGENT"

_ON = ("AXES_ENABLED", "AXES_LOCK_OUT_AT_FAILURE")
_LEFT_OUT = {
    "AXES_ENABLED": "axes is switched off, and the rules count all the same.",
    "AXES_LOCK_OUT_AT_FAILURE": "axes counts and refuses nobody, as rules do in shadow: enforced they refuse.",
    "AXES_ONLY_ADMIN_SITE": "the rules are for every login, not for those of the admin alone.",
    "AXES_RESET_ON_SUCCESS": "a right login makes nothing forgotten: failures count until their window has passed.",
    "AXES_IP_WHITELIST AXES_NEVER_LOCKOUT_WHITELIST": "add an exemption for each address that is never locked out.",
    "AXES_IP_BLACKLIST": "add a block for each address.",
    "AXES_ONLY_WHITELIST": "block * by the rule, and exempt these addresses.",
    "AXES_NEVER_LOCKOUT_GET": "a login counts whatever its method.",
    "AXES_WHITELIST_CALLABLE": "a function says who is never locked out, which no rule can call: add exemptions.",
    "AXES_USERNAME_CALLABLE": "a function says which name is tried: override find_accounts in a subclass of LoginGate.",
    "AXES_CLIENT_IP_CALLABLE AXES_IPWARE_PROXY_COUNT AXES_IPWARE_PROXY_TRUSTED_IPS": "set TRUSTED_PROXIES of RATEWINDOW.",
    "AXES_LOCKOUT_CALLABLE AXES_LOCKOUT_TEMPLATE AXES_LOCKOUT_URL": "write handler429 in the URLconf, or a template 429.html.",
}


def find() -> logins.Found:
    found = logins.begin("axes", "AXES_")
    limit = logins.read(found, "AXES_FAILURE_LIMIT", 3, logins.whole)
    period = logins.read(found, "AXES_COOLOFF_TIME", None, _cool_off, instead=24)
    fields = {
        "count_refused": bool(getattr(settings, "AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT", True)),
        "response_status": logins.read(found, "AXES_HTTP_RESPONSE_CODE", 429, _status),
    }
    for key in dict.fromkeys(logins.read(found, _PARAMETERS, ["ip_address"], _keys)):
        notes = ["there all clients without it share one count; here each counts by its address."] if "header:" in key else []
        logins.add(found, f"axes.{key}", f"{limit}/{period}", key, "logins", *notes, **logins.FAILED, **fields)
    logins.leave_out(found, _LEFT_OUT, _ON)
    if getattr(settings, _PARAMETERS, None) is None:  # axes makes one of them when it starts
        logins.leave_out(found, {_OLDER: f"an older name: write {_PARAMETERS}."})
    return found


def _keys(value: Any) -> list[str]:
    """Of each parameter, and of those that are joined."""
    if not isinstance(value, list) or not value:
        raise ValueError(f"{value!r} is no list")
    parameters = [[each] if isinstance(each, str) else each for each in value]
    try:
        return ["+".join(dict.fromkeys(_KEYS[name] for name in each)) for each in parameters]
    except (KeyError, TypeError):
        raise ValueError(f"{value!r} lists others than {', '.join(_KEYS)}") from None


def _cool_off(value: Any) -> str:
    """As axes reads it: a number means hours."""
    if value is None:
        raise ValueError("axes locks for ever, and no window is so long")
    return logins.period(timedelta(hours=value) if type(value) in (int, float) else value)


def _status(value: Any) -> int:
    if type(value) is not int or not 400 <= value <= 599:
        raise ValueError(f"{value!r} is no status of a refusal, from 400 to 599")
    if value == logins.AS_WRONG:
        raise ValueError(f"with {value} a refused login would look like a wrong password")
    return value
