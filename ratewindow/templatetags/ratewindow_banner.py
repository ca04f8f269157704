"""The banner on every page of the app in the admin.

Django imports all tag libraries with the first template, also on sites without the admin, so the admin is imported late.
"""

from typing import Any

from django import template

register = template.Library()


@register.inclusion_tag("admin/ratewindow/banner.html", takes_context=True)
def ratewindow_banner(context: dict[str, Any], problems: bool = True) -> dict[str, Any]:
    """Problems of the limiter, and whether limits are switched off; nothing while neither is the case."""
    from ratewindow.admin.banner import OFF_TAG, banner

    request = getattr(context, "request", None)  # also without the context processor that adds it
    announced = any(OFF_TAG in each.tags for each in context.get("messages") or ())
    shown = banner(request, problems, not announced) if request is not None else None
    return {"banner": shown, "csrf_token": context.get("csrf_token")}
