"""The pages of blocks and exemptions in the admin: their addresses, and what a browser sends to them."""

import re
from typing import Any

from django.urls import reverse

from ratewindow.models import Override

LIST = reverse("admin:ratewindow_override_changelist")
ADD = reverse("admin:ratewindow_override_add")
UNDO = reverse("admin:ratewindow_override_undo")


def change(override: Override) -> str:
    return reverse("admin:ratewindow_override_change", args=[override.pk])


def quick(name: str, override: Override) -> str:
    return reverse(f"admin:ratewindow_override_{name}", args=[override.pk])


def text(response: Any) -> str:
    return str(response.content.decode())


def undo_of(response: Any) -> str:
    """What the button of the message sends to `UNDO`."""
    (before,) = re.findall(r'name="before" value="([^"]+)"', text(response))
    return str(before)


def typed(**fields: str) -> dict[str, str]:
    """What a browser sends for a new block."""
    when = dict.fromkeys(("expires_at_0", "expires_at_1", "starts_at_0", "starts_at_1"), "")
    return {
        "action": "block",
        "identity": "ip:203.0.113.9",
        "rule": "",
        "rate": "",
        "lasts": "1h",
        "reason": "",
        **when,
        **fields,
    }


def typed_above_the_list(**fields: str) -> dict[str, str]:
    """What a browser sends for a block of an hour from the form above the list."""
    quick = {"identity": "203.0.113.9", "rate": "", "rule": "", "lasts": "1h", "expires_at": "", "_quick": "Save"}
    return {**quick, "reason": "trying passwords", "what": fields.pop("action", "block"), **fields}
