"""Admin pages whose edits carry the person who sent them, and the reason that they typed."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import URLPattern
from django.utils.translation import gettext_lazy as _

from ratewindow.admin.addresses import shown_by
from ratewindow.models import origin

WHY = "why"  # the field for the reason, in forms of rows that have none of their own
WHY_FIELDSET = (_("This change"), {"fields": [WHY]})


class RecordedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A `ModelAdmin` of which every page, also those that a subclass adds, says whose edits it makes, and links to its site."""

    @property
    def urls(self) -> list[URLPattern]:
        """Wrapped here, since `get_urls` of a subclass may add pages."""
        patterns = super().urls
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                pattern.callback = recorded(pattern.callback)
        return patterns


def recorded(view: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(view)
    def recording(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        shown_by(request)
        if request.method != "POST" or not request.user.is_authenticated:
            return view(request, *args, **kwargs)
        reason = request.POST.get(WHY) or request.POST.get("reason") or ""
        with origin.edits("admin", user=request.user, reason=reason):
            return view(request, *args, **kwargs)

    return recording
