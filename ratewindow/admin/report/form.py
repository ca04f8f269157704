"""The period and the rule of a report, as its query string names them."""

from datetime import datetime
from typing import Any, cast

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow import conf
from ratewindow.conf import time_zone
from ratewindow.reporting.periods import CHOICES, LONGEST, Period, between, last

DEFAULT = "1h"


class ReportForm(forms.Form):
    """A form sent by GET, so that a report can be bookmarked and shared."""

    period = forms.ChoiceField(
        required=False, choices=[(name, label) for name, (__, label, __) in CHOICES.items()], widget=forms.HiddenInput
    )
    rule = forms.ChoiceField(required=False, label=_("Rule"))
    start = forms.DateTimeField(
        required=False, label=_("From"), widget=forms.DateTimeInput({"type": "datetime-local"}, "%Y-%m-%dT%H:%M")
    )
    end = forms.DateTimeField(
        required=False, label=_("To"), widget=forms.DateTimeInput({"type": "datetime-local"}, "%Y-%m-%dT%H:%M")
    )

    def __init__(self, data: Any, names: list[str]) -> None:
        super().__init__(data, label_suffix="")
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

    def to_period(self, now: datetime) -> Period:
        retention = conf.current().retention
        start, end = self._value("start"), self._value("end")
        if start:
            return between(start, min(end, now) if end else now, now, retention)
        return last(self.chosen(), now, retention)

    def _value(self, name: str) -> Any:
        return self.cleaned_data.get(name) if self.is_valid() else None
