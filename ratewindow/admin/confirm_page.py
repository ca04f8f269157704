"""The page that asks before anything is saved that would lock its author, or all other staff, out of the admin.

It does so on every page of an `AskingAdmin`: forms, buttons, actions, whatever they save; and for a single view by `asking`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.contrib.messages.storage import default_storage
from django.core.exceptions import PermissionDenied
from django.db import router, transaction
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import last_hour, own_page
from ratewindow.admin.addresses import reverse
from ratewindow.admin.masking import whom
from ratewindow.admin.recorded import RecordedAdmin
from ratewindow.admin.switch_page import may_switch
from ratewindow.admin.wording import sentence
from ratewindow.models import RateRule
from ratewindow.operations import edit_check, lockout
from ratewindow.operations.edit_check import StaffBlock
from ratewindow.operations.lockout import Lockout

CHECKBOX = "lockout_known"  # the name of its checkbox

Found = Lockout | StaffBlock


@dataclass(frozen=True)
class Question:
    """A lockout, and the rule in its sentence or the identity that is blocked, as they would be."""

    heading: str
    lockout: Found


class ConfirmationRequired(Exception):
    """Raised in the transaction of an edit, so that nothing is saved until its author has confirmed the lockouts."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.questions = questions


class AskingAdmin(RecordedAdmin):
    """A `ModelAdmin` of which every page, also those that a subclass adds, asks before it locks staff out."""

    show_add_link = True  # without it Unfold's lists have no button that adds

    @property
    def urls(self) -> list[URLPattern]:
        patterns = super().urls
        for pattern in patterns:
            if isinstance(pattern, URLPattern) and not hasattr(pattern.callback, "changes_nothing"):
                pattern.callback = asking(self, pattern.callback)
        return patterns

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Django ignores an action that the user may not run, as if nothing was chosen; here it is forbidden."""
        if request.method == "POST" and {*request.POST.getlist("action")} - {"", *self.get_actions(request)}:
            raise PermissionDenied
        return super().changelist_view(request, extra_context)


def changes_nothing(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Mark a view that takes a POST and saves nothing: it needs no transaction, which others would wait for."""
    view.changes_nothing = True  # type: ignore[attr-defined]
    return view


def asking(model_admin: Any, view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """The view in one transaction, which is rolled back where its sender has to confirm a lockout."""

    @wraps(view)
    def asked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method != "POST" or not model_admin.admin_site.has_permission(request) or CHECKBOX in request.POST:
            return view(request, *args, **kwargs)
        try:
            with transaction.atomic(using=router.db_for_write(RateRule)):
                before = edit_check.look(request)
                response = view(request, *args, **kwargs)
                if questions := _questions(request, before):
                    raise ConfirmationRequired(questions)
                return response
        except ConfirmationRequired as required:
            request._messages = default_storage(request)  # type: ignore[attr-defined]  # nothing has been done
            return page(model_admin, request, required.questions)

    return asked


def foreseen(request: HttpRequest, write: Callable[[], object]) -> list[Question]:
    """What would have to be confirmed if `write` was called, whose effect is rolled back."""
    with transaction.atomic(using=router.db_for_write(RateRule)):
        before = edit_check.look(request)
        write()
        questions = _questions(request, before)
        transaction.set_rollback(True, using=router.db_for_write(RateRule))
    return questions


def _questions(request: HttpRequest, before: edit_check.Before) -> list[Question]:
    found = edit_check.caused(before, request)
    names = {each.rule.name for each in found if isinstance(each, Lockout)}
    sentences = {row.name: sentence(row) for row in RateRule.objects.filter(name__in=names).prefetch_related("windows")}
    return [
        Question(whom(request, each.override.identity) if isinstance(each, StaffBlock) else sentences[each.rule.name], each)
        for each in found
    ]


def page(model_admin: Any, request: HttpRequest, questions: Sequence[Question]) -> HttpResponse:
    """A form that submits the same POST data again, with the checkbox."""
    context = {
        **own_page.context(model_admin, request, _TITLES[_only_others(questions)]),
        "list_name": model_admin.opts.verbose_name_plural,
        "list_url": reverse(f"admin:{model_admin.opts.app_label}_{model_admin.opts.model_name}_changelist"),
        "post_data": posted(request),
        **lockout_context(request, questions),
    }
    return TemplateResponse(request, "admin/ratewindow/confirmation.html", context)


def posted(request: HttpRequest) -> list[tuple[str, str]]:
    """The POST data, to be submitted again with the checkbox."""
    left_out = (CHECKBOX, "csrfmiddlewaretoken")
    return [(name, value) for name, values in request.POST.lists() if name not in left_out for value in values]


def lockout_context(request: HttpRequest, questions: Sequence[Question]) -> dict[str, Any]:
    """What ``lockouts.html`` shows: each lockout, what to do instead, the way back and the checkbox."""
    rules = [each.lockout.rule.name for each in questions if isinstance(each.lockout, Lockout)]
    return {
        "lockouts": [(each.heading, str(each.lockout), _hour(request, each.lockout)) for each in questions],
        "remedy": lockout.REMEDY if rules else "",
        "may_switch": may_switch(request),
        "commands": [lockout.command(name) for name in dict.fromkeys(rules)],
        "checkbox": CHECKBOX,
        "known": _KNOWN[_only_others(questions)],
    }


def _hour(request: HttpRequest, found: Found) -> str:
    return "" if isinstance(found, StaffBlock) else lockout.last_hour(found.rule.name, last_hour.report_for(request))


def _only_others(questions: Sequence[Question]) -> bool:
    return all(each.lockout.others for each in questions)


_TITLES = {False: _("You would be refused in the admin"), True: _("All other staff would be refused in the admin")}
_KNOWN = {
    False: _("I know that I would be refused in the admin"),
    True: _("I know that all other staff would be refused in the admin"),
}
