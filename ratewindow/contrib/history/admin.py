"""The history in the admin: the list of all edits, the page of each, which can undo it, that of one rule, rules as a file, marks
on the report's chart, and the refusal of the second of two people who edit the same.

The core calls these by the names that `apps.py` plugs them in as.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import URLPattern, path
from django.utils.crypto import salted_hmac
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _, pgettext

from ratewindow.admin.base import ReadOnlyAdmin, register, render_page, reverse
from ratewindow.contrib.history import files, staff, values
from ratewindow.contrib.history.models import Edit
from ratewindow.contrib.history.words import Entry
from ratewindow.models import Override, RateRule, origin
from ratewindow.operations.rights import require, whom
from ratewindow.rooms import Edited, Mark
from ratewindow.rulebook.reading import database

MOST_OF_OBJECT = 100  # edits on the page of one rule or block


class ReasonForm(forms.Form):
    required_css_class = "required"

    reason = forms.CharField(
        label=_("Reason"),
        max_length=origin.MOST_REASON,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
        help_text=_("Shown in the history."),
        error_messages={"required": _("Enter a reason for the history.")},
    )


@register(Edit)
class EditAdmin(ReadOnlyAdmin):
    list_filter = ["kind", "action", "at"]
    list_display_links = None
    list_per_page = 50
    show_full_result_count = False
    sortable_by = ()
    actions = None
    search_fields = ["by", "reason"]
    search_help_text = _("Search in the names of rules, in who and in reasons")

    class Media:
        css = {"all": ["ratewindow/rules.css", "ratewindow/history/history.css"]}

    def get_urls(self) -> list[URLPattern]:
        """Nobody adds or deletes an edit."""
        view = self.admin_site.admin_view
        return [
            path("", view(self.changelist_view), name="ratewindow_history_edit_changelist"),
            path("<path:object_id>/change/", view(self.change_view), name="ratewindow_history_edit_change"),
        ]

    def has_view_permission(self, request: HttpRequest, obj: Edit | None = None) -> bool:
        kinds = staff.viewable(request.user)
        return bool(kinds) if obj is None else obj.kind in kinds

    def get_queryset(self, request: HttpRequest) -> QuerySet[Edit]:
        return super().get_queryset(request).filter(kind__in=staff.viewable(request.user))

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Subjects of other kinds than rules are not searched, since they have identities."""
        found, may_have_duplicates = super().get_search_results(request, queryset, search_term)
        rules = Q(kind=Edit.Kind.RULE, subject__icontains=search_term.strip())
        return found | queryset.filter(rules) if search_term else found, may_have_duplicates

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Nor can values and subjects be asked for in the query string."""
        is_hidden = lookup.partition("__")[0] in ("before", "after", "subject", "user")
        return not is_hidden and super().lookup_allowed(lookup, value, request)

    def get_list_display(self, request: HttpRequest) -> Any:
        @admin.display(description=_("what"))
        def what(edit: Edit) -> SafeString:
            return SafeString(render_to_string("admin/ratewindow/history/what.html", {"entry": Entry.of(edit, request.user)}))

        @admin.display(description=_("when"))
        def when(edit: Edit) -> SafeString:
            entry = Entry(edit, "", [])
            return format_html('<a href="{}" title="{}">{}</a>', entry.url, entry.clock, entry.ago)

        @admin.display(description=_("who and reason"))
        def who(edit: Edit) -> SafeString:
            return format_html(
                '<strong class="rw-who">{}</strong> <span class="rw-sentence">{}</span> {}',
                edit.by,
                Entry(edit, "", []).way,
                edit.reason,
            )

        return [when, what, who]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {"title": gettext("History"), **(extra_context or {})})

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One edit, with what would undo it, and the handler of the button that does."""
        edit: Any = self.get_object(request, object_id)
        require(edit)  # also one that is not there: which there are is not told
        change = values.undoing(edit) if edit.is_restorable else None
        sentences = self._forbidden(request, change) if change is not None else []
        form, problems = ReasonForm(request.POST or None), list[str]()
        if request.method == "POST":
            if change is None or sentences:
                raise PermissionDenied
            if _digest(change) != request.POST.get("shown"):
                problems = [gettext("What would be changed is no longer what this page showed. Look at it again.")]
            elif form.is_valid():
                try:
                    return self._restore(request, change, form.cleaned_data["reason"])
                except ValidationError as error:
                    problems = error.messages
        return render_page(
            self,
            request,
            "admin/ratewindow/history/edit.html",
            pgettext("noun", "Edit"),
            {
                "entry": Entry.of(edit, request.user),
                "undoing": Entry.of(change, request.user) if change is not None else None,
                "shown": _digest(change) if change is not None else "",
                "forbidden": sentences,
                "problems": problems,
                "form": form,
                **(extra_context or {}),
            },
        )

    def _forbidden(self, request: HttpRequest, change: Edit) -> list[str]:
        """Why this person may not make a change, in sentences. A site's own class for the model may forbid more."""
        sentences = [*staff.forbidden(request.user, change)]
        if sentences or change.kind == Edit.Kind.SWITCH:
            return sentences
        of_model: Any = self.admin_site.get_model_admin(values.MODELS[change.kind])
        may_it = getattr(of_model, f"has_{staff.VERBS[Edit.Action(change.action)]}_permission")(request)
        return [] if may_it else [gettext("You may not make this change.")]

    def _restore(self, request: HttpRequest, change: Edit, reason: str) -> HttpResponse:
        restored = staff.apply(change, by=request.user, reason=reason)
        undo = format_html('<a href="{}">{}</a>', Entry(restored, "", []).url, gettext("Undo…"))
        messages.success(request, format_html("{} {}", gettext("Restored: %s.") % Entry.of(change, request.user).title, undo))
        return HttpResponseRedirect(reverse("admin:ratewindow_history_edit_changelist", request=request))


