"""What stands around the form of one block or exemption: its title as the user may see it, a button that ends it, and links."""

from typing import Any

from django.contrib.admin import ModelAdmin
from django.http import HttpRequest
from django.utils.translation import gettext

from ratewindow.admin.addresses import reverse
from ratewindow.admin.masking import whom
from ratewindow.admin.overrides import links
from ratewindow.admin.post_button import post_button
from ratewindow.models import Override


class Shown:
    """An override for templates and messages, with a name that the user of this request may read."""

    def __init__(self, request: HttpRequest, override: Override) -> None:
        self._override, self._words = override, in_words(request, override)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._override, name)

    def __str__(self) -> str:
        return self._words


def in_words(request: HttpRequest, override: Override) -> str:
    return override.words_for(whom(request, override.identity))


def of_override(model_admin: "ModelAdmin[Any]", request: HttpRequest, override: Override) -> dict[str, Any]:
    """What ``override/change_form.html`` shows beside the form."""
    original = Shown(request, override)
    may_end = override.state != "ended" and model_admin.has_change_permission(request)
    url = reverse("admin:ratewindow_override_end", args=[override.pk])
    return {
        "original": original,
        "subtitle": str(original),
        "links": links.of_override(request, override),
        "end_now": post_button(request, url, gettext("End now"), {}) if may_end else "",
    }
