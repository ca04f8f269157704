"""The banner on top of our pages in the admin.

Django imports all tag libraries with the first template, on sites without the admin, too: nothing of it is imported here.
"""

from typing import Any

from django import template

register = template.Library()


@register.inclusion_tag("admin/ratewindow/banner.html", takes_context=True)
def ratewindow_banner(context: dict[str, Any], problems: bool = True) -> dict[str, Any]:
    """What does not work now, and whether limits are switched off; nothing on a quiet day."""
    from ratewindow.admin.banner import SAYS_OFF, banner

    request = getattr(context, "request", None)  # without the context processor that would put it into `context`, too
    said = any(SAYS_OFF in each.tags for each in context.get("messages") or ())
    found = banner(request, problems, not said) if request is not None else None
    return {"banner": found, "csrf_token": context.get("csrf_token")}
