"""The history in the admin: one page of all edits, one of each edit, and one at each rule and block."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import PAGE_VAR
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import few_rows, own_page
from ratewindow.admin.addresses import reverse
from ratewindow.admin.confirm_page import AskingAdmin
from ratewindow.admin.history import finding, restore_page
from ratewindow.admin.history.changes_in_words import clock
from ratewindow.admin.history.entries import entries, entry, way_in_words
from ratewindow.admin.history.rights import viewable
from ratewindow.admin.masking import whom
from ratewindow.admin.registering import register
from ratewindow.admin.wording import ago
from ratewindow.models import Edit, Override, RateRule

ON_A_PAGE = 50


class WayFilter(finding.LatelyListFilter):
    """By the ways of edits, in words."""

    def choices(self, changelist: Any) -> Any:
        return [{**choice, "display": way_in_words(str(choice["display"]))} for choice in super().choices(changelist)]


@register(Edit)
class EditAdmin(AskingAdmin):
    list_filter = ["kind", "action", ("by", finding.LatelyListFilter), ("way", WayFilter), "at"]
    list_display_links = None
    list_per_page = ON_A_PAGE
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    sortable_by = ()
    actions = None
    search_help_text = _("Search in the names of rules, in who and in why")

    class Media:
        css = {"all": ["ratewindow/rules.css", "ratewindow/history.css"]}

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("", view(self.changelist_view), name="ratewindow_edit_changelist"),
            path("", view(self.changelist_view), name="ratewindow_history"),
            path("<path:object_id>/change/", view(self.change_view), name="ratewindow_edit_change"),
            path("<int:pk>/restore/<slug:to>/", view(self.restore_view), name="ratewindow_history_restore"),
        ]

    def has_view_permission(self, request: HttpRequest, obj: Edit | None = None) -> bool:
        kinds = viewable(request)
        return bool(kinds) if obj is None else obj.kind in kinds

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Edit | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Edit | None = None) -> bool:
        return False

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Edit | None:
        """None if there is no such edit; those who may not see all of them are not told which there are."""
        edit = Edit.objects.filter(pk=object_id).first() if object_id.isdecimal() else None
        if len(viewable(request)) < len(Edit.Kind) and (edit is None or not self.has_view_permission(request, edit)):
            raise PermissionDenied
        return edit

    def get_queryset(self, request: HttpRequest) -> QuerySet[Edit]:
        edits, kinds = super().get_queryset(request), viewable(request)
        return edits if len(kinds) == len(Edit.Kind) else edits.filter(kind__in=kinds)

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        return ["by", "reason", "subject"]

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        return finding.search(queryset, search_term), False

    def get_paginator(self, request: HttpRequest, queryset: Any, per_page: int, *args: Any, **kwargs: Any) -> Any:
        return few_rows.FewPaginator(request, queryset, per_page)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return finding.NewestFirst

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Values and subjects cannot be asked for in the query string, since they have identities."""
        if lookup.partition("__")[0] in ("before", "after", "subject", "user"):
            return False
        return super().lookup_allowed(lookup, value, request)

    def get_list_display(self, request: HttpRequest) -> Any:
        @admin.display(description=_("what"))
        def what(edit: Edit) -> SafeString:
            return SafeString(render_to_string("admin/ratewindow/history/what.html", {"entry": entry(edit, request)}))

        return [when, what, who]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {"title": gettext("History"), **(extra_context or {})})

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """One edit, and the ways to restore what it changed."""
        edit = self.get_object(request, object_id)
        if edit is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[attr-defined,no-any-return]
        if request.method != "GET":
            return HttpResponseNotAllowed(["GET"])
        context = {
            **own_page.context(self, request, gettext("Edit")),
            "entry": entry(edit, request),
            "links": restore_page.links(request, edit),
            "object_url": _object_url(request, edit),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/ratewindow/history/edit.html", context)

    def restore_view(self, request: HttpRequest, pk: int, to: str) -> HttpResponse:
        edit = self.get_object(request, str(pk))
        if edit is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, str(pk))  # type: ignore[attr-defined,no-any-return]
        return restore_page.page(self, request, edit, to)


def object_page(model_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
    """The history of one rule, or of one block or exemption."""
    row = model_admin.get_object(request, object_id)
    if not model_admin.has_view_or_change_permission(request, row):
        raise PermissionDenied
    if row is None:
        return model_admin._get_obj_does_not_exist_redirect(request, model_admin.opts, object_id)  # type: ignore[no-any-return]
    is_rule = isinstance(row, RateRule)
    kinds = [Edit.Kind.RULE, Edit.Kind.RECORDING] if is_rule else [Edit.Kind.OVERRIDE]
    edits = Edit.objects.filter(kind__in=kinds, subject=row.name if is_rule else str(row.pk))
    shown = Paginator(edits, ON_A_PAGE).get_page(request.GET.get(PAGE_VAR))
    name = row.name if is_rule else row.words_for(whom(request, row.identity))
    context = {
        **model_admin.admin_site.each_context(request),
        "title": gettext("History of %s") % name,
        "app": model_admin.opts.app_config,
        "model_admin": model_admin,
        "opts": model_admin.opts,
        "list_name": model_admin.opts.verbose_name_plural,
        "list_url": reverse(f"admin:ratewindow_{model_admin.opts.model_name}_changelist"),
        "object": row,  # not its text: Unfold reads its model
        "object_name": name,
        "object_url": reverse(f"admin:ratewindow_{model_admin.opts.model_name}_change", args=[row.pk]),
        "page": shown,
        "page_var": PAGE_VAR,
        "entries": entries(shown, request),
    }
    return TemplateResponse(request, "admin/ratewindow/history/object.html", context)


def _object_url(request: HttpRequest, edit: Edit) -> str:
    """The page of what was edited, if it is there."""
    if edit.kind in (Edit.Kind.RULE, Edit.Kind.RECORDING):
        row: Any = RateRule.objects.filter(name=edit.subject).first()
    elif edit.kind == Edit.Kind.OVERRIDE:
        row = Override.objects.get_queryset().filter(pk=edit.subject).first()
    else:
        return ""
    return reverse(f"admin:ratewindow_{row._meta.model_name}_change", args=[row.pk]) if row is not None else ""


@admin.display(description=_("when"))
def when(edit: Edit) -> SafeString:
    url = reverse("admin:ratewindow_edit_change", args=[edit.pk])
    return format_html('<a href="{}" title="{}">{}</a>', url, clock(edit.at), ago(edit.at))


@admin.display(description=_("who and why"))
def who(edit: Edit) -> SafeString:
    return format_html(
        '<strong class="rw-who">{}</strong> <span class="rw-sentence">{}</span> {}', edit.by, way_in_words(edit.way), edit.reason
    )
