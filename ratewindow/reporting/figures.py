"""The totals of a report, each with what it is a part of and its change against the period before."""

from dataclasses import dataclass

from django.utils.translation import gettext

from ratewindow.reporting.change import change
from ratewindow.reporting.report import Report
from ratewindow.reporting.summary import number, percent
from ratewindow.reporting.sums import NUMBERS
from ratewindow.reporting.usual import Earlier


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

    def share(part: int, near: int = 0) -> str:
        values = {"percent": percent(part, total.met), "met": number(total.met), "near": number(near)}
        return (gettext("%(percent)s of %(met)s; %(near)s near a limit") if near else gettext("%(percent)s of %(met)s")) % values

    parts = (
        ("passed", gettext("Passed"), total.passed, share(total.passed, total.near)),
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
