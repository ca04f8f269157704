"""A button in a message: a form of its own, with a CSRF token, that posts hidden fields."""

from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString


def post_button(request: HttpRequest, url: str, label: str, fields: dict[str, str]) -> SafeString:
    hidden = format_html_join(
        "",
        '<input type="hidden" name="{}" value="{}">',
        {"csrfmiddlewaretoken": get_token(request), **fields}.items(),
    )
    return format_html(
        '<form class="rw-inline-form" method="post" action="{}">{}<button type="submit" class="rw-button">{}</button></form>',
        url,
        hidden,
        label,
    )
