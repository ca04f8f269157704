"""The rules in the admin: a list that describes each in a sentence, a page to look at each, and their form with its preview."""

from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.forms import Script
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.module_loading import import_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.http import require_POST

from ratewindow import rooms
from ratewindow.admin.base import WHY, RecordedAdmin, edits_no_rule, register, render_page, reverse
from ratewindow.admin.overrides.override_admin import until
from ratewindow.admin.report import page as report
from ratewindow.admin.rules import new_rules, proposals, rollout
from ratewindow.admin.rules.form import RuleForm, RuleWindowInline
from ratewindow.admin.wording import mode_in_words, sentence, short_sentence
from ratewindow.conf import in_words, time_zone
from ratewindow.limiter.types import Window
from ratewindow.models import Override, RateRule, origin
from ratewindow.operations.rights import may, require, whom
from ratewindow.report.report import last
from ratewindow.rulebook import reading
from ratewindow.rules.site_routes import doubts, matched_by, routes

PREVIEW = "ratewindow_raterule_preview"
_UNSAID = {"name", "description", "why"}  # what is wrong with these does not change what a rule amounts to


def preview_page(model_admin: Any, request: HttpRequest, pk: int | None = None) -> HttpResponse:
    """The preview of the form that the browser sends, as a part of a page. It saves nothing."""
    stored = get_object_or_404(model_admin.get_queryset(request), pk=pk) if pk is not None else None
    require(model_admin.has_add_permission(request) if stored is None else model_admin.has_change_permission(request, stored))
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
    named.name = row.name or "unnamed"
    try:
        rule = reading.freeze(named, None if windows is None else tuple(windows))
    except ValueError as error:  # written by raw SQL
        return {"sentence": said, "warnings": [gettext("%s.") % in_words.translated(error)]}
    warnings = [f"{doubt.text} {doubt.remedy}" for doubt in doubts(rule)]
    if row.pk and (problem := reading.problem_of(row.name)):
        warnings.append(gettext("The saved version of this rule %s.") % problem)
    return {
        "sentence": said,
        "matches": [route.label for route in matched_by(rule)],
        "total": 0 if rule.applies_to in ("named", *rooms.targets()) else len(routes()),
        "warnings": warnings,
    }


COUNTING = _("Counting")  # the first of the fieldsets below the limits
MOST_OVERRIDES = 20  # on the page of a rule
_UNFILTERED = {"o", "p", "all"}  # query parameters that hide no rule


