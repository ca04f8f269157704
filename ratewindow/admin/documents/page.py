"""The pages that export rules, blocks and the switch to a file, and import one after a preview of what it changes."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.http import content_disposition_header
from django.utils.safestring import SafeString
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import own_page
from ratewindow.admin.addresses import reverse
from ratewindow.admin.confirm_page import changes_nothing
from ratewindow.admin.documents.rights import forbidden, may_export, may_import, readable
from ratewindow.admin.history import restore_page
from ratewindow.admin.history.changes_in_words import kind_in_words, shown
from ratewindow.admin.history.rights import viewable
from ratewindow.admin.masking import fingerprint, may_look_up
from ratewindow.admin.recorded import WHY
from ratewindow.models import Edit, Override, RateRule
from ratewindow.operations.documents import applying, text
from ratewindow.operations.documents.differences import ADDED, CHANGED, REMOVED, RULE, Change
from ratewindow.operations.documents.parsing import DocumentError
from ratewindow.operations.documents.site import Document, check, site
from ratewindow.reporting.summary import number

MOST_BYTES = 512 * 1024  # of a file
MOST_NODES = 20_000  # keys and values of YAML, which take half a second to read; JSON is read at once
MOST_ROWS = 2_000  # rules, limits, blocks and exemptions in a file, each of which is checked as by its form
MOST_OVERRIDES = 10_000  # in a file of YAML, which takes seconds to write
_LIST = "admin:ratewindow_raterule_changelist"
_SALT = "ratewindow.import"
_SHOWN_S = 3600  # how long a preview can be confirmed
_TYPES = {text.YAML: "application/yaml", text.JSON: "application/json"}


def urls(model_admin: Any) -> list[URLPattern]:
    view = model_admin.admin_site.admin_view
    return [
        path("export/", changes_nothing(view(partial(export_page, model_admin))), name="ratewindow_raterule_export"),
        path("import/", view(partial(import_page, model_admin)), name="ratewindow_raterule_import"),
    ]


class ExportForm(forms.Form):
    syntax = forms.ChoiceField(label=_("Format"), choices=[(text.YAML, "YAML"), (text.JSON, "JSON")], widget=forms.RadioSelect)
    sections = forms.MultipleChoiceField(label=_("What"), widget=forms.CheckboxSelectMultiple)
    rule = forms.ModelMultipleChoiceField(
        RateRule.objects.all(), to_field_name="name", required=False, widget=forms.MultipleHiddenInput
    )

    def __init__(self, request: HttpRequest, data: Any, names: Sequence[str]) -> None:
        sections = [("rules", gettext("Rules"))]
        if not names:
            sections += [("overrides", gettext("Blocks and exemptions"))] if may_look_up(request) else []
            sections += [("switch", gettext("Whether limits are switched off"))]
        choices = [*text.installed()]
        super().__init__(data, initial={"syntax": choices[0], "sections": ["rules"], "rule": names})
        self.fields["syntax"].choices = [(each, each.upper()) for each in choices]  # type: ignore[attr-defined]
        self.fields["sections"].choices = sections  # type: ignore[attr-defined]

    def clean_sections(self) -> list[str]:
        sections: list[str] = self.cleaned_data["sections"]
        if "overrides" in sections and (count := Override.objects.count()) > MOST_OVERRIDES:
            problem = gettext(
                "There are %(count)s blocks and exemptions, and at most %(most)s can be exported here. Use manage.py ratewindow "
                "export."
            )
            raise forms.ValidationError(problem % {"count": number(count), "most": number(MOST_OVERRIDES)})
        return sections


def export_page(model_admin: Any, request: HttpRequest, names: Sequence[str] = ()) -> HttpResponse:
    """The form, with `names` only for these rules, and the file."""
    if not may_export(model_admin, request):
        raise PermissionDenied
    is_sent = request.method == "POST" and "syntax" in request.POST
    names = names or request.POST.getlist("rule")
    form = ExportForm(request, request.POST if is_sent else None, names)
    if is_sent and form.is_valid():
        return _file(form.cleaned_data["sections"], form.cleaned_data["syntax"], names)
    context = {
        "form": form,
        "names": names,
        "action": reverse("admin:ratewindow_raterule_export"),
        "overrides_left_out": not names and not may_look_up(request),
        "without_yaml": text.YAML not in text.installed(),
    }
    return _page(model_admin, request, gettext("Export"), "export", context)


def _file(sections: Sequence[str], syntax: str, names: Sequence[str]) -> HttpResponse:
    document = site(sections, names or None)
    name = f"{names[0]}.{syntax}" if len(names) == 1 else f"limits.{syntax}"
    disposition = content_disposition_header(True, name) or "attachment"
    return HttpResponse(text.to_bytes(document, syntax), _TYPES[syntax], headers={"Content-Disposition": disposition})


@admin.action(description=_("Export selected rules"), permissions=["export"])
def export(model_admin: Any, request: HttpRequest, rules: "QuerySet[RateRule]") -> HttpResponse:
    return export_page(model_admin, request, list(rules.values_list("name", flat=True)))


class ImportForm(forms.Form):
    file = forms.FileField(
        label=_("File"),
        required=False,
        help_text=format_lazy(_("YAML or JSON, at most {size} kB."), size=MOST_BYTES // 1024),
    )
    pasted = forms.CharField(
        label=_("Or paste it here"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 12, "class": "vLargeTextField"}),
    )
    exact = forms.BooleanField(
        label=_("Delete what the file does not have"),
        required=False,
        help_text=_("In the sections that the file has. Otherwise what it does not have stays."),
    )

    def clean(self) -> dict[str, Any]:
        """Read the document to `document`."""
        cleaned = super().clean() or {}
        file, pasted = cleaned.get("file"), cleaned.get("pasted", "")
        if self.errors:
            return cleaned
        if (file is None) == (not pasted.strip()):
            raise forms.ValidationError(gettext("Choose a file, or paste its text: one of the two."))
        size = len(pasted.encode()) if file is None else file.size
        if size > MOST_BYTES:
            problem = gettext(
                "This has %(size)s bytes, and at most %(most)s can be imported here. For a longer one: manage.py ratewindow "
                "import FILE."
            )
            raise forms.ValidationError(problem % {"size": number(size), "most": number(MOST_BYTES)})
        try:
            self.document = text.from_bytes(pasted.encode() if file is None else file.read(), MOST_NODES)
            check(self.document)
        except text.NoYaml as error:
            raise forms.ValidationError(str(error)) from None
        except DocumentError as error:
            raise forms.ValidationError(list(error.problems)) from None
        if (rows := _rows(self.document)) > MOST_ROWS:
            problem = gettext(
                "This has %(rows)s rules, limits, blocks and exemptions, and at most %(most)s can be imported here. For more: "
                "manage.py ratewindow import FILE."
            )
            raise forms.ValidationError(problem % {"rows": number(rows), "most": number(MOST_ROWS)})
        return cleaned


def _rows(document: Document) -> int:
    """How many rules, limits, blocks and exemptions it lists."""
    rows = [row for section in ("rules", "overrides") for row in document.get(section, ())]
    limits = [row["limits"] for row in rows if isinstance(row, dict) and isinstance(row.get("limits"), list)]
    return len(rows) + sum(map(len, limits))


def import_page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    """The form; then what would change; then, once that is confirmed, the list with what has changed."""
    if not may_import(model_admin, request):
        raise PermissionDenied
    if "document" in request.POST:
        try:
            return _confirmed(model_admin, request)
        except DocumentError as error:  # the site has changed, and with it what is valid
            messages.error(request, gettext("Nothing was imported: %s") % error)
            return HttpResponseRedirect(request.path)
    form = ImportForm(*((request.POST, request.FILES) if request.method == "POST" else ()))
    if not model_admin.has_delete_permission(request):
        del form.fields["exact"]
    if form.is_valid():
        try:
            return _preview(model_admin, request, form.document, form.cleaned_data.get("exact", False))
        except DocumentError as error:
            form.add_error(None, list(error.problems))
    return _page(model_admin, request, gettext("Import"), "import", {"form": form})


def _preview(model_admin: Any, request: HttpRequest, document: Document, exact: bool) -> HttpResponse:
    """What would change, and a form that sends the same document again. Raises DocumentError."""
    changes = applying.preview(readable(request, document), exact=exact)
    kinds = viewable(request)
    visible = [change for change in changes if change.what in kinds]
    context = {
        "changes": shown(request, visible),
        "counts": [(kind_in_words(kind), sum(change.kind == kind for change in visible)) for kind in (ADDED, CHANGED, REMOVED)],
        "forbidden": forbidden(request, document, changes),
        "document": signing.dumps([document, exact, _digest(changes), str(request.user.pk)], salt=_SALT, compress=True),
        "why": request.POST.get(WHY, ""),
    }
    return _page(model_admin, request, gettext("Import: what would change"), "import_preview", context)


def _confirmed(model_admin: Any, request: HttpRequest) -> HttpResponse:
    try:
        document, exact, digest, user = signing.loads(request.POST["document"], salt=_SALT, max_age=_SHOWN_S)
    except signing.BadSignature:
        messages.error(request, gettext("This preview is more than an hour old, or was cut short. Import the file again."))
        return HttpResponseRedirect(request.path)
    if user != str(request.user.pk):
        raise PermissionDenied
    changes = applying.preview(readable(request, document), exact=exact)
    if forbidden(request, document, changes):
        raise PermissionDenied
    if _digest(changes) == digest:
        author = applying.Author("admin", request.user, request.user.get_username())
        with suppress(applying.SiteChanged):
            applying.apply(document, exact=exact, author=author, expected=changes)
            return _done(model_admin, request, changes)
    sentence = gettext("Somebody has edited the site since this preview, so nothing was imported. Look at the new one.")
    messages.warning(request, sentence)
    return _preview(model_admin, request, document, exact)


def _done(model_admin: Any, request: HttpRequest, changes: Sequence[Change]) -> HttpResponse:
    kept = {change.name: change for change in changes if change.what == RULE and change.kind != REMOVED}
    for rule in RateRule.objects.filter(name__in=kept):
        log = model_admin.log_addition if kept[rule.name].kind == ADDED else model_admin.log_change
        log(request, rule, "Imported.")
    found = Counter(change.kind for change in changes)
    values = {"added": number(found[ADDED]), "changed": number(found[CHANGED]), "removed": number(found[REMOVED])}
    sentence = gettext("Imported: %(added)s added, %(changed)s changed, %(removed)s removed.") % values
    messages.success(request, format_html("{} {}", sentence, _undo(request, changes)))
    return HttpResponseRedirect(reverse(_LIST))


def _undo(request: HttpRequest, changes: Sequence[Change]) -> SafeString:
    """A link to the preview of the way back."""
    user: Any = request.user
    last = Edit.objects.filter(user=user).first()
    if last is None:
        return SafeString("")
    state = restore_page.BEFORE if len(changes) == 1 else restore_page.ALL_BEFORE
    return format_html(
        '<a href="{}">{}</a>', reverse("admin:ratewindow_history_restore", args=[last.pk, state]), gettext("Undo…")
    )


def _digest(changes: Sequence[Change]) -> str:
    """A digest by which a preview is known to be still true."""
    return fingerprint([(change.what, change.before, change.after) for change in changes])


def _page(model_admin: Any, request: HttpRequest, title: str, template: str, context: dict[str, Any]) -> HttpResponse:
    common = {
        **own_page.context(model_admin, request, title),
    }
    return TemplateResponse(request, f"admin/ratewindow/raterule/{template}.html", {**common, **context})
