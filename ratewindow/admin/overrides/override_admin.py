"""Blocks and exemptions in the admin: their list, their form, and the pages beside them."""

from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _

from ratewindow.admin.addresses import reverse
from ratewindow.admin.confirm_page import AskingAdmin
from ratewindow.admin.history.edit_admin import object_page
from ratewindow.admin.masking import may_look_up, may_see
from ratewindow.admin.overrides import around_form, changelist, ends, order, quick, release_page, search, twice, who
from ratewindow.admin.overrides.form import OverrideForm
from ratewindow.admin.registering import register
from ratewindow.models import Override
from ratewindow.operations.override_notes import notes


@register(Override)
class OverrideAdmin(AskingAdmin):
    form = OverrideForm
    list_filter = [order.StateFilter, "action"]
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # counting a million rows once for each choice is slow
    actions = [ends.end_now, ends.extend]
    radio_fields = {"action": admin.VERTICAL}
    fieldsets = [
        (None, {"fields": ["action", "identity", "reason"]}),
        (_("Rule and rate"), {"fields": ["rule", "rate"]}),
        (_("When"), {"fields": ["lasts", "expires_at", "starts_at"]}),
    ]

    class Media:
        css = {"all": ["ratewindow/rules.css", "ratewindow/overrides.css"]}
        js = ["ratewindow/overrides.js"]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("release/", view(partial(release_page.page, self)), name="ratewindow_override_release"),
            path("undo/", view(partial(ends.undo, self)), name="ratewindow_override_undo"),
            path("<int:pk>/end/", view(self._button(ends.end_now)), name="ratewindow_override_end"),
            path("<int:pk>/extend/", view(self._button(ends.extend)), name="ratewindow_override_extend"),
            *super().get_urls(),
        ]

    def has_delete_permission(self, request: HttpRequest, obj: Override | None = None) -> bool:
        """The page that asks before it deletes says what it deletes."""
        return super().has_delete_permission(request, obj) and self.has_view_or_change_permission(request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Whom they are for: their own texts are numbers."""
        _, *others = super().get_deleted_objects(objs, request)
        return [around_form.in_words(request, each) for each in objs], *others

    def _button(self, action: Any) -> Any:
        return partial(ends.act_on_one, self, action)

    def get_model_perms(self, request: HttpRequest) -> dict[str, bool]:
        """Staff who may only release clients see the model in the index, too."""
        perms = super().get_model_perms(request)
        return {**perms, "view": perms["view"] or release_page.may_release(request)}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        may_look = self.has_view_or_change_permission(request)
        if request.method == "GET" and not may_look and release_page.may_release(request):
            return HttpResponseRedirect(reverse("admin:ratewindow_override_release"))
        form = None
        if may_look and self.has_add_permission(request):
            form = quick.form_for(request)
            if form.is_valid():
                return quick.save(self, request, form)
        elif quick.SUBMIT in request.POST:
            raise PermissionDenied
        in_force = order.counts(request).sentences() if self.has_view_or_change_permission(request) else []
        return super().changelist_view(request, {"quick_form": form, "in_force": in_force, **(extra_context or {})})

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return order.InForceFirst

    def get_paginator(self, request: HttpRequest, queryset: Any, per_page: int, *args: Any, **kwargs: Any) -> Any:
        return order.OverridePaginator(request, queryset, per_page)

    def get_list_display(self, request: HttpRequest) -> Any:
        quick = [changelist.quick] if self.has_change_permission(request) else []
        return [changelist.action_badge, changelist.row(request), changelist.until, *quick]

    def get_list_display_links(self, request: HttpRequest, list_display: Any) -> Any:
        return [changelist.row(request)]

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        """Identities can be searched only by staff who may see them."""
        return ["rule", "reason", *(["identity"] if may_see(request) else [])]

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        return search.search(queryset, search_term, may_see(request)) if search_term else queryset, False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Nor can others filter by them in the query string."""
        if lookup.partition("__")[0] == "identity" and not may_see(request):
            return False
        return super().lookup_allowed(lookup, value, request)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """`duration`, as in links to this form, is the field `lasts`."""
        given = super().get_changeform_initial_data(request)
        lasts = {"lasts": given.pop("duration")} if "duration" in given else {}
        return {"action": Override.Action.BLOCK, **given, **lasts}

    def get_readonly_fields(self, request: HttpRequest, obj: Override | None = None) -> Any:
        return [] if obj is None else [changelist.who(request), changelist.made_by]

    def get_fieldsets(self, request: HttpRequest, obj: Override | None = None) -> Any:
        (name, __), *others = self.fieldsets
        if obj is None:
            user = ["user"] if who.may_search_users(request) else []
            return [(name, {"fields": ["action", "identity", *user, "group", "reason"]}), *others]
        if not self.has_change_permission(request, obj):
            others = [(title, {"fields": [each for each in part["fields"] if each != "lasts"]}) for title, part in others]
        return [(name, {"fields": ["action", changelist.who(request), "reason", changelist.made_by]}), *others]

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        return object_page(self, request, object_id)

    def get_form(self, request: HttpRequest, obj: Override | None = None, change: bool = False, **kwargs: Any) -> Any:
        named: dict[str, Any] = {} if obj is not None else {"group": who.group_field()}
        if obj is None and who.may_search_users(request):
            named["user"] = who.user_field()
        form = type(self.form.__name__, (self.form,), {"request": request, **named})
        return super().get_form(request, obj, change=change, **{"form": form, **kwargs})

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except twice.ExtendInstead as chosen:  # the transaction of the new one has been rolled back
            return ends.extend_instead(self, request, chosen.first, chosen.end)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> HttpResponse:
        override = kwargs.get("obj")
        if override is not None:
            context.update(around_form.of_override(self, request, override))
        return super().render_change_form(request, context, *args, **kwargs)

    def response_add(self, request: HttpRequest, obj: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        return super().response_add(request, around_form.Shown(request, obj), *args, **kwargs)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return super().response_change(request, around_form.Shown(request, obj))

    def save_model(self, request: HttpRequest, obj: Override, form: Any, change: bool) -> None:
        if form.extends is not None:
            raise twice.ExtendInstead(form.extends, obj.expires_at)
        if not change:
            obj.source = "admin"
        identity = obj.identity  # as typed: saving may replace it by a hash
        super().save_model(request, obj, form, change)
        named = identity if may_see(request) or not change else ""  # notes quote it
        for note in notes(obj, named, of_others=may_look_up(request)):
            messages.warning(request, note)