@register(RateRule)
class RateRuleAdmin(RecordedAdmin):
    form = RuleForm
    list_display_links = None  # the name leads to the page of the rule
    list_filter = ["mode", "applies_to"]
    search_fields = ["name", "description", "pattern"]
    inlines = [RuleWindowInline]
    save_as = True
    fieldsets = [
        (None, {"fields": ["name", "description"]}),
        (_("What"), {"fields": ["applies_to", "pattern", "methods"]}),
        (_("Who"), {"fields": ["key", "on_missing", "normalise", "limits_from"]}),
        (COUNTING, {"classes": ["collapse"], "fields": ["cost", "count_when", "hold", "forgive", "count_refused"]}),
        (
            _("When refused"),
            {"classes": ["collapse"], "fields": ["soft", "enforce_percent", "penalty", "response_status", "message", "on_error"]},
        ),
    ]
    search_help_text = _("Search in name, description and pattern")

    class Media:
        css = {"all": [f"ratewindow/{name}.css" for name in ("rules", "rollout", "rule_form", "ready", "preview")]}
        js = ["ratewindow/rule_form.js", Script("ratewindow/preview.js", defer=True)]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        shown = edits_no_rule(view(require_POST(partial(preview_page, self))))
        of_rooms = [(name, partial(import_string(page), self)) for room in rooms.installed() for name, page in room.pages.items()]
        return [
            path("preview/", shown, name=PREVIEW),
            path("<int:pk>/", view(self.look_view), name="ratewindow_raterule_look"),
            path("<int:pk>/preview/", shown, name=PREVIEW),
            path("<int:pk>/mode/", view(require_POST(partial(rollout.press, self))), name="ratewindow_raterule_mode"),
            path("ready/", view(partial(new_rules.ready_page, self)), name="ratewindow_raterule_ready"),
            *(path(f"{name}/", edits_no_rule(view(page)), name=f"ratewindow_{name}") for name, page in of_rooms),
            *super().get_urls(),
        ]

    @property
    def actions(self) -> list[Any]:  # type: ignore[override]
        """Also those of rooms: the apps are not all there when this class is made."""
        return [rollout.enforce, rollout.shadow, rollout.switch_off, *rooms.plugged("rule_action")]

    def get_list_display(self, request: HttpRequest) -> Any:
        return ["mode_badge", "name_and_sentence", rollout.last_hour_column(request)]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        may_add, unfiltered = self.has_add_permission(request), request.GET.keys() <= _UNFILTERED
        return super().changelist_view(
            request,
            {
                "in_code": [*new_rules.in_code(request)] if unfiltered and self.has_view_or_change_permission(request) else [],
                "may_add": may_add,
                "ready": new_rules.ready() if may_add and unfiltered and not RateRule.objects.exists() else [],
                **(extra_context or {}),
            },
        )

    def look_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """What a rule says, its mode with the switch, what it did and to whom, and who edited it."""
        require(self.has_view_or_change_permission(request))
        rule = get_object_or_404(self.get_queryset(request), pk=pk)
        form = report.ReportForm(request, rule.name)
        if not form.is_valid():  # it would be the report of all rules
            raise BadRequest
        year, lasting = last("1y", time_zone.now()), Override.objects.not_ended().filter(rule=rule.name)
        shown, may_edit = form.read(), self.has_change_permission(request, rule)
        return render_page(
            self,
            request,
            "admin/ratewindow/raterule/look.html",
            rule.name,
            {
                **report.body_context(request, shown, form),
                "media": report.MEDIA,
                "rule": rule,
                "mode": mode_in_words(rule),
                "since": time_zone.in_short(rule.mode_since),
                "may_edit": may_edit,
                "lower": proposals.lower_limits(request, rule, shown.report.known) if may_edit else None,
                "may_enforce": may(request.user, "enforce_raterule"),
                "most_reason": origin.MOST_REASON if rooms.keep_reasons() else 0,
                "preview": _preview_of_row(rule),
                "overrides": [(each, whom(request.user, each.identity), until(each)) for each in lasting[:MOST_OVERRIDES]],
                "edits": [
                    (edit, time_zone.in_short(edit.at))
                    for marks_in in rooms.plugged("marks")
                    for edit in marks_in(request, year, rule.name)
                ],
                "rule_links": [link for links_of in rooms.plugged("rule_links") for link in links_of(self, request, rule)],
            },
        )

    def response_post_save_change(self, request: HttpRequest, obj: RateRule) -> HttpResponseRedirect:
        """To the page of the rule, for those who may look at it."""
        look = HttpResponseRedirect(reverse("admin:ratewindow_raterule_look", [obj.pk], request))
        return look if self.has_view_or_change_permission(request, obj) else super().response_post_save_change(request, obj)

    response_post_save_add = response_post_save_change

    def get_formset_kwargs(self, request: HttpRequest, obj: Any, inline: Any, prefix: str) -> dict[str, Any]:
        """The form of a new rule may begin with limits."""
        options = super().get_formset_kwargs(request, obj, inline, prefix)
        return {**options, "initial": new_rules.limits(request)} if obj is None or obj.pk is None else options

    def get_inline_formsets(self, request: HttpRequest, formsets: Any, *args: Any, **kwargs: Any) -> Any:
        new_rules.fill_in(request, formsets)
        return super().get_inline_formsets(request, formsets, *args, **kwargs)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> HttpResponse:
        """Place the limits before the fieldset COUNTING, except under Jazzmin, which has tabs."""
        rule = kwargs.get("obj")
        context |= {
            "limits_before": "" if apps.is_installed("jazzmin") else COUNTING,
            "is_blank": request.method == "GET" and not request.GET,
        }
        if self.has_change_permission(request, rule) if rule else self.has_add_permission(request):
            context["preview_url"] = reverse(f"admin:{PREVIEW}", [rule.pk] if rule else [], request)
        context["preview"] = preview_of(context["adminform"].form, [each.formset for each in context["inline_admin_formsets"]])
        return super().render_change_form(request, context, *args, **kwargs)

    def get_queryset(self, request: HttpRequest) -> QuerySet[RateRule]:
        return super().get_queryset(request).prefetch_related("windows")

    def get_readonly_fields(self, request: HttpRequest, obj: RateRule | None = None) -> list[str]:
        return [] if obj is None else ["name"]

    def get_fieldsets(self, request: HttpRequest, obj: RateRule | None = None) -> Any:
        """With the reason for the change, if reasons are kept."""
        asks = rooms.keep_reasons() and (obj is None or self.has_change_permission(request, obj))
        return [*super().get_fieldsets(request, obj), *([(_("This change"), {"fields": [WHY]})] if asks else [])]

    @admin.display(description=_("mode"), ordering="mode")
    def mode_badge(self, rule: RateRule) -> SafeString:
        return format_html('<span class="rw-mode rw-mode-{}">{}</span>', rule.mode, mode_in_words(rule))

    @admin.display(description=_("rule"), ordering="name")
    def name_and_sentence(self, rule: RateRule) -> SafeString:
        problem = reading.problem_of(rule.name)
        left_out = (
            format_html(' <span class="errornote rw-left-out">{}</span>', gettext("This rule %s.") % problem) if problem else ""
        )
        return format_html(
            '<a href="{}/"><strong>{}</strong> <span class="rw-sentence">{}</span></a>{}',
            rule.pk,
            rule.name,
            short_sentence(rule),
            left_out,
        )

    def has_enforce_permission(self, request: HttpRequest) -> bool:
        return self.has_change_permission(request) and may(request.user, "enforce_raterule")

    def has_export_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("ratewindow.export_throttlestat")
