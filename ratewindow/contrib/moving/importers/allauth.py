"""Limits by ``ACCOUNT_RATE_LIMITS`` of allauth: those of logins, and of the steps around them that the room of logins knows."""

import re
from datetime import timedelta
from typing import Any

from django.conf import settings

from ratewindow.contrib.moving.importers import logins

_LIMITS = "ACCOUNT_RATE_LIMITS"
_USUAL = {  # but for `login_failed`, which other settings vary
    "change_password": "5/m/user",
    "change_phone": "1/m/user",
    "manage_email": "10/m/user",
    "reset_password": "20/m/ip,5/m/key",
    "reauthenticate": "10/m/user",
    "reset_password_from_key": "20/m/ip",
    "signup": "20/m/ip",
    "login": "30/m/ip",
    "request_login_code": "20/m/ip,3/m/key",
    "confirm_email": "1/3m/key",
    "verify_phone": "1/30s/key,3/m/ip",
}
_ACTIONS = {  # what a rule applies to
    "login_failed": "logins",
    "login": "logins",
    "signup": "sign_ups",
    "reset_password": "resets",
    "request_login_code": "resets",
    "change_password": "changes",
    "reauthenticate": "changes",
}
_MAILBOX = "body:email"
_KEYS = {"logins": "login", "sign_ups": _MAILBOX, "resets": _MAILBOX, "changes": "user"}  # what `key` means there
_RATE = re.compile(r"(\d{1,15})/(\d{0,9}(?:\.\d{1,6})?)([smhd])(?:/(ip|user|key))?")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_LEFT_OUT = {
    "ALLAUTH_SETTING_GETTER": "a function says the settings, which are read here as Django has them.",
    "MFA_RATE_LIMITS": "a login by a passkey is none that the rules count.",
}


def find() -> logins.Found:
    found = logins.begin("allauth.account", _LIMITS)
    attempts = [getattr(settings, f"ACCOUNT_LOGIN_ATTEMPTS_{name}", usual) for name, usual in (("LIMIT", 5), ("TIMEOUT", 300))]
    login_failed = "10/m/ip,{}/{}s/key".format(*attempts) if all(attempts) else ""
    given = logins.read(found, _LIMITS, {}, _by_action)
    for action, rates in ({} if given is False else {**_USUAL, "login_failed": login_failed, **given}).items():
        if rates and action in _ACTIONS:
            _add(found, action, rates)
        elif rates:
            found.leave_out(f"{_LIMITS}[{action!r}]", "no rule about logins counts it: add one for the URL, or keep it there.")
    logins.leave_out(found, _LEFT_OUT)
    return found


def _by_action(value: Any) -> Any:
    """False limits nothing."""
    if value is not False and not isinstance(value, dict):
        raise ValueError(f"{value!r} is neither a dict nor False")
    return value


def _add(found: logins.Found, action: str, rates: Any) -> None:
    """A rule for each kind of client that the rates of one action count."""
    applies_to = _ACTIONS[action]
    together: dict[str, list[str]] = {}
    for text in str(rates).split(","):
        try:
            rate, per = _read(text.strip())
            together.setdefault(per, []).append(rate)
        except (ValueError, OverflowError) as error:
            found.leave_out(f"{_LIMITS}[{action!r}]", f"{error}.")
    note = f"there it counts {action} at allauth's own views, and here all {applies_to}."
    when = logins.FAILED if action == "login_failed" else {}
    for per, alike in together.items():
        key = _KEYS[applies_to] if per == "key" else per
        fields = {"normalise": True, "on_missing": "allow"} if key == _MAILBOX else {}
        logins.add(found, f"allauth.{action}.{per}", "; ".join(dict.fromkeys(alike)), key, applies_to, note, **when, **fields)


def _read(text: str) -> tuple[str, str]:
    """As allauth reads it: without a third part per address."""
    parts = _RATE.fullmatch(text)
    if parts is None:
        raise ValueError(f"the rate {text!r} cannot be read")
    limit, times, unit, per = parts.groups()
    return f"{limit}/{logins.period(timedelta(**{_UNITS[unit]: float(times or 1)}))}", per or "ip"
