"""``{% load ratewindow %}``: what templates of the site show of limits."""

from typing import Any

from django import template

from ratewindow.operations.usage import Usage, usage

register = template.Library()


@register.simple_tag(takes_context=True)
def my_limits(context: Any) -> list[Usage]:
    """``{% my_limits as limits %}``: what holds for the client of this page's request, and for nobody else."""
    return usage(context["request"])
