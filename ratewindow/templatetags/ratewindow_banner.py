"""The banner on top of our pages in the admin."""

from typing import Any

from django import template

from ratewindow.admin.banner import banner

register = template.Library()


@register.inclusion_tag("admin/ratewindow/banner.html", takes_context=True)
def ratewindow_banner(context: dict[str, Any], problems: bool = True) -> dict[str, Any]:
    """What does not work now, and whether limits are switched off; nothing on a quiet day."""
    request = getattr(context, "request", None)  # without the context processor that would put it into `context`, too
    return {"banner": banner(request, problems) if request is not None else None, "csrf_token": context.get("csrf_token")}
