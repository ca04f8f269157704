"""The form of a backtest: a log, and which rules decide its requests. What they would have done is the form's result."""

from typing import Any
from unicodedata import category

from django import forms
from django.http import HttpRequest
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import code_keys
from ratewindow.admin.rules.choice_fields import OTHER, ChoiceOrText, ChoiceOrTextField, MethodsInput
from ratewindow.admin.rules.form import KEYS
from ratewindow.conf.translation import translated
from ratewindow.models import AppliesTo, RateRule
from ratewindow.operations.backtest.plan import Plan, of_rates, of_rule, of_site
from ratewindow.operations.backtest.result import Result
from ratewindow.operations.backtest.run import backtest
from ratewindow.operations.logs.formats import NAMES
from ratewindow.operations.logs.log import Most, open_logs
from ratewindow.overrides.as_typed import as_subject
from ratewindow.overrides.subjects import parse_subject
from ratewindow.reporting.summary import number
from ratewindow.rules import code_rates

COMMAND = "manage.py ratewindow backtest"
MB = 1_000_000
MOST_BYTES = 50 * MB  # of a file as it is sent
MOST = Most(requests=200_000, seconds=15, file_bytes=200 * MB)
MOST_NEVER = 100  # clients

RULE, SITE, RATES = "rule", "site", "rates"
# Not by regular expression: whoever may only look at rules may not keep the server busy with one.
_PLACES = {AppliesTo.ALL: "", AppliesTo.PATH: "path", AppliesTo.PREFIX: "prefix", AppliesTo.ROUTE: "route"}
_OF_RATES = f"decides={RATES}"
_SHOWN = {  # for rule_form.js
    "rule": f"decides={RULE}",
    "rates": f"decides={RULE} {RATES}",
    "pattern": f"{_OF_RATES};applies_to={AppliesTo.PATH} {AppliesTo.PREFIX} {AppliesTo.ROUTE}",
    **dict.fromkeys(("applies_to", "methods", "key"), _OF_RATES),
}
_TEXT = {"autocomplete": "off", "spellcheck": "false"}


