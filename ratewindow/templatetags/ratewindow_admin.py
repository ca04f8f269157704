"""The banner on every page of the app in the admin, and the element of a link among a page's object tools.

Django imports all tag libraries with the first template, also on sites without the admin, so the admin is imported late.
"""

from typing import Any

from django import template
from django.apps import apps

register = template.Library()

# Themes whose object tools are no list on the page of a list, or of a form: an item would stand outside one.
_WITHOUT_ITEMS = {"list": ("unfold", "jazzmin"), "form": ("jazzmin",)}


@register.inclusion_tag("admin/ratewindow/banner.html", takes_context=True)
def ratewindow_banner(context: dict[str, Any], problems: bool = True, emergencies: bool = True) -> dict[str, Any]:
    """Rules that refuse nearly everybody, problems of the limiter, and whether limits are switched off; most often nothing."""
    from ratewindow.admin.state import banner

    request = getattr(context, "request", None)  # also without the context processor that adds it
    shown = banner(request, problems, emergencies) if request is not None else None
    return {"banner": shown, "csrf_token": context.get("csrf_token")}


@register.simple_tag
def rw_tool(page: str) -> str:
    """The theme decides what stands around a link."""
    return "span" if any(map(apps.is_installed, _WITHOUT_ITEMS[page])) else "li"
