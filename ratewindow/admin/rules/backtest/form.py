"""The form of a backtest: a log, and which rules decide its requests; or what the site has recorded of a rule.

What they would have done is the form's result.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from unicodedata import category

from django import forms
from django.http import HttpRequest
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import code_keys
from ratewindow.admin.masking import may_look_up
from ratewindow.admin.rules.backtest.recorded import Recorded
from ratewindow.admin.rules.backtest.result import Decided
from ratewindow.admin.rules.choice_fields import OTHER, ChoiceOrText, ChoiceOrTextField, MethodsInput
from ratewindow.admin.rules.form import KEYS
from ratewindow.conf.translation import translated
from ratewindow.models import AppliesTo, RateRule
from ratewindow.operations import recorded_peaks, recordings
from ratewindow.operations.backtest.plan import Plan, of_rates, of_rule, of_site
from ratewindow.operations.backtest.run import backtest
from ratewindow.operations.logs.formats import NAMES
from ratewindow.operations.logs.log import Most, open_logs
from ratewindow.overrides.as_typed import as_subject
from ratewindow.overrides.subjects import parse_subject
from ratewindow.reporting.summary import number
from ratewindow.rules import code_rates

COMMAND = "manage.py ratewindow backtest"
MB = 1_000_000
MOST_BYTES = 50 * MB  # of the files as they are sent
MOST = Most(requests=200_000, seconds=15, file_bytes=200 * MB)
MOST_NEVER = 100  # clients

LOG, RECORDING = "log", "recording"
RULE, SITE, RATES = "rule", "site", "rates"
DECIDES = [
    (RULE, _("A rule of this site, as if it were enforced")),
    (SITE, _("All rules of this site as they are, with blocks and exemptions")),
    (RATES, _("A rule that does not exist yet")),
]
_SITE_ALONE = (SITE, _("All rules of this site as they are, without blocks and exemptions, which you may not view"))
# Not by regular expression: whoever may only look at rules may not keep the server busy with one.
_PLACES = {AppliesTo.ALL: "", AppliesTo.PATH: "path", AppliesTo.PREFIX: "prefix", AppliesTo.ROUTE: "route"}
_OF_LOG = f"source!={RECORDING}"
_OF_RATES = f"{_OF_LOG};decides={RATES}"
_SHOWN = {  # for rule_form.js
    "recording": f"source={RECORDING}",
    "rule": f"{_OF_LOG};decides={RULE}",
    "rates": f"{_OF_LOG};decides={RULE} {RATES}",
    "pattern": f"{_OF_RATES};applies_to={AppliesTo.PATH} {AppliesTo.PREFIX} {AppliesTo.ROUTE}",
    **dict.fromkeys(("applies_to", "methods", "key"), _OF_RATES),
    **dict.fromkeys(("log", "compare", "format", "decides", "never"), _OF_LOG),
}


def _line(label: Any, most: int, example: str, help_text: Any = "") -> forms.CharField:
    attrs = {"autocomplete": "off", "spellcheck": "false", "placeholder": example}
    widget = forms.TextInput(attrs=attrs)
    return forms.CharField(label=label, required=False, max_length=most, widget=widget, help_text=help_text)


def _choice_or_text(label: Any, most: int, choices: Iterable[Any], text: Any, text_help: Any) -> ChoiceOrTextField:
    widget = ChoiceOrText(text, text_help, choices=[*choices, (OTHER, _("Something else"))])
    return ChoiceOrTextField(label=label, required=False, max_length=most, widget=widget)


class BacktestForm(forms.Form):
    """`plan` is the rules, `decided` what they would have done with each log, and `rule_name` names the one rule of the site that
    is tried. `recorded` is what the site has recorded, if that was chosen."""

    source = forms.ChoiceField(
        label=_("What is looked at"),
        choices=[
            (LOG, _("An access log: each of its requests is decided again")),
            (RECORDING, _("What this site has recorded of a rule: which clients each limit catches, without their requests")),
        ],
        initial=LOG,
        widget=forms.RadioSelect,
    )
    recording = forms.ChoiceField(label=_("Recorded limit"), required=False)
    log = forms.FileField(
        label=_("Access log"),
        required=False,
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
    compare = forms.FileField(
        label=_("Compare with another log"),
        required=False,
        help_text=_(
            "If you like: for example an ordinary day beside one with an attack. The bounds are for both logs together, and each "
            "may take half of the requests and of the time."
        ),
    )
    format = _choice_or_text(
        _("Format"),
        2000,
        [("", _("What it looks like")), *((name, name) for name in NAMES)],
        _("The format, as text:"),
        _("The server's own log_format, or a map of JSON fields."),
    )
    decides = forms.ChoiceField(
        label=_("What decides"),
        choices=DECIDES,
        initial=RULE,
        widget=forms.RadioSelect,
    )
    rule = forms.ChoiceField(label=_("Rule"), required=False)
    rates = _line(
        _("Limits"),
        200,
        "5/s; 100/m",
        _("Such as 10/m, or 5/s; 100/m. For a rule of this site: leave it empty for the limits that it has."),
    )
    applies_to = forms.ChoiceField(label=_("Applies to"), required=False, choices=[(each.value, each.label) for each in _PLACES])
    pattern = _line(_("Path or route"), 500, "/login/")
    methods = forms.CharField(label=_("Methods"), required=False, max_length=200, widget=MethodsInput())
    key = _choice_or_text(
        _("Count per"),
        500,
        KEYS,
        _("Something else, as text:"),
        _("Such as ip, user_or_ip, header:x-api-key, or several joined by +."),
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
        initial = dict.fromkeys(("rule", "recording"), request.GET.get("rule", ""))
        data, files = (request.POST, request.FILES) if is_sent else (None, None)
        super().__init__(data, files, auto_id="rw-backtest-%s", label_suffix="", initial=initial)
        self._request = request
        # Who may see only one of both would learn the other, by a log of all addresses.
        self._sees_overrides = may_look_up(request)
        if not self._sees_overrides:
            self.fields["decides"].choices = [each if each[0] != SITE else _SITE_ALONE for each in DECIDES]  # type: ignore[attr-defined]
        self._offer_rules({rule.name: (rule, recording, window) for rule, recording, window in recordings.recorded()})
        self.plan: Plan | None = None
        self.decided: list[Decided] = []
        self.rule_name = ""
        self.recorded: Recorded | None = None

    def _offer_rules(self, recorded: Mapping[str, Any]) -> None:
        """Those of this site, and those of which something is recorded; without any of these there is nothing to choose."""
        self._recorded, fields = recorded, self.fields
        fields["rule"].choices = [(name, name) for name in _names()]  # type: ignore[attr-defined]
        fields["recording"].choices = [(name, f"{name}: {found[2].text}") for name, found in recorded.items()]  # type: ignore[attr-defined]
        if not recorded:
            del fields["source"], fields["recording"]
        for name in _SHOWN.keys() & fields.keys():
            fields[name].widget.attrs["data-rw-shown"] = _SHOWN[name]

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
        if cleaned.get("source") == RECORDING:
            for name in self.errors.keys() - {"source", "recording"}:  # the other fields are about logs
                del self.errors[name]
        if self.errors:
            return cleaned
        if cleaned.get("source") == RECORDING:
            self._look_at_recording(cleaned["recording"])
            return cleaned
        logs = {name: cleaned[name] for name in ("log", "compare") if cleaned[name] is not None}
        if self._are_within_bounds(logs) and (plan := self._planned(cleaned)) is not None:
            self._decide(logs, plan, cleaned)
        return cleaned

    def _look_at_recording(self, name: str) -> None:
        if name not in self._recorded:
            self.add_error("recording", gettext("Choose what was recorded."))
            return
        rule, recording, window = self._recorded[name]
        found = recorded_peaks.found(recording)
        if found.clients:
            self.recorded = Recorded(rule, recording, window, found)
        else:
            self.add_error("recording", gettext("In the time that was recorded, no client met this limit."))

    def _are_within_bounds(self, logs: Mapping[str, Any]) -> bool:
        if "log" not in logs:
            self.add_error("log", self.fields["log"].error_messages["required"])
            return False
        size = sum(log.size for log in logs.values())
        if size <= MOST_BYTES:
            return True
        values = {"size": number(round(size / MB)), "most": number(MOST_BYTES // MB), "command": COMMAND, "log": logs["log"].name}
        if len(logs) == 1:
            text = gettext("This file has %(size)s MB, and at most %(most)s can be sent here. Use %(command)s %(log)s instead.")
        else:
            text = gettext(
                "Both files have %(size)s MB, and at most %(most)s can be sent here. Use %(command)s %(log)s --compare instead."
            )
        self.add_error("log", text % values)
        return False

    def _planned(self, cleaned: Mapping[str, Any]) -> Plan | None:
        is_rule = cleaned["decides"] == RULE
        if is_rule and not cleaned["rule"]:
            self.add_error("rule", gettext("Choose a rule."))
            return None
        try:
            return self._plan(cleaned)
        except ValueError as error:
            self.add_error("rule" if is_rule and not cleaned["rates"] else "rates", _said(error))
            return None

    def _plan(self, cleaned: Mapping[str, Any]) -> Plan:
        match cleaned["decides"]:
            case "site":
                return of_site(self._sees_overrides)
            case "rule":
                self.rule_name = cleaned["rule"]
                return of_rule(cleaned["rule"], cleaned["rates"])
        kind = _PLACES[AppliesTo(cleaned["applies_to"] or AppliesTo.ALL)]
        where = {kind: cleaned["pattern"]} if kind else {}
        return of_rates(cleaned["rates"], cleaned["key"], methods=cleaned["methods"], **where)

    def _decide(self, logs: Mapping[str, Any], plan: Plan, cleaned: Mapping[str, Any]) -> None:
        """Each log by the same rules, within its part of the bounds."""
        most = replace(MOST, requests=MOST.requests // len(logs), seconds=MOST.seconds / len(logs))
        decided = []
        for name, file in logs.items():
            try:
                log = open_logs([file], cleaned["format"] or None, most)
                result = backtest(log, plan, cleaned["never"], with_peaks=True)
            except ValueError as error:
                self.add_error(name, _said(error))
                return
            decided.append(Decided(file.name, result, log.is_cut))
        self.plan, self.decided = plan, decided


def _names() -> list[str]:
    return sorted({*RateRule.objects.values_list("name", flat=True), *code_rates.names()})


def _said(error: ValueError) -> str:
    """The text of an error as a sentence, also of one that quotes bytes that are no text."""
    text = translated(error).encode("utf-8", "backslashreplace").decode()
    return text if category(text[-1]) in ("Po", "Pf") else gettext("%s.") % text  # such as . and 。, or the end of a quotation
