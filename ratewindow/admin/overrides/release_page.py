"""The page that shows how a client stands and releases it: its counts and penalties go, and the blocks that name it end."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import own_page
from ratewindow.admin.masking import may_look_up
from ratewindow.admin.overrides import links, standing_now, who
from ratewindow.conf.translation import translated
from ratewindow.models import Override, RateRule
from ratewindow.operations import release
from ratewindow.overrides.as_typed import EXAMPLES


def may_release(request: HttpRequest) -> bool:
    return bool(request.user.has_perm("ratewindow.release_identity"))


class ReleaseForm(forms.Form):
    required_css_class = "required"

    identity = forms.CharField(
        label=_("Who"),
        max_length=255,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
        help_text=format_lazy(
            _("Such as {examples}. Join the identities of a key of several parts with +."), examples=_(EXAMPLES)
        ),
        error_messages={"required": who.REQUIRED},
    )
    rule = forms.CharField(
        label=_("Rule"),
        required=False,
        max_length=64,
        widget=forms.TextInput(attrs={"class": "vTextField", "list": "rw-rules"}),
        help_text=_("The name of one rule. Leave empty for all rules."),
    )
    reason = forms.CharField(
        label=_("Reason"),
        max_length=200,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
        help_text=_("Shown in the history."),
        error_messages={"required": _("Enter a reason for the history.")},
    )

    def __init__(self, request: HttpRequest) -> None:
        given = {name: request.GET[name] for name in ("identity", "rule") if name in request.GET}
        super().__init__(request.POST if request.method == "POST" else None, initial=given)
        self._request = request

    def clean_identity(self) -> str:
        return who.typed(self._request, self.cleaned_data["identity"], self.data.get(who.CHOSEN, ""))


def page(model_admin: "ModelAdmin[Any]", request: HttpRequest) -> HttpResponse:
    """The form. There is no undo: the client is counted again, and can be blocked again."""
    if not may_release(request):
        raise PermissionDenied
    form = ReleaseForm(request)
    if form.is_valid() and _release(request, form):
        return HttpResponseRedirect(request.path)
    context = {
        **own_page.context(model_admin, request, gettext("See and release a client")),
        "form": form,
        "standing": standing_now.context(request) if request.method == "GET" else {},
        "rules": RateRule.objects.exclude(mode="off").values_list("name", flat=True),
        "may_list": model_admin.has_view_permission(request),
    }
    return TemplateResponse(request, "admin/ratewindow/override/release.html", context)


def _release(request: HttpRequest, form: ReleaseForm) -> bool:
    """Release the client of a valid form; False, with the error in the form, if that is not possible."""
    identity, rule = form.cleaned_data["identity"], form.cleaned_data["rule"]
    try:
        released = release.release(identity, rule)
    except ValueError as error:
        form.add_error("rule" if rule and "rule" in str(error) else "identity", f"{translated(error)}.")
        return False
    message = released.in_words(with_blocks=may_look_up(request))
    if released.ended and may_look_up(request) and request.user.has_perm("ratewindow.add_override"):
        again = links.url(links.ADD, identity=identity, rule=rule)
        message = format_html('{} <a href="{}">{}</a>', message, again, gettext("Block it again…"))
    (messages.warning if released.failure else messages.success)(request, message)
    LogEntry.objects.create(
        user_id=str(request.user.pk),
        content_type=ContentType.objects.get_for_model(Override),
        object_repr="client",
        action_flag=CHANGE,
        change_message="Released.",  # the history has whom and why: this log has readers who may not know
    )
    return True
