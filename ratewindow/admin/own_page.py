"""What a page of ours that is neither a list nor a form of a row has around its content."""

from typing import Any

from django.http import HttpRequest


def context(model_admin: Any, request: HttpRequest, title: Any) -> dict[str, Any]:
    """What ``admin/ratewindow/page.html`` shows; Unfold builds its breadcrumbs from the model admin."""
    return {
        **model_admin.admin_site.each_context(request),
        "title": title,
        "app": model_admin.opts.app_config,
        "model_admin": model_admin,
    }
