"""The rules in the admin: a list that describes each in a sentence, and their form."""

from contextlib import suppress
from typing import Any

from django.apps import apps
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import curve, explain_links, last_hour
from ratewindow.admin.addresses import reverse
from ratewindow.admin.confirm_page import AskingAdmin, changes_nothing
from ratewindow.admin.documents import page as documents_page
from ratewindow.admin.documents.rights import may_export, may_import
from ratewindow.admin.explain import page as explain_page
from ratewindow.admin.history import conflicts
from ratewindow.admin.history.edit_admin import object_page
from ratewindow.admin.overrides import links as override_links
from ratewindow.admin.recorded import WHY_FIELDSET
from ratewindow.admin.registering import register
from ratewindow.admin.rights import may_enforce
from ratewindow.admin.rules import (
    candidate,
    code_rates,
    evidence,
    first_steps,
    opening,
    recording,
    rollout,
    rollout_actions,
    said_at_once,
    saved,
    sparklines,
)
from ratewindow.admin.rules.backtest import page as backtest_page
from ratewindow.admin.rules.form import BOUNDS, RuleForm
from ratewindow.admin.rules.limit_rows import RuleWindowInline
from ratewindow.admin.rules.number_fields import BoundedField
from ratewindow.admin.rules.preview import PreviewedAdmin
from ratewindow.admin.wording import mode_in_words, sentence, short_sentence
from ratewindow.models import RateRule
from ratewindow.operations import lockout
from ratewindow.rulebook import reading, rule_rows
from ratewindow.rules.coverage import coverage
from ratewindow.rules.doubts import doubts
from ratewindow.rules.rule import Rule

COUNTING = _("Counting")  # the first of the fieldsets below the limits
_UNFILTERED = {"o", "p", "all"}  # query parameters that hide no rule