def _fingerprint(values: Any) -> str:
    """A digest by which a form knows plain values again. It is keyed, since a reader could try identities until one fits."""
    return salted_hmac("ratewindow.contrib.history", json.dumps(values, sort_keys=True), algorithm="sha256").hexdigest()


def _digest(change: Edit) -> str:
    """By which the page is known to have shown what would be done."""
    return _fingerprint([change.kind, change.subject, change.before, change.after])


@admin.action(description=_("Export selected rules"), permissions=["export"])
def export(model_admin: Any, request: HttpRequest, rules: "QuerySet[RateRule]") -> HttpResponse:
    """These rules as a file of JSON, for `import` and `apply`."""
    return HttpResponse(
        files.write(rules.prefetch_related("windows")),
        "application/json",
        headers={"Content-Disposition": 'attachment; filename="limits.json"'},
    )


def object_page(model_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse | None:
    """The history of one rule, or of one block or exemption; None for rows of other models."""
    if model_admin.model not in (RateRule, Override):
        return None
    row = model_admin.get_object(request, object_id)
    require(model_admin.has_view_or_change_permission(request, row))
    if row is None:
        return model_admin._get_obj_does_not_exist_redirect(request, model_admin.opts, object_id)  # type: ignore[no-any-return]
    kind, subject = subject_of(row)
    edits = Edit.objects.filter(kind=kind, subject=subject)[:MOST_OF_OBJECT]
    name = row.name if isinstance(row, RateRule) else row.words_for(whom(request.user, row.identity))
    context = {
        "opts": model_admin.opts,
        "list_name": model_admin.opts.verbose_name_plural,
        "list_url": reverse(f"admin:ratewindow_{model_admin.opts.model_name}_changelist", request=request),
        "object": row,  # not its text: Unfold reads its model
        "object_name": name,
        "object_url": reverse(
            f"admin:ratewindow_{'raterule_look' if kind == Edit.Kind.RULE else 'override_change'}", [row.pk], request
        ),
        "entries": [Entry.of(edit, request.user) for edit in edits],
    }
    return render_page(model_admin, request, "admin/ratewindow/history/object.html", gettext("History of %s") % name, context)


def token(row: Any, lock: bool = False) -> str:
    """A digest of the values of this row. Another row with them has another one, or a reader of masks could try values."""
    kind, subject = subject_of(row)
    return _fingerprint([kind, subject, values.read(kind, subject, database(), lock=lock)])


def check(request: HttpRequest, form: Any) -> None:
    """Add an error to the form of a row whose values are no longer those that it was opened with."""
    opened = form.data.get("opened")
    if opened and not form.instance._state.adding and token(form.instance, lock=True) != opened:
        form.add_error(None, ValidationError(_in_words(request, form.instance), code="conflict"))


def subject_of(row: Any) -> tuple[str, str]:
    return (Edit.Kind.RULE, row.name) if isinstance(row, RateRule) else (Edit.Kind.OVERRIDE, str(row.pk))


def _in_words(request: HttpRequest, row: Any) -> str:
    kind, subject = subject_of(row)
    last = Edit.objects.filter(kind=kind, subject=subject).first()
    entry = Entry.of(last, request.user) if last is not None else None
    what = f"{last.by} {entry.way}: {'; '.join(map(str, entry.lines))}".lstrip() if last and entry else "–"
    return (
        gettext("This has been changed since you opened it (%s). Nothing was saved: open the page anew to edit it as it is now.")
        % what
    )


def first_edit(rule: str, since: datetime) -> Edited | None:
    """The first edit of a rule since then, with the page that undoes it."""
    edit = Edit.objects.filter(kind=Edit.Kind.RULE, subject=rule, at__gte=since).order_by("at").first()
    return Edited(edit.at, edit.by, Entry(edit, "", []).url) if edit is not None else None


MOST_MARKS = 30  # the newest
_MOST_LINES = 3  # fields of one edit


def marks(request: HttpRequest, period: Any, rule: str) -> Iterator[Mark]:
    """The edits of rules and of the switch in a period, the oldest first; of one `rule`, or of all."""
    kinds = {*staff.viewable(request.user)} & {Edit.Kind.RULE, Edit.Kind.SWITCH}
    edits = Edit.objects.filter(kind__in=kinds, at__gte=period.start, at__lt=period.end)
    if rule:
        edits = edits.filter(Q(kind=Edit.Kind.SWITCH) | Q(subject=rule))
    for edit in edits[:MOST_MARKS][::-1]:
        entry = Entry.of(edit, request.user)
        who, what = edit.by or entry.way, edit.get_action_display().lower()
        if edit.action == Edit.Action.CHANGED:
            what = "; ".join(map(str, entry.lines[:_MOST_LINES]))
        yield Mark(edit.at, f"{who}: {edit.subject or entry.title}", f"{entry.title}: {what} ({who})", entry.url)
