"""What an app in the place of ``django_ratelimit`` does at the start: its settings say what ``RATEWINDOW`` does not, and a check
says what differs."""

from typing import Any

from django.core import checks

from ratewindow import conf
from ratewindow.conf.in_words import page

conf.others |= {
    "RATELIMIT_ENABLE": ("ENABLED", bool),
    "RATELIMIT_USE_CACHE": ("REDIS", str),
    "RATELIMIT_CACHE_PREFIX": ("KEY_PREFIX", lambda prefix: prefix.strip(":")),
    "RATELIMIT_IPV4_MASK": ("IPV4_PREFIX", int),
    "RATELIMIT_IPV6_MASK": ("IPV6_PREFIX", int),
}


@checks.register("ratewindow")
def check_differences(**_: Any) -> list[checks.CheckMessage]:
    """I001: what became safer, said where commands run, and not in the log of each process."""
    return [
        checks.Info(
            "Limits of django-ratelimit are decided by ratewindow: no window holds more than the limit, a client without a user "
            "or a field counts by its address and not with all others, and async views are limited.",
            hint=f"To hide this, add 'ratewindow.I001' to SILENCED_SYSTEM_CHECKS. See {page('migration/django_ratelimit.md')}.",
            id="ratewindow.I001",
        )
    ]
