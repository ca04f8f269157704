"""The settings ``RATELIMIT_...``: those that say what ``RATEWINDOW`` leaves unsaid, and those that are asked for each request."""

import re
from typing import Any

from django.conf import settings

from ratewindow import conf
from ratewindow.limiter.keys import digest


def _prefix(text: Any) -> Any:
    """A prefix of keys that we can have, another one for each of theirs."""
    short = str(text).strip(":")
    return short if re.fullmatch(r"[A-Za-z0-9._-]{1,16}", short) else digest(str(text), 12)


def _as_it_is(value: Any) -> Any:
    return value


conf.others |= {
    "RATELIMIT_USE_CACHE": ("REDIS", _as_it_is),
    "RATELIMIT_CACHE_PREFIX": ("KEY_PREFIX", _prefix),
    "RATELIMIT_IPV4_MASK": ("IPV4_PREFIX", _as_it_is),
    "RATELIMIT_IPV6_MASK": ("IPV6_PREFIX", _as_it_is),
}


def is_enabled() -> bool:
    return bool(getattr(settings, "RATELIMIT_ENABLE", True))


def on_error() -> str:
    """What happens without the store: requests are refused, unless a setting says otherwise."""
    if _is_said("ON_ERROR"):
        return ""
    return "allow" if getattr(settings, "RATELIMIT_FAIL_OPEN", False) else "refuse"


def address_key() -> Any:
    """Where the address of a client is, if ``RATELIMIT_IP_META_KEY`` says so: a header, or a function."""
    return None if _is_said("TRUSTED_PROXIES") else getattr(settings, "RATELIMIT_IP_META_KEY", None)


def _is_said(key: str) -> bool:
    return key in getattr(settings, conf.SETTING, {})
