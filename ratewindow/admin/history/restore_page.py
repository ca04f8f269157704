"""The page that restores an earlier state: first a preview of what would change, then a POST with a reason."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import code_keys, own_page
from ratewindow.admin.addresses import reverse
from ratewindow.admin.concerns_many import concerns_many, counted_by
from ratewindow.admin.history import changes_in_words, entries
from ratewindow.admin.history.rights import viewable
from ratewindow.admin.masking import fingerprint, may_see
from ratewindow.admin.rights import may_enforce, may_not
from ratewindow.admin.switch_page import may_switch
from ratewindow.conf.in_words import some_of
from ratewindow.models import Edit, Mode, Override, RateRule, origin
from ratewindow.models.origin import MOST_REASON
from ratewindow.operations.documents.applying import Author, SiteChanged
from ratewindow.operations.documents.parsing import DocumentError
from ratewindow.operations.history import restoring
from ratewindow.operations.history.restoring import Step
from ratewindow.operations.history.states import State

BEFORE, AFTER, ALL_BEFORE, ALL_AFTER = "before", "after", "all-before", "all-after"
_EARLIER = timedelta(microseconds=1)


@dataclass(frozen=True)
class Link:
    label: str
    url: str


class ReasonForm(forms.Form):
    required_css_class = "required"

    reason = forms.CharField(
        label=_("Reason"),
        max_length=MOST_REASON,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
        help_text=_("Shown in the history."),
        error_messages={"required": _("Enter a reason for the history.")},
    )


def links(request: HttpRequest, edit: Edit) -> list[Link]:
    """The states around this edit that can be restored, each a link to its preview."""
    if edit.kind in Edit.EVENTS:
        return []
    return [
        Link(label, reverse("admin:ratewindow_history_restore", args=[edit.pk, to]))
        for to, label in _labels(request, edit).items()
    ]


def _labels(request: HttpRequest, edit: Edit) -> dict[str, str]:
    what, everything = entries.title(edit, request), gettext("All rules, blocks, exemptions and other rates, and the switch")
    if len(viewable(request)) < len(Edit.Kind):
        everything = gettext("%s, as far as you may see them") % everything
    return {
        BEFORE: gettext("%s: as it was before this edit") % what,
        AFTER: gettext("%s: as it was after this edit") % what,
        ALL_BEFORE: gettext("%s: as they were before this edit") % everything,
        ALL_AFTER: gettext("%s: as they were after this edit") % everything,
    }


def page(model_admin: "ModelAdmin[Any]", request: HttpRequest, edit: Edit, to: str) -> HttpResponse:
    """The preview, and the handler of its button."""
    kinds = viewable(request)  # whether there is more to restore is not told to those who may not see it
    wanted = {subject: values for subject, values in _wanted(edit, to).items() if subject.kind in kinds}
    steps, counted = restoring.steps(wanted), counted_by()
    forbidden = list(dict.fromkeys(sentence for step in steps for sentence in _forbidden(model_admin, request, step, counted)))
    form = ReasonForm(request.POST if request.method == "POST" else None)
    problems: Sequence[str] = ()
    if request.method == "POST":
        if forbidden:
            raise PermissionDenied
        if request.POST.get("shown") != _digest(steps):
            problems = [gettext("What would be changed is no longer what this page showed. Look at it again.")]
        elif form.is_valid():
            try:
                return _restore(model_admin, request, edit, wanted, steps, form.cleaned_data["reason"])
            except SiteChanged:
                problems = [gettext("Somebody has made another edit at this moment. Look at the changes again.")]
                steps = restoring.steps(wanted)
            except DocumentError as error:
                told = may_see(request) or not isinstance(error, restoring.OverrideError)
                problems = [
                    *(error.problems if told else ()),
                    gettext("So these values can no longer be saved. Nothing was restored."),
                ]
    context = {
        **own_page.context(model_admin, request, gettext("Restore")),
        "edit_url": reverse("admin:ratewindow_edit_change", args=[edit.pk]),
        "entry": entries.entry(edit, request),
        "heading": _labels(request, edit)[to],
        "changes": changes_in_words.shown(request, [step.change for step in steps]),
        "forbidden": forbidden,
        "problems": problems,
        "shown": _digest(steps),
        "form": form,
    }
    return TemplateResponse(request, "admin/ratewindow/history/restore.html", context)


def _wanted(edit: Edit, to: str) -> State:
    if edit.kind in Edit.EVENTS:
        raise Http404("A release cannot be taken back, nor can a recording: neither is a state to return to.")
    match to:
        case "before":
            return restoring.before(edit)
        case "after":
            return restoring.after(edit)
        case "all-before":
            return restoring.everything_at(edit.at - _EARLIER)
        case "all-after":
            return restoring.everything_at(edit.at)
    raise Http404(f"There is no state {to}.")


def _restore(
    model_admin: "ModelAdmin[Any]", request: HttpRequest, edit: Edit, wanted: State, steps: Sequence[Step], reason: str
) -> HttpResponse:
    user: Any = request.user
    with origin.edits(restoring.WAY, user=user, reason=reason):
        restoring.restore(wanted, steps, Author(source=restoring.WAY, user=user, name=user.get_username()))
    titles = [changes_in_words.title(request, step.change) for step in steps]
    sentence = gettext("Restored: %s.") % some_of(titles)
    messages.success(request, format_html("{} {}", sentence, _undo(steps)))
    model_admin.log_change(request, edit, "Restored.")
    return HttpResponseRedirect(reverse("admin:ratewindow_history"))


def _undo(steps: Sequence[Step]) -> SafeString:
    """A link to the preview of the way back."""
    subject = steps[0].subject
    last = Edit.objects.filter(kind=subject.kind, subject=subject.name).first()
    if last is None:
        return SafeString("")
    url = reverse("admin:ratewindow_history_restore", args=[last.pk, BEFORE if len(steps) == 1 else ALL_BEFORE])
    return format_html('<a href="{}">{}</a>', url, gettext("Undo…"))


def _digest(steps: Sequence[Step]) -> str:
    return fingerprint([[*step.subject, step.change.before, step.change.after] for step in steps])


def _forbidden(model_admin: "ModelAdmin[Any]", request: HttpRequest, step: Step, counted: set[frozenset[str]]) -> Iterator[str]:
    """What the user may not do of this step, as sentences."""
    change, kind = step.change, step.subject.kind
    before, after = change.before or {}, change.after or {}
    if kind == Edit.Kind.SWITCH:
        if not may_switch(request):
            yield gettext("You may not switch the limits.")
        return
    model = RateRule if kind == Edit.Kind.RULE else Override
    of_model: Any = model_admin.admin_site.get_model_admin(model)
    verb = {"added": "add", "changed": "change", "removed": "delete"}[change.kind]
    if not getattr(of_model, f"has_{verb}_permission")(request):
        yield may_not(verb, kind == Edit.Kind.RULE)
    try:
        for name in ("key", "identity"):
            code_keys.check(request, after.get(name, ""), before.get(name, ""))
    except ValidationError as error:
        yield from error.messages
    if kind == Edit.Kind.RULE and _enforces_more(before, after) and not may_enforce(request):
        yield gettext("You may not enforce rules.")
    if kind == Edit.Kind.OVERRIDE and after and not may_switch(request) and concerns_many(after["identity"], counted):
        yield gettext("You need the permission to switch all limits off to save what applies to all visitors, or nearly all.")


def _enforces_more(before: dict[str, Any], after: dict[str, Any]) -> bool:
    def share(rule: dict[str, Any]) -> int:
        return int(rule.get("enforce_percent", 100)) if rule.get("mode") == Mode.ENFORCE else 0

    return share(after) > share(before)
