"""The rules in the admin: a list that reads as sentences, a form that says what is wrong and what to write."""

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.forms import BaseInlineFormSet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from ratewindow.admin.wording import sentence
from ratewindow.models import Mode, RateRule, RuleWindow


class LimitsFormSet(BaseInlineFormSet):  # type: ignore[type-arg]
    """The limits of one rule; the form's own message for none is about forms, not about limits."""

    default_error_messages = {"too_few_forms": "A rule needs at least one limit, such as 5 in 1m."}


class RuleWindowInline(admin.TabularInline):  # type: ignore[type-arg]
    model = RuleWindow
    formset = LimitsFormSet
    fields = ["limit", "period", "algorithm", "buckets"]
    extra = 0
    min_num = 1
    validate_min = True

    def get_formset(self, request: HttpRequest, obj: RateRule | None = None, **kwargs: Any) -> Any:
        return super().get_formset(request, obj, validate_min=True, **kwargs)


@admin.register(RateRule)
class RateRuleAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["mode_badge", "name_and_sentence"]
    list_display_links = ["name_and_sentence"]
    list_filter = ["mode", "applies_to"]
    search_fields = ["name", "description", "pattern"]
    actions = ["enforce", "shadow", "switch_off"]
    inlines = [RuleWindowInline]
    radio_fields = {"mode": admin.VERTICAL}
    save_as = True
    fieldsets = [
        (None, {"fields": ["name", "mode", "description"]}),
        ("What", {"fields": ["applies_to", "pattern", "methods"]}),
        ("Who", {"fields": ["key", "on_missing"]}),
    ]

    class Media:
        css = {"all": ["ratewindow/rules.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[RateRule]:
        return super().get_queryset(request).prefetch_related("windows")

    def get_readonly_fields(self, request: HttpRequest, obj: RateRule | None = None) -> list[str]:
        return ["name"] if obj is not None and "_saveasnew" not in request.POST else []

    @admin.display(description="mode", ordering="mode")
    def mode_badge(self, rule: RateRule) -> SafeString:
        return format_html('<span class="rw-mode rw-mode-{}">{}</span>', rule.mode, rule.get_mode_display().partition(":")[0])

    @admin.display(description="rule", ordering="name")
    def name_and_sentence(self, rule: RateRule) -> SafeString:
        return format_html('<strong>{}</strong> <span class="rw-sentence">{}</span>', rule.name, sentence(rule))

    @admin.action(description="Enforce selected rules", permissions=["change"])
    def enforce(self, request: HttpRequest, rules: QuerySet[RateRule]) -> None:
        self._set_mode(request, rules, Mode.ENFORCE, "enforced")

    @admin.action(description="Put selected rules in shadow: count, refuse nobody", permissions=["change"])
    def shadow(self, request: HttpRequest, rules: QuerySet[RateRule]) -> None:
        self._set_mode(request, rules, Mode.SHADOW, "in shadow")

    @admin.action(description="Switch selected rules off", permissions=["change"])
    def switch_off(self, request: HttpRequest, rules: QuerySet[RateRule]) -> None:
        self._set_mode(request, rules, Mode.OFF, "off")

    def _set_mode(self, request: HttpRequest, rules: QuerySet[RateRule], mode: Mode, words: str) -> None:
        changed = []
        with transaction.atomic():
            for rule in rules.exclude(mode=mode):
                before, rule.mode = rule.get_mode_display().partition(":")[0], mode
                rule.save(update_fields=["mode"])
                self.log_change(request, rule, [{"changed": {"fields": ["Mode"]}}])
                changed.append(f"{rule.name} (was: {before.lower()})")
        if changed:
            messages.success(request, f"Now {words}: {', '.join(changed)}.")
        else:
            messages.info(request, f"Nothing to change: all selected rules were {words} already.")
