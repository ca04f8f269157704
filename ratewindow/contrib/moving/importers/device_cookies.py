"""Limits by the settings of django-device-cookies: one for the strangers who try a name, and one for each known device."""

from datetime import timedelta

from django.conf import settings

from ratewindow.contrib.moving.importers import logins

_COOKIE = "the cookie of known devices is as the room of logins makes it."
_LEFT_OUT = {
    "DEVICE_COOKIE_NAME DEVICE_COOKIE_MAX_AGE": _COOKIE,
    "DEVICE_COOKIE_SECURE DEVICE_COOKIE_SAMESITE DEVICE_COOKIE_DOMAIN DEVICE_COOKIE_PATH": _COOKIE,
}


def find() -> logins.Found:
    found = logins.begin("django_device_cookies", "DEVICE_COOKIE_")
    limit = logins.read(found, "DEVICE_COOKIE_ATTEMPTS_PER_PERIOD", 5, logins.whole)
    rate = f"{limit}/{logins.read(found, 'DEVICE_COOKIE_PERIOD', timedelta(minutes=15), logins.period)}"
    status = logins.AS_WRONG if getattr(settings, "DEVICE_COOKIE_HIDE_LOCKOUTS", True) else 429
    logins.add(found, "device-cookies.stranger", rate, "login", "stranger", **logins.FAILED, response_status=status)
    if most := logins.read(found, "DEVICE_COOKIE_REVOKE_AFTER_FAILURES", None, lambda value: value and logins.whole(value)):
        rate += f"; {most}/{logins.read(found, 'DEVICE_COOKIE_MAX_AGE', timedelta(days=365), logins.period)}"
    logins.add(
        found,
        "device-cookies.known",
        rate,
        "login_device",
        "known",
        "the cookies of that package are not read: each device is a stranger until its next login.",
        "a device that has used this up is a stranger here; there it is locked out alone.",
        **logins.FAILED,
        on_missing="allow",
        response_status=status,
    )
    logins.leave_out(found, _LEFT_OUT, on=("DEVICE_COOKIE_SECURE",))
    return found
