"""The parts of the report page as plain values: choices of a period, figures, rules, advice."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext

from ratewindow import conf
from ratewindow.admin.wording import mode_in_words, sentence
from ratewindow.models import RateRule, ThrottleStat
from ratewindow.reporting.periods import CHOICES
from ratewindow.reporting.report import Report
from ratewindow.reporting.summary import number, percent
from ratewindow.rules import code_rates
from ratewindow.rules.rule import BLOCKS

MOST_RULES = 100  # in the table; a report of a single rule shows any other
MIDDLEWARE = "ratewindow.middleware.RateWindowMiddleware"


@dataclass(frozen=True)
class Choice:
    label: str
    words: str
    query: str
    chosen: bool


def choices(chosen: str, rule: str) -> list[Choice]:
    """Links to the periods, each with the chosen rule."""
    return [
        Choice(str(label), str(words), urlencode({"period": name, **({"rule": rule} if rule else {})}), name == chosen)
        for name, (__, label, words) in CHOICES.items()
    ]


@dataclass(frozen=True)
class Figure:
    name: str
    label: str
    value: str
    note: str
    nothing: bool


def figures(report: Report) -> list[Figure]:
    """Four totals, each with what it is a part of; a fifth if other rules refused requests that these rules met."""
    total = report.total

    def share(part: int) -> str:
        values = {"percent": percent(part, total.met), "met": number(total.met), "near": number(total.near)}
        near = part is total.passed and total.near
        return (gettext("%(percent)s of %(met)s; %(near)s near a limit") if near else gettext("%(percent)s of %(met)s")) % values

    parts = (
        ("passed", gettext("Passed"), total.passed, share(total.passed)),
        ("refused", gettext("Refused"), total.refused, share(total.refused)),
        *([("other", gettext("Refused by another rule"), total.other, share(total.other))] if total.other else []),
        ("would", gettext("Would refuse"), total.would_refuse, gettext("of those passed, by rules in shadow")),
    )
    lines = [Figure(name, label, number(value), note, not value) for name, label, value, note in parts]
    known = report.live or total.fallback
    fallback = (number(total.fallback), gettext("as each rule says for that")) if known else ("–", gettext("not known"))
    return [*lines, Figure("fallback", gettext("Decided without Redis"), *fallback, not total.fallback)]


@dataclass(frozen=True)
class RuleLine:
    """What one rule did. `mode` is that of its row, ``code`` without a row, ``gone`` without either, empty for blocks."""

    name: str
    sentence: str
    mode: str
    mode_label: str
    url: str
    passed: str
    refused: str
    other: str
    share: str
    share_width: int  # of a bar of 100
    would_refuse: str


def rule_lines(report: Report, may_open: bool) -> list[RuleLine]:
    """The rules that were met, those that refuse most first."""
    order = sorted(report.rules.items(), key=lambda item: (-item[1].refused, -item[1].would_refuse, -item[1].passed, item[0]))
    met = [(name, sums) for name, sums in order if sums.met][:MOST_RULES]
    rows = {row.name: row for row in RateRule.objects.filter(name__in=[name for name, _ in met]).prefetch_related("windows")}
    in_code, blocked = code_rates.names(), gettext("Requests of blocked clients that met no enforced rule.")
    lines = []
    for name, sums in met:
        row = rows.get(name)
        if name == BLOCKS:
            mode, label = "", ""  # a line of blocked requests, which is no rule
        elif row:
            mode, label = row.mode, mode_in_words(row)
        else:
            mode, label = ("code", gettext("In code")) if name in in_code else ("gone", gettext("Deleted"))
        lines.append(
            RuleLine(
                name=name,
                sentence=sentence(row) if row else blocked if name == BLOCKS else "",
                mode=mode,
                mode_label=label,
                url=reverse("admin:ratewindow_raterule_change", args=[row.pk]) if row and may_open else "",
                passed=number(sums.passed),
                refused=number(sums.refused),
                other=number(sums.other),
                share=percent(sums.refused, sums.met),
                share_width=max(2, round(100 * sums.refused / sums.met)) if sums.refused else 0,  # visible if there was any
                would_refuse=number(sums.would_refuse),
            )
        )
    return lines


def rule_names(chosen: str) -> list[str]:
    """The rules to choose from. A deleted rule is one only if it is `chosen` already: there may be many."""
    deleted = {chosen} if chosen and ThrottleStat.objects.filter(rule=chosen).exists() else set()
    return sorted({*RateRule.objects.values_list("name", flat=True), *code_rates.names(), *deleted})


@dataclass(frozen=True)
class Advice:
    text: str
    url: str = ""
    code: str = ""


def advice(may_add: bool) -> Iterator[Advice]:
    """What to do if nothing was counted."""
    if not conf.current().stats:
        yield Advice(gettext("Statistics are switched off. Remove this from RATEWINDOW in settings.py:"), code='"STATS": False')
    if not RateRule.objects.exists() and not code_rates.names():
        yield Advice(
            gettext("There is no rule yet. Add one: it starts in shadow, where it counts and refuses nobody."),
            url=reverse("admin:ratewindow_raterule_add") if may_add else "",
        )
    if MIDDLEWARE not in settings.MIDDLEWARE:
        yield Advice(
            gettext("Rules for paths need the middleware. Add it in settings.py, after AuthenticationMiddleware:"),
            code=f'MIDDLEWARE += ["{MIDDLEWARE}"]',
        )
