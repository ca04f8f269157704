"""A report in one sentence: all is quiet, or a rule refuses a large share of its requests."""

import math
from dataclasses import dataclass

from django.utils.formats import number_format
from django.utils.translation import gettext

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
    return gettext("%s %%") % _percentage(part, whole)


def _percentage(part: int, whole: int) -> str:
    if not part or not whole:
        return "0"
    share = 100 * part / whole
    if share < 0.1:
        return "< 0.1"
    if share < 9.95:
        return number_format(round(share, 1), 1)  # which cuts where it does not round
    if 99 <= share < 100:
        return number_format(math.floor(share * 10) / 10, 1)  # rounded down, so that only all is 100 %
    return f"{share:.0f}"


def summary(report: Report, is_usual: bool = False, counts_alone: bool = False) -> Summary:
    """`is_usual` if it has been compared with earlier times; `counts_alone` says what passed and was refused, and no more."""
    total = report.total
    if not total.met:
        return Summary(_in_time(report, _nothing_met(report)))
    is_usual = is_usual and report.live
    loud = [(sums.refused, name) for name, sums in report.rules.items() if _stands_out(sums.refused, sums.met)]
    if loud and not is_usual and not counts_alone:
        name = max(loud)[1]
        sums = report.rules[name]
        values = {"rule": name, "part": number(sums.refused), "met": number(sums.met), "share": percent(sums.refused, sums.met)}
        text = _in_time(report, gettext("%(rule)s refuses %(part)s of %(met)s requests (%(share)s)") % values)
        if others := total.refused - sums.refused:
            text += " " + gettext("All other rules together refused %s.") % number(others)
        return Summary(text, quiet=False)
    name, sums = max(report.rules.items(), key=lambda item: item[1].would_refuse)
    values = {"passed": number(total.passed), "refused": number(total.refused)}
    counts = gettext("%(passed)s passed, %(refused)s refused") if total.refused else gettext("%(passed)s passed, none refused")
    text = _in_time(report, counts % values, is_usual)
    if counts_alone:
        return Summary(text)
    if _stands_out(sums.would_refuse, sums.met):
        share = percent(sums.would_refuse, sums.met)
        values = {"rule": name, "part": number(sums.would_refuse), "met": number(sums.met), "share": share}
        would = gettext("Enforced, %(rule)s would have refused %(part)s of %(met)s (%(share)s).")
        return Summary(f"{text} {would % values}")
    if not report.live:
        return Summary(f"{gettext('As far as the database knows:')} {text}")
    return Summary(f"{gettext('All quiet.')} {text}" if is_usual and total.refused <= QUIET_SHARE * total.met else text)


def _nothing_met(report: Report) -> str:
    return gettext("No request met a rule") if report.live else gettext("No request is known to have met a rule")


def _in_time(report: Report, text: str, is_usual: bool = False) -> str:
    """A sentence of what was in the time of the report."""
    if not report.period.words:
        return (gettext("%s; nothing unusual.") if is_usual else gettext("%s.")) % text
    sentence = gettext("%(what)s in %(time)s; nothing unusual.") if is_usual else gettext("%(what)s in %(time)s.")
    return sentence % {"what": text, "time": report.period.words}


def _stands_out(part: int, whole: int) -> bool:
    return part >= QUIET_COUNT and part > QUIET_SHARE * whole
