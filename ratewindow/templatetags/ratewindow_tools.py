"""The element of a link among the object tools of a page, where the theme decides what stands around it."""

from django import template
from django.apps import apps

register = template.Library()

# Themes whose object tools are no list on the page of a list, or of a form: an item would stand outside one.
_WITHOUT_ITEMS = {"list": ("unfold", "jazzmin"), "form": ("jazzmin",)}


@register.simple_tag
def rw_tool(page: str) -> str:
    return "span" if any(map(apps.is_installed, _WITHOUT_ITEMS[page])) else "li"
