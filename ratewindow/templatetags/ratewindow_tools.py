"""The element of a link among the object tools of a page, where the theme decides what stands around it."""

from django import template
from django.apps import apps

register = template.Library()

_WITHOUT_A_LIST = ("unfold", "jazzmin")  # themes whose object tools are no list: an item would stand outside one


@register.simple_tag
def rw_tool() -> str:
    return "span" if any(map(apps.is_installed, _WITHOUT_A_LIST)) else "li"
