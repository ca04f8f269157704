"""Who may name a function of the site's code in a form: it is imported then, and called with every request.

Whoever edits rules need not be trusted with running code of their choice: that takes a superuser, or a developer who gives
the function a name by `ratekey`.
"""

from typing import Any

from django import forms
from django.http import HttpRequest

from ratewindow.identity import paths_in


def check(request: HttpRequest, text: str, before: Any = None) -> str:
    """The text, unless it names code and its author may not; what was there before may stay."""
    if text != before and not (request.user.is_active and request.user.is_superuser) and (named := paths_in(text)):
        told = f"{named[0]!r} is code, which only superusers may name. A developer can give it a name by @ratekey."
        raise forms.ValidationError(told, code="code")
    return text
