"""The form of the report, and what its templates show: the sentence, the chart, who is refused, what each rule did, and what
can be done."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy as _, pgettext

from ratewindow import conf, rooms, staff
from ratewindow.admin.base import reverse
from ratewindow.admin.report.remedies import on_client, on_rule, remedies
from ratewindow.admin.state import glance
from ratewindow.admin.wording import FAILED, LIMIT_OR_BLOCK, REFUSED, mode_in_words, short_sentence
from ratewindow.conf import time_zone
from ratewindow.conf.in_words import number, percent
from ratewindow.health import overview
from ratewindow.models import RateRule, ThrottleStat
from ratewindow.operations.rights import display, may_see, may_view_overrides, may_view_users
from ratewindow.overrides import users
from ratewindow.report.offenders import Name, Offenders, listed
from ratewindow.report.reading import Reading
from ratewindow.report.report import CHOICES, DAY, HOUR, LONGEST, Report, between, last
from ratewindow.report.spells import WOULD_REFUSE
from ratewindow.report.summary import about, chart_data, clients, figures, long_label, ranked, span, table, who_was_refused
from ratewindow.rules import code_rates
from ratewindow.rules.rule import BLOCKS

MOMENT = "%Y-%m-%dT%H:%M"


class ReportForm(forms.Form):
    """A form sent by GET, so that a report can be bookmarked and shared.

    Requests of blocked clients that matched no rule are a line for those who may know of blocks.
    """

    period = forms.ChoiceField(
        required=False, choices=[(name, label) for name, (__, label, __) in CHOICES.items()], widget=forms.HiddenInput
    )
    rule = forms.ChoiceField(required=False, label=_("Rule"))
    start = forms.DateTimeField(required=False, label=_("From"), widget=forms.DateTimeInput({"type": "datetime-local"}, MOMENT))
    end = forms.DateTimeField(required=False, label=_("To"), widget=forms.DateTimeInput({"type": "datetime-local"}, MOMENT))

    def __init__(self, request: HttpRequest, rule: str = "") -> None:
        """With a `rule` of that rule alone, and usually of a day."""
        super().__init__({"period": "24h", **request.GET.dict(), "rule": rule} if rule else request.GET, label_suffix="")
        self._request = request
        hidden = set() if may_view_overrides(request.user) else {BLOCKS}
        names = sorted(_rule_names(self.data.get("rule", "")) - hidden)
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
        return "" if self._value("start") else self._value("period") or "1h"

    def rule_name(self) -> str:
        return self._value("rule") or ""

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

    def read(self, most: int = 40) -> Reading:
        """`most` names of each kind: clients, networks."""
        now, status = time_zone.now(), glance(self._request).status
        start, end = self._value("start"), self._value("end") or now
        period = between(start, min(end, now), now) if start else last(self.chosen(), now)
        return staff.read_report(period, self.rule_name(), now, most, status, self._request.user)

    def _value(self, name: str) -> Any:
        return self.cleaned_data.get(name) if self.is_valid() else None


def _rule_names(chosen: str) -> set[str]:
    """The rules to choose from. A deleted rule is one only if it is `chosen` already: there may be many."""
    deleted = {chosen} if chosen and ThrottleStat.objects.filter(rule=chosen).exists() else set()
    return {*RateRule.objects.values_list("name", flat=True), *code_rates.load_names(), *deleted}


MEDIA = forms.Media(
    css={"all": ["ratewindow/vendor/uplot/uPlot.min.css"]},
    js=[
        forms.Script("ratewindow/vendor/uplot/uPlot.iife.min.js", defer=True),  # type: ignore[list-item]  # the stubs accept only str
        forms.Script("ratewindow/report.js", defer=True),  # type: ignore[list-item]
        forms.Script("ratewindow/report_live.js", defer=True),  # type: ignore[list-item]
    ],
)


def body_context(request: HttpRequest, reading: Reading, form: ReportForm) -> dict[str, Any]:
    """What ``body.html`` shows."""
    report, marks = reading.report, list(_marks(request, reading.report, form.rule_name()))
    status = glance(request).status
    proxies = overview.proxies(status["processes"])
    rules = list(rule_lines(request, report))
    first, show = next(iter(reading.spells), None), partial(display, request.user)
    told = staff.without_proxy(reading, status)
    behind, bound = told.behind, reading.offenders.bound.rank
    return {
        "report": report,
        "summary": staff.first_sentences(told, status, request.user),
        "warnings": [each for each in status["warnings"] if each not in proxies],
        "is_loud": any(spell.outcome != WOULD_REFUSE and spell.ongoing for spell in reading.spells),
        "span": span(report),
        "remedies": remedies(request, reading),
        "first_rule": next((line["sentence"] for line in rules if first is not None and line["name"] == first.rule), ""),
        "about": about(behind, first, show, _name(request, behind.value)) if behind and first else "",
        "figures": figures(report),
        "steps": table(report),
        "chart": {
            **chart_data(report),
            "labels": {
                "passed": gettext("Passed"),
                "would": gettext("Would refuse"),
                "refused": gettext("Refused"),
                "zoom": gettext("%s to %s: press Enter to see this time alone, Escape to leave."),
            },
            "marks": marks,
            "query": form.query(period=""),
        },
        "marks": marks,
        "who": client_lines(request, reading.offenders, form.rule_name()),
        "who_was_refused": who_was_refused(reading.offenders),
        "bound": number(bound) if bound else "",
        "masked": not may_see(request.user),
        "hashed": conf.current().anonymize == "all",
        "is_mistake": proxies or any(spell.everybody is not None for spell in reading.spells),
        "rules": rules,
        "reasons": reasons(report, with_blocks=may_view_overrides(request.user)),
        "stats": conf.current().stats,
    }


def _name(request: HttpRequest, identity: str) -> str:
    """The login name of a user, for who may see users."""
    kind, _, key = identity.partition(":")
    user = users.found(key) if kind == "user" and may_see(request.user) and may_view_users(request.user) else None
    return str(user.get_username()) if user is not None else ""


def filter_context(request: HttpRequest, reading: Reading, form: ReportForm) -> dict[str, Any]:
    """The period, the rule, and how often the rest is read again."""
    period, query = reading.report.period, form.query()
    every_s = 5 if period.end - period.start <= 2 * HOUR else 15  # an hour is read again more often than a longer period
    return {
        "form": form,
        "choices": [
            {"label": label, "query": form.query(period=name), "chosen": name == form.chosen()}
            for name, (__, label, __) in CHOICES.items()
        ],
        # A report up to now, whose numbers change.
        "live": {"url": f"?{query}&live=1", "every": every_s} if form.is_valid() and not form.cleaned_data["end"] else None,
    }


def _marks(request: HttpRequest, report: Report, rule: str) -> Iterator[dict[str, object]]:
    """What rooms mark on the chart: `step` is the number of the bar at which it is."""
    period, steps = report.period, {start: number for number, start in enumerate(report.steps)}
    for mark in (mark for marks_in in rooms.plugged("marks") for mark in marks_in(request, period, rule)):
        step = steps.get(period.step_of(mark.at))
        if step is not None:
            yield {
                "step": step,
                "when": long_label(period, mark.at) if period.step >= DAY else f"{time_zone.local(mark.at):%H:%M}",
                "short": mark.short,
                "text": mark.text,
                "url": mark.url,
            }


MOST_RULES = 100  # in the table; a report of a single rule shows any other


def client_lines(request: HttpRequest, found: Offenders, rule: str = "") -> list[dict[str, Any]]:
    """Clients, and networks with their clients as `members`, those most refused first; masked for who may not see them. `rule`
    is the one that the report is about, if any."""

    def line(name: Name, members: Sequence[Name] = ()) -> dict[str, Any]:
        note = clients(name.clients) if name.clients.number else pgettext("network", "in %s") % name.hint if name.hint else ""
        return {
            "who": display(request.user, name.value),
            "note": note,
            "refused": number(name.refused),
            "would_refuse": number(name.would_refuse),
            "share": percent(name.refused, found.total.refused)
            if found.total.refused
            else percent(name.would_refuse, found.total.would_refuse),
            "links": on_client(request, name.value, rule),
            "members": [line(client) for client in members],
        }

    return [line(name, members) for name, members in listed(found)[: staff.MOST_CLIENTS]]


def rule_lines(request: HttpRequest, report: Report) -> Iterator[dict[str, Any]]:
    """The rules of `ranked`."""
    may_open = request.user.has_perm("ratewindow.view_raterule")
    met = ranked(report)[:MOST_RULES]
    rows = {row.name: row for row in RateRule.objects.filter(name__in=[name for name, _ in met]).prefetch_related("windows")}
    for name, sums in met:
        row = rows.get(name)
        mode, label, said = _described(name, row)
        yield {
            "name": name,
            "sentence": said,
            "mode": mode,
            "mode_label": label,
            "url": reverse("admin:ratewindow_raterule_look", [row.pk], request) if row and may_open else "",
            "passed": number(sums.passed),
            "refused": number(sums.refused),
            "other": number(sums.other),
            "share": percent(sums.refused, sums.met),
            "share_width": max(2, round(100 * sums.refused / sums.met)) if sums.refused else 0,  # visible if there was any
            "would_refuse": number(sums.would_refuse),
            "links": on_rule(request, name) if sums.refused else [],
        }


def _described(name: str, row: RateRule | None) -> tuple[str, str, str]:
    """The mode of its row, ``code`` without a row, ``gone`` without either; the mode's label; and the rule in a sentence."""
    if row is not None:
        return row.mode, mode_in_words(row), short_sentence(row)
    if name == BLOCKS:  # a line of blocked requests, which is no rule
        return "", "", gettext("Requests of blocked clients that matched no enforced rule.")
    return ("code", gettext("In code"), "") if name in code_rates.load_names() else ("gone", gettext("Deleted"), "")


def reasons(report: Report, with_blocks: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Why requests were refused, and why decisions were made without Redis. Without blocks a reader does not learn which
    refusals they made."""
    tally = Counter(report.tallies.reasons)
    if not with_blocks:
        tally[LIMIT_OR_BLOCK] = tally.pop("limit", 0) + tally.pop("block", 0)
    refused = {name: count for name, count in tally.items() if count and ":" not in name}
    failed = {name: count for name, count in tally.items() if ":" in name}
    return [*_reasons(refused, REFUSED, report.total.refused)], [*_reasons(failed, FAILED, report.total.met)]


def _reasons(counts: Mapping[str, int], words: Mapping[str, Any], whole: int) -> Iterator[dict[str, Any]]:
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield {"words": words.get(name, name), "name": name, "count": number(count), "share": percent(count, whole)}