@register(RateRule)
class RateRuleAdmin(PreviewedAdmin, AskingAdmin):
    form = RuleForm
    list_display = ["mode_badge", "name_and_sentence"]
    list_display_links = ["name_and_sentence"]
    list_filter = ["mode", "applies_to"]
    search_fields = ["name", "description", "pattern"]
    actions = [*rollout_actions.ACTIONS, documents_page.export]
    inlines = [RuleWindowInline]
    radio_fields = {"mode": admin.VERTICAL}
    save_as = True
    fieldsets = [
        (None, {"fields": ["name", "mode", "enforce_percent", "description"]}),
        (_("What"), {"fields": ["applies_to", "pattern", "methods"]}),
        (_("Who"), {"fields": ["key", "on_missing", "normalise"]}),
        (COUNTING, {"classes": ["collapse"], "fields": ["cost", "count_when", "hold", "count_refused", "lease"]}),
        (_("When refused"), {"classes": ["collapse"], "fields": ["penalty", "response_status", "message", "on_error"]}),
    ]
    search_help_text = _("Search in name, description and pattern")

    class Media:
        css = {"all": ["ratewindow/rules.css", "ratewindow/rollout.css", "ratewindow/rule_form.css", "ratewindow/ready.css"]}
        js = ["ratewindow/rule_form.js"]

    def get_urls(self) -> list[URLPattern]:
        validate = changes_nothing(self.admin_site.admin_view(self.validate_view))
        pages = [path("validate/", validate, name="ratewindow_raterule_validate"), *rollout.urls(self), *candidate.urls(self)]
        pages += [*recording.urls(self), *backtest_page.urls(self)]
        return [*pages, *explain_page.urls(self), *documents_page.urls(self), *first_steps.urls(self), *super().get_urls()]

    def validate_view(self, request: HttpRequest) -> HttpResponse:
        return said_at_once.answer(self, request)

    def get_list_display(self, request: HttpRequest) -> Any:
        return [*self.list_display, last_hour.column(request), sparklines.column(request)]

    def get_list_filter(self, request: HttpRequest) -> Any:
        """Without any rule the ready ones are listed there."""
        return super().get_list_filter(request) if RateRule.objects.exists() else []

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return sparklines.ListedRules

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        may_add, unfiltered = self.has_add_permission(request), request.GET.keys() <= _UNFILTERED
        in_code = list(code_rates.lines(request, may_add)) if unfiltered and self.has_view_or_change_permission(request) else []
        context = {
            "in_code": in_code,
            "may_add": may_add,
            "ready": first_steps.sections() if may_add and unfiltered and not RateRule.objects.exists() else [],
            "may_export": may_export(self, request),
            "may_import": may_import(self, request),
            "backtest_url": backtest_page.url(self, request),
        }
        return super().changelist_view(request, {**context, **(extra_context or {})})

    def get_formset_kwargs(self, request: HttpRequest, obj: Any, inline: Any, prefix: str) -> dict[str, Any]:
        """The form of a new rule may begin with limits."""
        options = super().get_formset_kwargs(request, obj, inline, prefix)
        if obj is None or obj.pk is None:
            return {**options, "initial": opening.of(request).limits}
        return {**options, "data": conflicts.rebased(request, obj, prefix)} if "data" in options else options

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {**super().get_changeform_initial_data(request), **opening.of(request).fields}

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> HttpResponse:
        """Place the limits before the fieldset COUNTING, except under Jazzmin, which has tabs."""
        limits_before = "" if apps.is_installed("jazzmin") else COUNTING
        rule = kwargs.get("obj")
        context |= {"limits_before": limits_before, "rollout": rollout.box(self, request, rule) if rule is not None else None}
        context["candidate"] = candidate.box(self, request, rule) if rule is not None else None
        context["recording"] = recording.box(self, request, rule) if rule is not None else {}
        context["evidence"] = evidence.box(request, rule) if rule is not None else None
        if rule is None:
            context.setdefault("evidence_token", evidence.sent(request))
            context["is_blank"] = opening.is_blank(request)
        if context["recording"].get("figures") or context["evidence"] or (context["candidate"] or {}).get("evidence"):
            context["media"] += curve.MEDIA
        context["overrides"] = override_links.of_rule(request, rule) if rule is not None else {}
        context["explain_url"] = explain_links.of_rule(rule) if rule is not None else ""
        context["backtest_url"] = backtest_page.url(self, request, rule.name) if rule is not None else ""
        return super().render_change_form(request, context, *args, **kwargs)

    def get_queryset(self, request: HttpRequest) -> QuerySet[RateRule]:
        return super().get_queryset(request).prefetch_related("windows")

    def get_readonly_fields(self, request: HttpRequest, obj: RateRule | None = None) -> list[str]:
        return [] if obj is None else ["in_words", "name"]

    def get_fieldsets(self, request: HttpRequest, obj: RateRule | None = None) -> Any:
        """A new rule is saved in shadow or enforced by its two buttons."""
        first, *others = super().get_fieldsets(request, obj)
        if obj is None:
            return [(None, {"fields": ["name", "description"]}), *others, WHY_FIELDSET]
        may_change = self.has_change_permission(request, obj)
        fields = first[1]["fields"] if may_change else ["in_words", *first[1]["fields"]]  # else the preview has them
        return [(first[0], {**first[1], "fields": fields}), *others, *([WHY_FIELDSET] if may_change else [])]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name in BOUNDS:
            low, high = BOUNDS[db_field.name]
            return db_field.formfield(form_class=BoundedField, low=low, high=high)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        if request.method == "POST" and "_saveasnew" in request.POST and "name" not in request.POST:
            return self._open_copy(request, extra_context)
        return super().changeform_view(request, object_id, form_url, extra_context)

    def _open_copy(self, request: HttpRequest, extra_context: Any) -> HttpResponse:
        """The form of a new rule with what is typed; it has yet to get a name, which the form of a saved rule does not send."""
        form = self.get_form(request, None)(request.POST)
        address = reverse("admin:ratewindow_raterule_add")
        return super().changeform_view(opening.copying(request, form), None, address, extra_context)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        rule = self.model.objects.get(pk=form.instance.pk)
        if not change:
            evidence.keep(request, rule)
        with suppress(ValueError):  # an invalid row, written by raw SQL, is reported in the log
            self._warn(request, rule_rows.freeze(rule))

    def response_add(self, request: HttpRequest, obj: RateRule, post_url_continue: str | None = None) -> HttpResponse:
        response = super().response_add(request, obj, post_url_continue)
        messages.success(request, saved.from_now_on(request, obj))
        return response

    def _warn(self, request: HttpRequest, rule: Rule) -> None:
        """Of a rule that limits nobody or refuses all, and of one that refuses staff, or would once it is enforced."""
        for __, doubt in doubts([rule], coverage([rule])):
            messages.warning(request, f"{doubt.text} {doubt.remedy}")
        for found in lockout.lockouts([rule], request):
            messages.warning(request, f"{found} {lockout.REMEDY} {lockout.way_out(rule.name)}")

    @admin.display(description=_("in words"))
    def in_words(self, rule: RateRule) -> str:
        """The rule as it is saved; `rule` holds what was typed if the form has errors."""
        said = [sentence(self.model.objects.get(pk=rule.pk))]
        if problem := reading.problem_of(rule.name):
            said.append(gettext("But it %s.") % problem)
        return " ".join(said)

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

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        return object_page(self, request, object_id)

    def get_form(self, request: HttpRequest, obj: RateRule | None = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        return type(form.__name__, (form,), {"may_enforce": may_enforce(request), "request": request})

    def has_export_permission(self, request: HttpRequest) -> bool:
        return may_export(self, request)
