"""Permission to name a function of the site's code in a form, since it is imported then and called with every request.

Editing rules does not include the right to run any code: that takes a superuser, or a developer who registers the function
with `ratekey`.
"""

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext

from ratewindow.identity import paths_in


def check(request: HttpRequest, text: str, before: Any = None) -> str:
    """Return `text`, or raise ValidationError if it names code and the user is no superuser. A value may stay as it was."""
    if text != before and not (request.user.is_active and request.user.is_superuser) and (paths := paths_in(text)):
        message = (
            gettext("%r is code, which only superusers may use as a key. A developer can register it with @ratekey.") % paths[0]
        )
        raise forms.ValidationError(message, code="code")
    return text
