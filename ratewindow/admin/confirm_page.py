"""The confirmation page shown before a rule is enforced that would refuse the person who enforces it."""

from collections.abc import Sequence
from typing import Any

from django.contrib.admin import ModelAdmin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from ratewindow.admin import last_hour
from ratewindow.operations import lockout
from ratewindow.operations.lockout import Lockout

CHECKBOX = "lockout_known"  # the name of its checkbox


class ConfirmationRequired(Exception):
    """Raised while a rule is saved, so that nothing is saved until its author has confirmed the lockouts."""

    def __init__(self, lockouts: Sequence[Lockout]) -> None:
        self.lockouts = lockouts


def is_confirmed(request: HttpRequest) -> bool:
    return CHECKBOX in request.POST


def page(model_admin: "ModelAdmin[Any]", request: HttpRequest, lockouts: Sequence[Lockout], title: str) -> HttpResponse:
    """A form that submits the same POST data again, with the checkbox."""
    report = last_hour.report_for(request)
    context = {
        **model_admin.admin_site.each_context(request),
        "title": title,
        "app": model_admin.opts.app_config,
        "model_admin": model_admin,  # Unfold builds its breadcrumbs from it
        "lockouts": [(str(each), lockout.last_hour(each.rule.name, report)) for each in lockouts],
        "remedy": lockout.REMEDY,
        "commands": [lockout.command(each.rule.name) for each in lockouts],
        "post_data": [
            (name, value)
            for name, values in request.POST.lists()
            if name not in (CHECKBOX, "csrfmiddlewaretoken")
            for value in values
        ],
        "checkbox": CHECKBOX,
    }
    return TemplateResponse(request, "admin/ratewindow/raterule/enforce_confirmation.html", context)
