"""A report in one sentence: all is quiet, or a rule refuses a large share of its requests."""

import math
from dataclasses import dataclass

from django.utils.formats import number_format

from ratewindow.reporting.report import Report

# A rule that refuses a few requests, or one in twenty, is not worth a warning.
QUIET_COUNT = 10
QUIET_SHARE = 0.05


@dataclass(frozen=True)
class Summary:
    """`text` for people; `quiet` if it asks nothing of them."""

    text: str
    quiet: bool = True


def number(value: int) -> str:
    return number_format(value, use_l10n=True, force_grouping=True)


def percent(part: int, whole: int) -> str:
    """``"38 %"``, ``"0.4 %"``; never zero if `part` is not."""
    if not part or not whole:
        return "0 %"
    share = 100 * part / whole
    if share < 0.1:
        return "< 0.1 %"
    if share < 9.95:
        return f"{number_format(round(share, 1), 1)} %"  # which cuts where it does not round
    if 99 <= share < 100:
        return f"{number_format(math.floor(share * 10) / 10, 1)} %"  # rounded down, so that only all is 100 %
    return f"{share:.0f} %"


def summary(report: Report) -> Summary:
    total, when = report.total, report.period.words
    in_time = f" in {when}" if when else ""
    if not total.met:
        met = "met" if report.live else "is known to have met"
        return Summary(f"No request {met} a rule{in_time}.")
    passed = f"{number(total.passed)} passed"
    loud = [(sums.refused, name) for name, sums in report.rules.items() if _stands_out(sums.refused, sums.met)]
    if loud:
        name = max(loud)[1]
        sums = report.rules[name]
        others = total.refused - sums.refused
        rest = f" All other rules together refused {number(others)}." if others else ""
        part = f"{number(sums.refused)} of {number(sums.met)} requests ({percent(sums.refused, sums.met)})"
        return Summary(f"{name} refuses {part}{in_time}.{rest}", quiet=False)
    name, sums = max(report.rules.items(), key=lambda item: item[1].would_refuse)
    refused = f"{number(total.refused) if total.refused else 'none'} refused"
    if _stands_out(sums.would_refuse, sums.met):
        part = f"{number(sums.would_refuse)} of {number(sums.met)} ({percent(sums.would_refuse, sums.met)})"
        return Summary(f"{passed}, {refused}{in_time}. Enforced, {name} would have refused {part}.")
    opening = "All quiet." if report.live else "As far as the database knows:"
    return Summary(f"{opening} {passed}, {refused}{in_time}.")


def _stands_out(part: int, whole: int) -> bool:
    return part >= QUIET_COUNT and part > QUIET_SHARE * whole
