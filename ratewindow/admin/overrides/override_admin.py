"""Blocks and exemptions in the admin: their list, their form, and the buttons and pages beside them."""

from contextlib import suppress
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.db import models, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.http import require_POST

from ratewindow.admin.base import RecordedAdmin, register, reverse
from ratewindow.admin.overrides import client
from ratewindow.admin.overrides.form import OverrideForm, QuickForm
from ratewindow.admin.wording import made_by
from ratewindow.conf import in_words, time_zone
from ratewindow.models import Override
from ratewindow.operations.rights import may, may_see, require, whom
from ratewindow.overrides.subjects import as_subject, parse_subject

_ACTIONS = {"allow": _("Exempt"), "block": _("Block"), "rate": _("Rate")}


@admin.display(description=_("action"), ordering="action")
def action_badge(override: Override) -> SafeString:
    return format_html(
        '<span class="rw-mode rw-{} rw-{}">{}</span>',
        override.action,
        override.state.replace(" ", "-"),
        override.rate if override.action == "rate" else _ACTIONS.get(override.action, override.action),
    )


def row(request: HttpRequest) -> Any:
    """The column of who it is for and why, as this user may see it; who sees masks could learn from an order by identities."""

    @admin.display(description=_("who"), ordering="identity" if may_see(request.user) else None)
    def row(override: Override) -> SafeString:
        rule = gettext("rule %s") % override.rule if override.rule else gettext("all rules")
        details = " · ".join(filter(None, [rule, override.reason, made_by(override)]))
        return format_html(
            '<strong class="rw-who">{}</strong> <span class="rw-sentence">{}</span>',
            whom(request.user, override.identity),
            details,
        )

    return row


@admin.display(description=_("until"), ordering="expires_at")
def until(override: Override) -> str:
    if override.expires_at and override.state == "ended":
        return gettext("ended %s") % time_zone.in_short(override.expires_at)
    if override.starts_at and override.state == "waiting":
        return in_words.listed([gettext("from %s") % time_zone.in_short(override.starts_at), override.until()])
    return override.until()


@admin.display(description=_("end"))
def end_button(override: Override) -> SafeString:
    """A button that submits the form around the list, with its CSRF token, to its own URL, which is relative to the list's."""
    if override.state == "ended":
        return SafeString('<span class="rw-quick"></span>')  # Django shows a dash for an empty string
    return format_html(
        '<span class="rw-quick"><button type="submit" class="button" formaction="{}">{}</button></span>',
        f"{override.pk}/end/",
        gettext("End now"),
    )


@admin.action(description=_("End selected ones now"), permissions=["change"])
def end_now(model_admin: Any, request: HttpRequest, overrides: Any) -> None:
    with transaction.atomic():
        ended = overrides.end()
        for override in ended:
            model_admin.log_change(request, override, [{"changed": {"fields": ["until"]}}])
    if ended:
        messages.success(request, gettext("Ended: %s.") % in_words.some_of(whom(request.user, each.identity) for each in ended))
    else:
        messages.info(request, gettext("Nothing to end: they have already ended."))


@register(Override)
class OverrideAdmin(RecordedAdmin):
    form = OverrideForm
    list_filter = ["action"]
    list_select_related = ["created_by"]
    # What has ended comes last, and an index has them in this order.
    ordering = [models.F("expires_at").desc(nulls_first=True), "-pk"]
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # counting a million rows once for each choice is slow
    actions = [end_now]
    radio_fields = {"action": admin.VERTICAL}
    readonly_fields = [made_by]  # type: ignore[list-item]  # the stubs accept only str

    class Media:
        css = {"all": ["ratewindow/rules.css", "ratewindow/overrides.css"]}
        js = ["ratewindow/overrides.js"]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("release/", view(partial(client.release_page, self)), name="ratewindow_override_release"),
            path("<int:pk>/end/", view(require_POST(self.end_view)), name="ratewindow_override_end"),
            *super().get_urls(),
        ]

    def end_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The handler of the button *End now*."""
        require(self.has_change_permission(request))
        end_now(self, request, Override.objects.get_queryset().filter(pk=pk))
        return HttpResponseRedirect(reverse(client.LIST, request=request))

    def has_delete_permission(self, request: HttpRequest, obj: Override | None = None) -> bool:
        """The page that asks before it deletes says what it deletes."""
        return super().has_delete_permission(request, obj) and self.has_view_or_change_permission(request, obj)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Whom they are for: their own texts are numbers."""
        _, *others = super().get_deleted_objects(objs, request)
        return [each.words_for(whom(request.user, each.identity)) for each in objs], *others

    def get_model_perms(self, request: HttpRequest) -> dict[str, bool]:
        """Staff who may only release clients see the model in the index, too."""
        perms = super().get_model_perms(request)
        return {**perms, "view": perms["view"] or may(request.user, "release_identity")}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if request.method == "GET" and not self.has_view_or_change_permission(request) and may(request.user, "release_identity"):
            return HttpResponseRedirect(reverse(client.RELEASE, request=request))
        form = QuickForm() if self.has_add_permission(request) else None
        return super().changelist_view(request, {"quick_form": form, **(extra_context or {})})

    def get_list_display(self, request: HttpRequest) -> Any:
        return [action_badge, row(request), until, *([end_button] if self.has_change_permission(request) else [])]

    def get_list_display_links(self, request: HttpRequest, list_display: Any) -> Any:
        return [list_display[1]]

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        """Identities can be searched only by staff who may see them."""
        return ["rule", "reason", *(["identity"] if may_see(request.user) else [])]

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Those for exactly the client that is typed, as requests are matched; else those that have the words."""
        if search_term and may_see(request.user):
            with suppress(ValueError):
                exact = queryset.naming(parse_subject(as_subject(search_term, find_users=False)))
                if exact.exists():
                    return exact, False
        return super().get_search_results(request, queryset, search_term)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Nor can others filter by them in the query string."""
        if lookup.partition("__")[0] == "identity" and not may_see(request.user):
            return False
        return super().lookup_allowed(lookup, value, request)

    def get_fieldsets(self, request: HttpRequest, obj: Override | None = None) -> Any:
        fixed = ["identity", "action", "reason"] if obj is None else ["action", "reason", made_by]
        lasts = ["lasts"] if obj is None or self.has_change_permission(request, obj) else []
        return [(None, {"fields": [*fixed, "rule", "rate", *lasts, "expires_at", "starts_at"]})]

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> HttpResponse:
        override = kwargs.get("obj")
        if override is not None:
            context["subtitle"] = override.words_for(whom(request.user, override.identity))
            context["links"] = client.of_client(request, override.identity, override.rule) if may_see(request.user) else []
        elif (action := request.GET.get("action")) in Override.Action.values:  # reached from a client
            context["title"] = Override.Action(action).label
        return super().render_change_form(request, context, *args, **kwargs)

    def response_add(self, request: HttpRequest, obj: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        obj.named = obj.words_for(whom(request.user, obj.identity))  # its number would tell how many there are
        return super().response_add(request, obj, *args, **kwargs)

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        obj.named = obj.words_for(whom(request.user, obj.identity))
        return super().response_change(request, obj)

    def save_model(self, request: HttpRequest, obj: Override, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if note := obj.unknown_name():
            messages.warning(request, note)
