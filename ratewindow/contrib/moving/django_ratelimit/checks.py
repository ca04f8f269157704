"""What differs from django-ratelimit, said once: where commands run, and not in the log of each process."""

from typing import Any

from django.core import checks

from ratewindow.conf.in_words import page


@checks.register("ratewindow")
def check_differences(**_: Any) -> list[checks.CheckMessage]:
    """I001: what became safer."""
    return [
        checks.Info(
            "The names of django-ratelimit are ours here: no window holds more than the limit, a client without a user or a field "
            "counts by its address and not with all others, and async views are limited.",
            hint=f"To hide this, add 'ratewindow.I001' to SILENCED_SYSTEM_CHECKS. See {page('developers/checks.md')}#i001.",
            id="ratewindow.I001",
        )
    ]
