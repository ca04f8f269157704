"""The period and the rule of a report, as its query string names them."""

from datetime import datetime
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy as _

from ratewindow import conf
from ratewindow.admin.state import glance
from ratewindow.conf import time_zone
from ratewindow.models import RateRule, ThrottleStat
from ratewindow.operations.lockout import may_view_overrides
from ratewindow.report import reading
from ratewindow.report.reading import Reading
from ratewindow.report.report import CHOICES, LONGEST, WITHOUT_BLOCKS, Period, between, last
from ratewindow.rules import code_rates
from ratewindow.rules.rule import BLOCKS

DEFAULT = "1h"
MOMENT = "%Y-%m-%dT%H:%M"


class ReportForm(forms.Form):
    """A form sent by GET, so that a report can be bookmarked and shared.

    Requests of blocked clients that met no rule are a line for those who may know of blocks.
    """

    period = forms.ChoiceField(
        required=False, choices=[(name, label) for name, (__, label, __) in CHOICES.items()], widget=forms.HiddenInput
    )
    rule = forms.ChoiceField(required=False, label=_("Rule"))
    start = forms.DateTimeField(required=False, label=_("From"), widget=forms.DateTimeInput({"type": "datetime-local"}, MOMENT))
    end = forms.DateTimeField(required=False, label=_("To"), widget=forms.DateTimeInput({"type": "datetime-local"}, MOMENT))

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.GET, label_suffix="")
        self._request = request
        self._blocks = {BLOCKS} if may_view_overrides(request) else set[str]()
        names = sorted(_rule_names(self.data.get("rule", "")) - ({BLOCKS} - self._blocks))
        cast(forms.ChoiceField, self.fields["rule"]).choices = [("", gettext("All rules")), *((name, name) for name in names)]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        start, end = (time_zone.aware(cleaned[name]) if cleaned.get(name) else None for name in ("start", "end"))
        cleaned |= {"start": start, "end": end}
        now = time_zone.now()
        if (end and not start) or (start and not start < min(end or now, now) <= start + LONGEST):
            self.add_error("start", gettext("Enter a start before the end, at most three years earlier."))
        return cleaned

    def chosen(self) -> str:
        """The name of the period in CHOICES; empty if dates were entered."""
        return "" if self._value("start") else self._value("period") or DEFAULT

    def rule_name(self) -> str:
        return self._value("rule") or ""

    def rules(self) -> str:
        """The rule that was chosen, or all."""
        return self.rule_name() or ("" if self._blocks else WITHOUT_BLOCKS)

    def query(self, **other: str) -> str:
        """The query string of this report, or of one that differs in these values; another period replaces the dates."""
        chosen = {name: self._value(name) for name in ("period", "rule", "start", "end")}
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

    def read(self, most: int = 40) -> Reading:
        """`most` names of each kind: clients, networks."""
        now = time_zone.now()
        return reading.read(self.to_period(now), self.rules(), now, most, ask_redis=glance(self._request).reachable)

    def goes_on(self) -> bool:
        """Whether it is up to now, so that its numbers change."""
        return not self._value("end")

    def _value(self, name: str) -> Any:
        return self.cleaned_data.get(name) if self.is_valid() else None


def _rule_names(chosen: str) -> set[str]:
    """The rules to choose from. A deleted rule is one only if it is `chosen` already: there may be many."""
    deleted = {chosen} if chosen and ThrottleStat.objects.filter(rule=chosen).exists() else set()
    return {*RateRule.objects.values_list("name", flat=True), *code_rates.names(), *deleted}
