"""The period, the rule and the mode of a report, as its query string names them."""

from datetime import datetime
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.forms.utils import flatatt
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow import conf
from ratewindow.admin.report.modes import MODES, names_of
from ratewindow.conf import time_zone
from ratewindow.models import Mode, RateRule, ThrottleStat
from ratewindow.operations.staff import may_view_overrides
from ratewindow.reporting.periods import CHOICES, LONGEST, Period, between, last
from ratewindow.reporting.report import WITHOUT_BLOCKS, Rules
from ratewindow.rules import code_rates
from ratewindow.rules.rule import BLOCKS

DEFAULT = "1h"
MOMENT = "%Y-%m-%dT%H:%M"


class RuleSelect(forms.Select):
    """A menu of perhaps a thousand rules: Django renders two templates for each of them."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        chosen = self.format_value(value)
        options = format_html_join(
            "",
            '<option value="{}"{}>{}</option>',
            ((each, SafeString(" selected") if str(each) in chosen else "", label) for each, label in self.choices),
        )
        return format_html(
            "<select{}>{}</select>", flatatt(self.build_attrs(self.attrs, {"name": name, **(attrs or {})})), options
        )


class ReportForm(forms.Form):
    """A form sent by GET, so that a report can be bookmarked and shared.

    Requests of blocked clients that met no rule are a line for those who may know of blocks; they count as enforced.
    """

    period = forms.ChoiceField(
        required=False, choices=[(name, label) for name, (__, label, __) in CHOICES.items()], widget=forms.HiddenInput
    )
    rule = forms.ChoiceField(required=False, label=_("Rule"), widget=RuleSelect)
    mode = forms.ChoiceField(required=False, label=_("Mode"), choices=[("", _("All modes")), *MODES])
    start = forms.DateTimeField(required=False, label=_("From"), widget=forms.DateTimeInput({"type": "datetime-local"}, MOMENT))
    end = forms.DateTimeField(required=False, label=_("To"), widget=forms.DateTimeInput({"type": "datetime-local"}, MOMENT))

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.GET, label_suffix="")
        self._blocks = {BLOCKS} if may_view_overrides(request) else set[str]()
        names = [name for name in _rule_names(self.data.get("rule", "")) if name != BLOCKS or self._blocks]
        cast(forms.ChoiceField, self.fields["rule"]).choices = [("", gettext("All rules")), *((name, name) for name in names)]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        start, end = (time_zone.aware(cleaned[name]) if cleaned.get(name) else None for name in ("start", "end"))
        cleaned |= {"start": start, "end": end}
        if end and not start:
            self.add_error("start", gettext("Enter a start, or choose one of the periods above."))
        if start and start > time_zone.now():
            self.add_error("start", gettext("The start is in the future: choose an earlier time."))
        elif start and end and start >= end:
            self.add_error("end", gettext("The end is not after the start: choose a later time."))
        elif start and (end or time_zone.now()) - start > LONGEST:
            self.add_error("start", gettext("A report covers at most three years: choose a later start."))
        return cleaned

    def chosen(self) -> str:
        """The name of the period in CHOICES; empty if dates were entered."""
        return "" if self._value("start") else self._value("period") or DEFAULT

    def rule_name(self) -> str:
        return self._value("rule") or ""

    def rules(self) -> Rules:
        """The rule that was chosen, those of a mode, or all."""
        mode = self._value("mode")
        if self.rule_name() or not mode:
            return self.rule_name() or ("" if self._blocks else WITHOUT_BLOCKS)
        return [*names_of(mode), *(self._blocks if mode == Mode.ENFORCE else ())]

    def query(self, **other: str) -> str:
        """The query string of this report, or of one that differs in these values; another period replaces the dates."""
        chosen = {name: self._value(name) for name in ("period", "rule", "mode", "start", "end")}
        texts = {
            name: time_zone.local(value).strftime(MOMENT) if isinstance(value, datetime) else value or ""
            for name, value in chosen.items()
        }
        if "period" in other:
            texts |= {"start": "", "end": ""}
        return urlencode({name: value for name, value in {**texts, **other}.items() if value})

    def to_period(self, now: datetime) -> Period:
        retention = conf.current().retention
        start, end = self._value("start"), self._value("end")
        if start:
            return between(start, min(end, now) if end else now, now, retention)
        return last(self.chosen(), now, retention)

    def goes_on(self) -> bool:
        """Whether it is up to now, so that its numbers change."""
        return not self._value("end")

    def _value(self, name: str) -> Any:
        return self.cleaned_data.get(name) if self.is_valid() else None


def _rule_names(chosen: str) -> list[str]:
    """The rules to choose from. A deleted rule is one only if it is `chosen` already: there may be many."""
    deleted = {chosen} if chosen and ThrottleStat.objects.filter(rule=chosen).exists() else set()
    return sorted({*RateRule.objects.values_list("name", flat=True), *code_rates.names(), *deleted})