class BacktestForm(forms.Form):
    """`result` is what the rules would have done, `plan` the rules; `is_cut`: only the first part of the log was read."""

    log = forms.FileField(
        label=_("Access log"),
        help_text=format_lazy(
            _(
                "At most {size} MB, also packed as .gz or .zst. Read are its first {requests} requests, and as many as take "
                "{seconds} seconds; for more, use {command}. The log is not kept."
            ),
            size=MOST_BYTES // MB,
            requests=lazy(number, str)(MOST.requests),
            seconds=MOST.seconds,
            command=COMMAND,
        ),
    )
    format = ChoiceOrTextField(
        label=_("Format"),
        required=False,
        max_length=2000,
        widget=ChoiceOrText(
            _("The format, as text:"),
            _("The server's own log_format or LogFormat, or a map of JSON fields."),
            choices=[("", _("What it looks like")), *((name, name) for name in NAMES), (OTHER, _("Something else"))],
        ),
    )
    decides = forms.ChoiceField(
        label=_("What decides"),
        choices=[
            (RULE, _("A rule of this site, as if it were enforced")),
            (SITE, _("All rules of this site as they are, with blocks and exemptions")),
            (RATES, _("A rule that does not exist yet")),
        ],
        initial=RULE,
        widget=forms.RadioSelect,
    )
    rule = forms.ChoiceField(label=_("Rule"), required=False)
    rates = forms.CharField(
        label=_("Limits"),
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={**_TEXT, "placeholder": "5/s; 100/m"}),
        help_text=_("Such as 10/m, or 5/s; 100/m. For a rule of this site: leave it empty for the limits that it has."),
    )
    applies_to = forms.ChoiceField(
        label=_("Applies to"),
        required=False,
        choices=[(each.value, each.label) for each in _PLACES],
    )
    pattern = forms.CharField(
        label=_("Path or route"),
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs={**_TEXT, "placeholder": "/login/"}),
    )
    methods = forms.CharField(label=_("Methods"), required=False, max_length=200, widget=MethodsInput())
    key = ChoiceOrTextField(
        label=_("Count per"),
        required=False,
        max_length=500,
        widget=ChoiceOrText(
            _("Something else, as text:"),
            _("Such as ip, user_or_ip, header:x-api-key, or several joined by +."),
            choices=[*KEYS, (OTHER, _("Something else"))],
        ),
    )
    never = forms.CharField(
        label=_("Never to be refused"),
        required=False,
        max_length=10_000,
        widget=forms.Textarea(attrs={"rows": 2, "cols": 40, "spellcheck": "false"}),
        help_text=_("One client in each line, such as 203.0.113.9 or user:42: the result says if it would have refused them."),
    )

    def __init__(self, request: HttpRequest) -> None:
        is_sent = request.method == "POST"
        initial = {"rule": request.GET.get("rule", "")}
        data, files = (request.POST, request.FILES) if is_sent else (None, None)
        super().__init__(data, files, auto_id="rw-backtest-%s", label_suffix="", initial=initial)
        self._request = request
        self.fields["rule"].choices = [(name, name) for name in _names()]  # type: ignore[attr-defined]
        for name, condition in _SHOWN.items():
            self.fields[name].widget.attrs["data-rw-shown"] = condition
        self.plan: Plan | None = None
        self.result: Result | None = None
        self.is_cut = False

    def clean_log(self) -> Any:
        log = self.cleaned_data["log"]
        if log.size > MOST_BYTES:
            text = gettext("This file has %(size)s MB, and at most %(most)s can be sent here. Use %(command)s %(log)s instead.")
            values = {"size": f"{log.size / MB:.0f}", "most": MOST_BYTES // MB, "command": COMMAND, "log": log.name}
            raise forms.ValidationError(text % values)
        return log

    def clean_key(self) -> str:
        return code_keys.check(self._request, self.cleaned_data["key"] or "ip")

    def clean_never(self) -> list[str]:
        found = [line.strip() for line in self.cleaned_data["never"].splitlines() if line.strip()]
        if len(found) > MOST_NEVER:
            text = gettext(
                "These are %(count)s clients, and at most %(most)s can be entered here. Use %(command)s --never instead."
            )
            raise forms.ValidationError(text % {"count": len(found), "most": MOST_NEVER, "command": COMMAND})
        try:
            for each in found:
                parse_subject(as_subject(each))
        except ValueError as error:
            raise forms.ValidationError(_said(error)) from None
        return found

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self.errors:
            return cleaned
        if cleaned["decides"] == RULE and not cleaned["rule"]:
            self.add_error("rule", gettext("Choose a rule."))
            return cleaned
        try:
            self.plan = self._plan(cleaned)
        except ValueError as error:
            self.add_error("rule" if cleaned["decides"] == RULE and not cleaned["rates"] else "rates", _said(error))
            return cleaned
        try:
            log = open_logs([cleaned["log"]], cleaned["format"] or None, MOST)
            self.result = backtest(log, self.plan, cleaned["never"], with_peaks=True)
            self.is_cut = log.is_cut
        except ValueError as error:
            self.add_error("log", _said(error))
        return cleaned

    def _plan(self, cleaned: dict[str, Any]) -> Plan:
        match cleaned["decides"]:
            case "site":
                return of_site()
            case "rule":
                return of_rule(cleaned["rule"], cleaned["rates"])
        kind = _PLACES[AppliesTo(cleaned["applies_to"] or AppliesTo.ALL)]
        where = {kind: cleaned["pattern"]} if kind else {}
        return of_rates(cleaned["rates"], cleaned["key"], methods=cleaned["methods"], **where)


def _names() -> list[str]:
    return sorted({*RateRule.objects.values_list("name", flat=True), *code_rates.names()})


def _said(error: ValueError) -> str:
    """The text of an error as a sentence, also of one that quotes bytes that are no text."""
    text = translated(error).encode("utf-8", "backslashreplace").decode()
    return text if category(text[-1]) in ("Po", "Pf") else gettext("%s.") % text  # such as . and 。, or the end of a quotation
