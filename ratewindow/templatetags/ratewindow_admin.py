"""The tabs and the banner on every page of the app in the admin, the order of its index, and the element of an object tool.

Django imports all tag libraries with the first template, also on sites without the admin, so the admin is imported late.
"""

from typing import Any

from django import template
from django.apps import apps

register = template.Library()

# Themes whose object tools are no list on the page of a list, or of a form: an item would stand outside one.
_WITHOUT_ITEMS = {"list": ("unfold", "jazzmin"), "form": ("jazzmin",)}


@register.inclusion_tag("admin/ratewindow/top.html", takes_context=True)
def ratewindow_top(context: dict[str, Any], problems: bool = True, emergencies: bool = True) -> dict[str, Any]:
    """The row of tabs; below it rules that refuse nearly everybody, problems, and whether limits are switched off."""
    from ratewindow.admin.state import banner, tabs

    request = getattr(context, "request", None)  # also without the context processor that adds it
    shown = {"banner": banner(request, problems, emergencies), **tabs(request)} if request is not None else {}
    return {**shown, "csrf_token": context.get("csrf_token")}


@register.filter
def rw_in_order(app_list: Any) -> Any:
    """The index of the app with its models in the order of the tabs, which is against the alphabet: Report, Rules, Blocks."""
    return [{**app, "models": sorted(app["models"], key=lambda model: model["object_name"], reverse=True)} for app in app_list]


@register.simple_tag
def rw_tool(page: str) -> str:
    """The theme decides what stands around a link."""
    return "span" if any(map(apps.is_installed, _WITHOUT_ITEMS[page])) else "li"
