"""The form of the report, and what its templates show: the sentence, the chart, who is refused, what each rule did, and what
can be done."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy as _

from ratewindow import conf, rooms
from ratewindow.admin.base import reverse
from ratewindow.admin.overrides.client import ADD, of_client, url
from ratewindow.admin.rights import display, may_see, may_switch
from ratewindow.admin.state import glance
from ratewindow.admin.wording import FAILED, LIMIT_OR_BLOCK, REFUSED, mode_in_words, sentence
from ratewindow.conf import time_zone
from ratewindow.conf.in_words import number, percent
from ratewindow.limiter.durations import format_duration
from ratewindow.limiter.types import Window
from ratewindow.models import RateRule, ThrottleStat
from ratewindow.operations.lockout import may_view_overrides
from ratewindow.overrides.subjects import EVERYBODY, masked
from ratewindow.report.offenders import Name, Offenders
from ratewindow.report.reading import Reading, read
from ratewindow.report.report import CHOICES, DAY, HOUR, LONGEST, WITHOUT_BLOCKS, Period, Report, between, last
from ratewindow.report.spells import WOULD_REFUSE
from ratewindow.report.summary import chart_data, clients, figures, long_label, span, summary, table, who_was_refused
from ratewindow.rooms import Link
from ratewindow.rulebook import current
from ratewindow.rules import code_rates
from ratewindow.rules.rule import BLOCKS
from ratewindow.store import process_clients

DEFAULT = "1h"
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
        start, end = self._value("start"), self._value("end")
        if start:
            return between(start, min(end, now) if end else now, now)
        return last(self.chosen(), now)

    def read(self, most: int = 40) -> Reading:
        """`most` names of each kind: clients, networks."""
        now = time_zone.now()
        return read(self.to_period(now), self.rules(), now, most, ask_redis=glance(self._request)["store"]["reachable"])

    def _value(self, name: str) -> Any:
        return self.cleaned_data.get(name) if self.is_valid() else None


def _rule_names(chosen: str) -> set[str]:
    """The rules to choose from. A deleted rule is one only if it is `chosen` already: there may be many."""
    deleted = {chosen} if chosen and ThrottleStat.objects.filter(rule=chosen).exists() else set()
    return {*RateRule.objects.values_list("name", flat=True), *code_rates.load_names(), *deleted}


OFTEN_S, SELDOM_S = 5, 60  # how often an hour, and a longer period, is read again


def body_context(request: HttpRequest, reading: Reading, form: ReportForm) -> dict[str, Any]:
    """What ``body.html`` shows."""
    report, marks = reading.report, list(_marks(request, reading.report, form.rule_name()))
    labels = {
        "passed": gettext("Passed"),
        "would": gettext("Would refuse"),
        "refused": gettext("Refused"),
        "zoom": gettext("%s to %s: press Enter to see this time alone, Escape to leave."),
    }
    bound = reading.offenders.bound.rank
    return {
        "report": report,
        "summary": summary(reading, partial(display, request)),
        "is_loud": any(spell.outcome != WOULD_REFUSE for spell in reading.spells),
        "span": span(report),
        "links": _links(request, reading),
        "figures": figures(report),
        "steps": table(report),
        "chart": {**chart_data(report), "labels": labels, "marks": marks, "query": form.query(period="")},
        "marks": marks,
        "who": client_lines(request, reading.offenders),
        "who_was_refused": who_was_refused(reading.offenders),
        "bound": number(bound) if bound else "",
        "masked": not may_see(request),
        "hashed": conf.current().anonymize == "all",
        "rules": list(rule_lines(request, report)),
        "reasons": reasons(report, with_blocks=may_view_overrides(request)),
        "stats": conf.current().stats,
    }


def filter_context(request: HttpRequest, reading: Reading, form: ReportForm) -> dict[str, Any]:
    """The period, the rule, the files, how often the rest is read again, and whether counts are collected."""
    period, query = reading.report.period, form.query()
    every_s = OFTEN_S if period.end - period.start <= 2 * HOUR else SELDOM_S
    return {
        "form": form,
        "choices": [
            {"label": label, "query": form.query(period=name), "chosen": name == form.chosen()}
            for name, (__, label, __) in CHOICES.items()
        ],
        "is_late": _is_late(reading),
        # A report up to now, whose numbers change.
        "live": {"url": f"?{query}&live=1", "every": every_s} if form.is_valid() and not form.cleaned_data["end"] else None,
    }


def _links(request: HttpRequest, reading: Reading) -> list[Link]:
    """What can be done about the first spell: about who is behind it, and about its rule."""
    if reading.behind is None:
        return []
    spell, who = reading.spells[0], reading.behind.value
    reason = gettext("%(rule)s refuses %(count)s requests") % {"rule": spell.rule, "count": number(spell.count)}
    return [*(on_client(request, who, reason) if who else ()), *on_rule(request, spell.rule, reason)]


def _is_late(reading: Reading) -> bool:
    """Whether counts have waited for a collector, which runs every minute, for an hour: those of a process that was late may."""
    waits = not process_clients.in_memory() and any(start < reading.now - HOUR for start, _ in reading.report.known.sums)
    return waits and not ThrottleStat.objects.filter(resolution="minute", start__gt=reading.now - HOUR).exists()


def _marks(request: HttpRequest, report: Report, rule: str) -> Iterator[dict[str, object]]:
    """What rooms mark on the chart: `step` is the number of the bar at which it is."""
    period, steps = report.period, {start: number for number, start in enumerate(report.steps)}
    for mark in (mark for room in rooms.installed() for mark in room.report_marks(request, report, rule)):
        step = steps.get(period.step_of(mark.at))
        if step is not None:
            when = long_label(period, mark.at) if period.step >= DAY else f"{time_zone.local(mark.at):%H:%M}"
            yield {"step": step, "when": when, "short": mark.short, "text": mark.text, "url": mark.url}


MOST_CLIENTS = 10  # networks, and clients of none of these
MOST_RULES = 100  # in the table; a report of a single rule shows any other


def client_lines(request: HttpRequest, found: Offenders) -> list[dict[str, Any]]:
    """Networks with their clients as `members`, then other clients, those most refused first; masked for who may not see them."""
    total = found.total.refused + found.total.would_refuse

    def line(name: Name, members: Sequence[Name] = ()) -> dict[str, Any]:
        in_shadow = gettext("Would be refused: %s.") % number(name.would_refuse)
        return {
            "who": display(request, name.value),
            "note": clients(name.clients) if name.clients.number else "",
            "refused": number(name.refused),
            "would_refuse": number(name.would_refuse),
            "share": percent(name.rank, total),  # of all requests that were refused, or would have been
            "links": on_client(
                request, name.value, gettext("Refused %s times") % number(name.refused) if name.refused else in_shadow
            ),
            "members": [line(client) for client in members],
        }

    networks = found.networks[:MOST_CLIENTS]
    inside: defaultdict[str, list[Name]] = defaultdict(list)
    for client in found.clients:
        inside[client.inside if client.inside in {network.value for network in networks} else ""].append(client)
    return [*(line(name, inside[name.value]) for name in networks), *map(line, inside[""][:MOST_CLIENTS])]


def rule_lines(request: HttpRequest, report: Report) -> Iterator[dict[str, Any]]:
    """The rules that requests matched, those that refuse most first."""
    may_open = request.user.has_perm("ratewindow.view_raterule")
    order = sorted(report.rules.items(), key=lambda item: (-item[1].refused, -item[1].would_refuse, -item[1].passed, item[0]))
    met = [(name, sums) for name, sums in order if sums.met][:MOST_RULES]
    rows = {row.name: row for row in RateRule.objects.filter(name__in=[name for name, _ in met]).prefetch_related("windows")}
    for name, sums in met:
        row = rows.get(name)
        mode, label, said = _described(name, row)
        yield {
            "name": name,
            "sentence": said,
            "mode": mode,
            "mode_label": label,
            "url": reverse("admin:ratewindow_raterule_change", [row.pk], request) if row and may_open else "",
            "passed": number(sums.passed),
            "refused": number(sums.refused),
            "other": number(sums.other),
            "share": percent(sums.refused, sums.met),
            "share_width": max(2, round(100 * sums.refused / sums.met)) if sums.refused else 0,  # visible if there was any
            "would_refuse": number(sums.would_refuse),
            "links": on_rule(request, name, gettext("Refused %s times") % number(sums.refused)) if sums.refused else [],
        }


def _described(name: str, row: RateRule | None) -> tuple[str, str, str]:
    """The mode of its row, ``code`` without a row, ``gone`` without either; the mode's label; and the rule in a sentence."""
    if row is not None:
        return row.mode, mode_in_words(row), sentence(row)
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


def on_client(request: HttpRequest, identity: str, reason: str) -> list[Link]:
    """None where the reader may not see the client; a network is shown to all."""
    is_shown = may_see(request) or masked(identity) == identity
    return of_client(request, identity, reason=reason) if is_shown else []


def on_rule(request: HttpRequest, rule: str, reason: str) -> list[Link]:
    """Half of what the rule allows, for everybody; that takes the permission to switch all limits off."""
    known = current.rulebook().by_name.get(rule) or code_rates.rule(rule)
    rate = half_of(known.windows if known else ())
    if not rate or not request.user.has_perm("ratewindow.add_override") or not may_switch(request):
        return []
    given = {"identity": EVERYBODY, "action": "rate", "rule": rule, "rate": rate, "lasts": "1h", "reason": reason}
    return [Link(url(request, ADD, **given), gettext("Tighten %s…") % rule)]


def half_of(windows: Sequence[Window]) -> str:
    """``2/1m; 10/1h`` of ``5/1m; 20/1h``; empty if nothing less is left to allow."""
    if all(window.limit < 2 for window in windows):
        return ""
    return "; ".join(f"{max(1, window.limit // 2)}/{format_duration(window.period_ms)}" for window in windows)
