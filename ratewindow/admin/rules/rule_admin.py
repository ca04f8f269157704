"""The rules in the admin: a list that describes each in a sentence, and their form with a preview of what the rule amounts to."""

from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.forms import Script
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.http import require_POST

from ratewindow import rooms
from ratewindow.admin.base import RecordedAdmin, edits_no_rule, register, reverse, why_fieldsets
from ratewindow.admin.rights import may_enforce
from ratewindow.admin.rules import (
    new_rules,
    rollout,
)
from ratewindow.admin.rules.form import RuleForm, RuleWindowInline
from ratewindow.admin.wording import mode_in_words, sentence, short_sentence
from ratewindow.conf.in_words import translated
from ratewindow.limiter.types import Window
from ratewindow.models import RateRule
from ratewindow.rulebook import reading
from ratewindow.rules.site_routes import doubts, matched_by, routes

PREVIEW = "ratewindow_raterule_preview"
_UNNAMED = "unnamed"  # of a rule that has no name yet
_UNSAID = {"name", "description", "mode", "why"}  # what is wrong with these does not change what a rule amounts to


def preview_page(model_admin: Any, request: HttpRequest, pk: int | None = None) -> HttpResponse:
    """The preview of the form that the browser sends, as a part of a page. It saves nothing."""
    stored = get_object_or_404(model_admin.get_queryset(request), pk=pk) if pk is not None else None
    if not (model_admin.has_add_permission(request) if stored is None else model_admin.has_change_permission(request, stored)):
        raise PermissionDenied
    form = model_admin.get_form(request, stored, change=stored is not None)(request.POST, instance=stored)
    formsets, _ = model_admin._create_formsets(request, form.instance, change=stored is not None)
    return render(request, "admin/ratewindow/raterule/preview.html", {"preview": preview_of(form, formsets)})


def preview_of(form: Any, formsets: Sequence[Any]) -> dict[str, Any] | None:
    """The preview of what the form says, None while that is too little; of the saved rule, if the form was not sent."""
    if not form.is_bound:
        return _preview_of_row(form.instance) if form.instance.pk else None
    if form.errors.keys() - _UNSAID or not all(formset.is_valid() for formset in formsets):
        return None
    limits = [limit for formset in formsets for limit in formset.forms if limit not in formset.deleted_forms]
    return _preview_of_row(form.instance, [limit.instance.freeze() for limit in limits if limit.instance.period])


def _preview_of_row(row: RateRule, windows: Sequence[Window] | None = None) -> dict[str, Any]:
    """The preview of a row with these windows, or with those saved."""
    said, named = sentence(row, windows), copy(row)
    named.name = row.name or _UNNAMED
    try:
        rule = reading.freeze(named, None if windows is None else tuple(windows))
    except ValueError as error:  # written by raw SQL
        return {"sentence": said, "warnings": [gettext("%s.") % translated(error)]}
    warnings = [f"{doubt.text} {doubt.remedy}" for doubt in doubts(rule)]
    if row.pk and (problem := reading.problem_of(row.name)):
        warnings.append(gettext("As it is saved, this rule %s.") % problem)
    total = 0 if rule.applies_to == "named" else len(routes())
    return {"sentence": said, "matches": [route.label for route in matched_by(rule)], "total": total, "warnings": warnings}


COUNTING = _("Counting")  # the first of the fieldsets below the limits
_UNFILTERED = {"o", "p", "all"}  # query parameters that hide no rule


