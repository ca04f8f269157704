"""The addresses of our pages on the site of the admin that is being shown: a project may have several, each with these pages."""

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from django import urls
from django.http import HttpRequest

_shown: ContextVar[str | None] = ContextVar("ratewindow_admin_shown", default=None)  # the namespace of the site


def shown_by(request: HttpRequest) -> None:
    """From here on, addresses are those of the site that the request is for, also while its answer is rendered."""
    match = request.resolver_match
    _shown.set(match.namespace if match is not None else None)


def reverse(name: str, args: Sequence[Any] = ()) -> str:
    """The address of a page, ``admin:ratewindow_report``, on the site that is shown, or else on another; empty if none has it."""
    sites = urls.get_resolver(urls.get_urlconf()).app_dict.get("admin", [])
    for site in (_shown.get(), None, *sites):
        try:
            return urls.reverse(name, args=args, current_app=site)
        except urls.NoReverseMatch:
            continue
    return ""
