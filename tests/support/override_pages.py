"""The pages of blocks and exemptions in the admin: their addresses, and what a browser sends to them."""

from typing import Any

from django.urls import reverse

from ratewindow.models import Override

LIST = reverse("admin:ratewindow_override_changelist")
ADD = reverse("admin:ratewindow_override_add")


def change(override: Override) -> str:
    return reverse("admin:ratewindow_override_change", args=[override.pk])


def quick(name: str, override: Override) -> str:
    return reverse(f"admin:ratewindow_override_{name}", args=[override.pk])


def text(response: Any) -> str:
    return str(response.content.decode())


def typed(**fields: str) -> dict[str, str]:
    """What a browser sends for a new block."""
    when = dict.fromkeys(("expires_at_0", "expires_at_1", "starts_at_0", "starts_at_1"), "")
    return {
        "action": "block",
        "identity": "ip:203.0.113.9",
        "rule": "",
        "rate": "",
        "lasts": "1h",
        "reason": "scraping",
        **when,
        **fields,
    }


def typed_above_the_list(**fields: str) -> dict[str, str]:
    """What a browser sends for a block of an hour from the form above the list."""
    quick = {"identity": "203.0.113.9", "action": "block", "rate": "", "rule": "", "lasts": "1h", "reason": "trying passwords"}
    return {**quick, **fields}