@register(RateRule)
class RateRuleAdmin(RecordedAdmin):
    form = RuleForm
    list_display = ["mode_badge", "name_and_sentence"]
    list_display_links = ["name_and_sentence"]
    list_filter = ["mode", "applies_to"]
    search_fields = ["name", "description", "pattern"]
    inlines = [RuleWindowInline]
    radio_fields = {"mode": admin.VERTICAL}
    save_as = True
    fieldsets = [
        (None, {"fields": ["name", "mode", "enforce_percent", "description"]}),
        (_("What"), {"fields": ["applies_to", "pattern", "methods"]}),
        (_("Who"), {"fields": ["key", "on_missing", "normalise"]}),
        (COUNTING, {"classes": ["collapse"], "fields": ["cost", "count_when", "hold", "count_refused"]}),
        (_("When refused"), {"classes": ["collapse"], "fields": ["penalty", "response_status", "message", "on_error"]}),
    ]
    search_help_text = _("Search in name, description and pattern")

    class Media:
        css = {"all": [f"ratewindow/{name}.css" for name in ("rules", "rollout", "rule_form", "ready", "preview")]}
        js = ["ratewindow/rule_form.js", Script("ratewindow/preview.js", defer=True)]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        shown = edits_no_rule(view(require_POST(partial(preview_page, self))))
        return [
            path("preview/", shown, name=PREVIEW),
            path("<int:pk>/preview/", shown, name=PREVIEW),
            path("<int:pk>/mode/", view(require_POST(partial(rollout.press, self))), name="ratewindow_raterule_mode"),
            path("ready/", view(partial(new_rules.ready_page, self)), name="ratewindow_raterule_ready"),
            *(url for room in rooms.installed() for url in room.urls(self)),
            *super().get_urls(),
        ]

    @property
    def actions(self) -> list[Any]:  # type: ignore[override]
        """Also those of rooms: the apps are not all there when this class is made."""
        return [
            *rollout.ACTIONS,
            *(each for room in rooms.installed() for each in room.rule_actions()),
        ]

    def get_list_display(self, request: HttpRequest) -> Any:
        return [*self.list_display, rollout.last_hour_column(request)]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        may_add, unfiltered = self.has_add_permission(request), request.GET.keys() <= _UNFILTERED
        shows_code = unfiltered and self.has_view_or_change_permission(request)
        context = {
            "in_code": [*new_rules.in_code(request)] if shows_code else [],
            "may_add": may_add,
            "ready": new_rules.ready() if may_add and unfiltered and not RateRule.objects.exists() else [],
            "links": [link for room in rooms.installed() for link in room.rule_links(self, request)],
        }
        return super().changelist_view(request, {**context, **(extra_context or {})})

    def get_formset_kwargs(self, request: HttpRequest, obj: Any, inline: Any, prefix: str) -> dict[str, Any]:
        """The form of a new rule may begin with limits."""
        options = super().get_formset_kwargs(request, obj, inline, prefix)
        return {**options, "initial": new_rules.limits(request)} if obj is None or obj.pk is None else options

    def get_inline_formsets(self, request: HttpRequest, formsets: Any, *args: Any, **kwargs: Any) -> Any:
        new_rules.fill_in(request, formsets)
        return super().get_inline_formsets(request, formsets, *args, **kwargs)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> HttpResponse:
        """Place the limits before the fieldset COUNTING, except under Jazzmin, which has tabs."""
        limits_before = "" if apps.is_installed("jazzmin") else COUNTING
        rule = kwargs.get("obj")
        context |= {
            "limits_before": limits_before,
            "rollout": rollout.box(self, request, rule) if rule else None,
            "is_blank": request.method == "GET" and not request.GET,
            "links": [link for room in rooms.installed() for link in room.rule_links(self, request, rule)] if rule else [],
        }
        if self.has_change_permission(request, rule) if rule else self.has_add_permission(request):
            context["preview_url"] = reverse(f"admin:{PREVIEW}", [rule.pk] if rule else [], request)
        formsets = [inline.formset for inline in context["inline_admin_formsets"]]
        context["preview"] = preview_of(context["adminform"].form, formsets)
        return super().render_change_form(request, context, *args, **kwargs)

    def get_queryset(self, request: HttpRequest) -> QuerySet[RateRule]:
        return super().get_queryset(request).prefetch_related("windows")

    def get_readonly_fields(self, request: HttpRequest, obj: RateRule | None = None) -> list[str]:
        return [] if obj is None else ["name"]

    def get_fieldsets(self, request: HttpRequest, obj: RateRule | None = None) -> Any:
        """A new rule is saved in shadow or enforced by its two buttons."""
        first, *others = super().get_fieldsets(request, obj)
        if obj is None:
            return [(None, {"fields": ["name", "description"]}), *others, *why_fieldsets()]
        return [first, *others, *(why_fieldsets() if self.has_change_permission(request, obj) else [])]

    @admin.display(description=_("mode"), ordering="mode")
    def mode_badge(self, rule: RateRule) -> SafeString:
        return format_html('<span class="rw-mode rw-mode-{}">{}</span>', rule.mode, mode_in_words(rule))

    @admin.display(description=_("rule"), ordering="name")
    def name_and_sentence(self, rule: RateRule) -> SafeString:
        problem = reading.problem_of(rule.name)
        left_out = (
            format_html(' <span class="errornote rw-left-out">{}</span>', gettext("This rule %s.") % problem) if problem else ""
        )
        return format_html('<strong>{}</strong> <span class="rw-sentence">{}</span>{}', rule.name, short_sentence(rule), left_out)

    def has_enforce_permission(self, request: HttpRequest) -> bool:
        return self.has_change_permission(request) and may_enforce(request)

    def has_export_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("ratewindow.export_throttlestat")
