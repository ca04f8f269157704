"""A page that asks before a rule is enforced that would refuse whoever enforces it: nothing is done without the tick."""

from collections.abc import Sequence
from typing import Any

from django.contrib.admin import ModelAdmin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from ratewindow.admin import last_hour
from ratewindow.operations import lockout
from ratewindow.operations.lockout import Lockout

TICK = "lockout_known"


class Asked(Exception):
    """What was sent is not saved before its author has been asked."""

    def __init__(self, found: Sequence[Lockout]) -> None:
        self.found = found


def is_said(request: HttpRequest) -> bool:
    return TICK in request.POST


def page(model_admin: "ModelAdmin[Any]", request: HttpRequest, found: Sequence[Lockout], title: str) -> HttpResponse:
    """The question. Its form sends once more what was sent, with the tick."""
    report = last_hour.counted(request)
    context = {
        **model_admin.admin_site.each_context(request),
        "title": title,
        "app": model_admin.opts.app_config,
        "model_admin": model_admin,  # by which Unfold writes the way here
        "questions": [(str(each), lockout.last_hour(each.rule.name, report)) for each in found],
        "remedy": lockout.REMEDY,
        "commands": [lockout.command(each.rule.name) for each in found],
        "sent": [
            (name, value)
            for name, values in request.POST.lists()
            if name not in (TICK, "csrfmiddlewaretoken")
            for value in values
        ],
        "tick": TICK,
    }
    return TemplateResponse(request, "admin/ratewindow/raterule/sure.html", context)
