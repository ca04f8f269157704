"""The limits of a rule as rows of its form."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db import models
from django.forms import BaseInlineFormSet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin.rules import opening
from ratewindow.admin.rules.number_fields import CountField
from ratewindow.admin.wording import DEFAULT_ALGORITHM
from ratewindow.limiter.algorithms import algorithm, algorithm_choices
from ratewindow.limiter.algorithms.base import Algorithm
from ratewindow.limiter.types import MOST_BUCKETS, MOST_WINDOWS
from ratewindow.models import RateRule, RuleWindow

COMMON_PERIODS = ("10s", "1m", "5m", "15m", "1h", "1d", "7d")


class LimitForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        help_texts = dict.fromkeys(("limit", "period", "buckets", "burst", "aligned_to"), "")  # explained below the rows
        error_messages = {
            "limit": {"required": _("Enter how many requests are allowed, such as 5.")},
            "period": {"required": _("Enter a period, such as 1m.")},
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():  # a cell of a table has no label
            if field.label:
                field.widget.attrs["aria-label"] = str(field.label).capitalize()
            if field.required:
                field.widget.attrs["aria-required"] = "true"
        if "algorithm" in self.fields:
            self.fields["algorithm"].choices = [(name, gettext(label)) for name, label in algorithm_choices()]  # type: ignore[attr-defined]
        if "buckets" in self.fields:
            usual = algorithm(DEFAULT_ALGORITHM).default_buckets
            self.fields["buckets"].widget.attrs["placeholder"] = gettext("empty: %d") % usual
        if "period" in self.fields:
            self.fields["period"].widget.attrs["list"] = "rw-periods"


class LimitsFormSet(BaseInlineFormSet):  # type: ignore[type-arg]
    """The limits of one rule, with messages about limits where Django's are about forms."""

    default_error_messages = {
        "too_few_forms": _("A rule needs at least one limit, such as 5 in 1m."),
        "too_many_forms": _("A rule has at most %(num)d limits: split it into several rules."),
    }

    def get_unique_error_message(self, unique_check: Any) -> str:
        """Django's has the names of columns."""
        return gettext("This rule already has a limit for this period: change that one instead.")

    def add_fields(self, form: Any, index: int | None) -> None:
        super().add_fields(form, index)
        if "DELETE" in form.fields:
            form.fields["DELETE"].widget.attrs["aria-label"] = gettext("Delete")

    def clean(self) -> None:
        super().clean()
        typed = [form for form in self.forms if form.is_valid() and form not in self.deleted_forms]
        buckets = sum(form.instance.freeze().buckets or 0 for form in typed if form.instance.period)  # an empty form has none
        if buckets > MOST_BUCKETS:
            problem = gettext("The limits of a rule have at most %(most)d buckets together, not %(buckets)d: enter fewer.")
            raise ValidationError(problem % {"most": MOST_BUCKETS, "buckets": buckets})


class RuleWindowInline(admin.TabularInline):  # type: ignore[type-arg]
    model = RuleWindow
    form = LimitForm
    formset = LimitsFormSet
    template = "admin/ratewindow/raterule/limits.html"
    fields = ["limit", "period", "algorithm", "buckets", "burst", "aligned_to"]
    formfield_overrides = {models.PositiveBigIntegerField: {"form_class": CountField}}
    verbose_name_plural = _("how much (all of these limits hold)")
    extra = 0
    min_num, max_num = 1, MOST_WINDOWS
    periods = COMMON_PERIODS

    def has_add_permission(self, request: HttpRequest, obj: RateRule | None = None) -> bool:
        """Limits have no permissions of their own: who may save a rule saves it whole."""
        return request.user.has_perm(f"ratewindow.{'add' if obj is None else 'change'}_raterule")

    def has_change_permission(self, request: HttpRequest, obj: RateRule | None = None) -> bool:
        return self.has_add_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: RateRule | None = None) -> bool:
        return self.has_add_permission(request, obj)

    def has_view_permission(self, request: HttpRequest, obj: RateRule | None = None) -> bool:
        return any(request.user.has_perm(f"ratewindow.{verb}_raterule") for verb in ("view", "change"))

    def get_extra(self, request: HttpRequest, obj: RateRule | None = None, **kwargs: Any) -> int:
        return self.extra if obj is not None else max(0, len(opening.of(request).limits) - self.min_num)

    def get_formset(self, request: HttpRequest, obj: RateRule | None = None, **kwargs: Any) -> Any:
        return super().get_formset(request, obj, **{"validate_min": True, "absolute_max": 2 * type(self).max_num, **kwargs})

    def explained(self) -> list[tuple[str, Algorithm, str]]:
        """Each algorithm with the columns that it uses, for the template."""
        return [(gettext(label), algorithm(name), _columns(algorithm(name))) for name, label in algorithm_choices()]


def _columns(used: Algorithm) -> str:
    columns = {"buckets": used.most_buckets, "burst": used.default_burst, "aligned_to": used.alignable}
    return " ".join(name for name, uses in columns.items() if uses)
