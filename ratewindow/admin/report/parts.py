"""The parts of the report page as plain values: choices of a period, figures, advice."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext

from ratewindow import conf
from ratewindow.admin.report.change import change
from ratewindow.admin.report.form import ReportForm
from ratewindow.models import RateRule
from ratewindow.reporting.periods import CHOICES, Period
from ratewindow.reporting.report import Report
from ratewindow.reporting.summary import number, percent
from ratewindow.reporting.sums import NUMBERS
from ratewindow.reporting.usual import Earlier
from ratewindow.rules import code_rates

MIDDLEWARE = "ratewindow.middleware.RateWindowMiddleware"


@dataclass(frozen=True)
class Choice:
    label: str
    words: str
    query: str
    chosen: bool


def choices(form: ReportForm) -> list[Choice]:
    """Links to the periods, each with the chosen rule and mode."""
    return [
        Choice(str(label), str(words), form.query(period=name), name == form.chosen())
        for name, (__, label, words) in CHOICES.items()
    ]


def next_longer(period: Period) -> str:
    """The name of the shortest period to choose that is longer than this one."""
    return next((name for name, (length, __, __) in CHOICES.items() if length > period.end - period.start), [*CHOICES][-1])


@dataclass(frozen=True)
class Figure:
    name: str
    label: str
    value: str
    change: str  # against the period before; empty if that is not known
    note: str
    nothing: bool


def figures(report: Report, earlier: Earlier) -> list[Figure]:
    """Four totals, each with what it is a part of; a fifth if other rules refused requests that these rules met."""
    total, before = report.total, earlier.total_before

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
    changes = dict(zip(NUMBERS, map(change, total.numbers, before.numbers), strict=True)) if before else {}
    lines = [
        Figure(name, label, number(value), changes.get(_COLUMNS.get(name, name), ""), note, not value)
        for name, label, value, note in parts
    ]
    known = report.live or total.fallback
    fallback = (number(total.fallback), "", gettext("as each rule says for that")) if known else ("–", "", gettext("not known"))
    return [*lines, Figure("fallback", gettext("Decided without Redis"), *fallback, not total.fallback)]


_COLUMNS = {"would": "would_refuse"}  # of figures that are called otherwise


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
