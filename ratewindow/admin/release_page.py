"""The page that lets a client go: what rules have counted for it, its locks, and the blocks that name it."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse

from ratewindow.admin import code_keys
from ratewindow.admin.masking import may_see
from ratewindow.models import Override, RateRule
from ratewindow.operations import release
from ratewindow.overrides.subjects import EXAMPLES, masked


def may(request: HttpRequest) -> bool:
    return bool(request.user.has_perm("ratewindow.release_identity"))


class ReleaseForm(forms.Form):
    identity = forms.CharField(
        label="Who",
        max_length=255,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
        help_text=f"Such as {EXAMPLES}; what a key joins is joined with +.",
        error_messages={"required": f"Say who: such as {EXAMPLES}."},
    )
    rule = forms.CharField(
        required=False,
        max_length=64,
        widget=forms.TextInput(attrs={"class": "vTextField", "list": "rw-rules"}),
        help_text="The name of one rule; empty for all of them.",
    )
    reason = forms.CharField(
        max_length=200,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
        help_text="For the history.",
        error_messages={"required": "Say why, for the history."},
    )

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.POST if request.method == "POST" else None, label_suffix="")
        self._request = request

    def clean_identity(self) -> str:
        return code_keys.check(self._request, self.cleaned_data["identity"])


def page(model_admin: "ModelAdmin[Any]", request: HttpRequest) -> HttpResponse:
    """The form, and what it does when it is sent: nothing that could not be counted or blocked anew, and nothing to undo."""
    if not may(request):
        raise PermissionDenied
    form = ReleaseForm(request)
    if form.is_valid() and _release(request, form):
        return HttpResponseRedirect(request.path)
    context = {
        **model_admin.admin_site.each_context(request),
        "title": "Release a client",
        "app": model_admin.opts.app_config,
        "model_admin": model_admin,  # by which Unfold writes the way here
        "form": form,
        "rules": RateRule.objects.exclude(mode="off").values_list("name", flat=True),
        "may_list": model_admin.has_view_permission(request),
    }
    return TemplateResponse(request, "admin/ratewindow/override/release.html", context)


def _release(request: HttpRequest, form: ReleaseForm) -> bool:
    """Whether it was done; what went wrong is told in the form."""
    identity, rule = form.cleaned_data["identity"], form.cleaned_data["rule"]
    try:
        told = release.release(identity, rule)
    except ValueError as error:
        form.add_error("rule" if rule and "rule" in str(error) else "identity", f"{error}.")
        return False
    (messages.warning if told.failure else messages.success)(request, told.in_words(name_blocks=may_see(request)))
    LogEntry.objects.create(
        user_id=str(request.user.pk),
        content_type=ContentType.objects.get_for_model(Override),
        object_repr=masked(identity),
        action_flag=CHANGE,
        change_message=f"Released{f' from {rule}' if rule else ''}: {form.cleaned_data['reason']}",
    )
    return True
