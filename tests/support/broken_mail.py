"""Settings by which no mail can be sent, as each version of Django writes them."""

from typing import Any

import django

_BACKEND = "no.such.Backend"
BROKEN_MAIL: dict[str, Any] = (
    {"MAILERS": {"default": {"BACKEND": _BACKEND}}} if django.VERSION >= (6, 1) else {"EMAIL_BACKEND": _BACKEND}
)
