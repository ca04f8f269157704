"""A report as people read it: the sentences on top, figures, the chart and its table."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.utils.formats import date_format
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy as _, ngettext, pgettext

from ratewindow.conf import time_zone
from ratewindow.conf.in_words import filled, number, percent
from ratewindow.counting.sums import NOTHING, Sums
from ratewindow.overrides.subjects import is_target
from ratewindow.report.offenders import HowMany, Offenders
from ratewindow.report.reading import Behind, Reading
from ratewindow.report.report import DAY, HOUR, LEFT_OUT, MINUTE, Period, Report
from ratewindow.report.spells import REFUSED, SHARE, WOULD_REFUSE, Everybody, Spell, is_large


def table(report: Report) -> list[tuple[str, list[str]]]:
    """A label for each step, the newest first, and its requests that passed, were refused, by this rule or another, or would
    have been refused."""
    steps = reversed([*report.steps.items()])
    return [(long_label(report.period, start), [*map(number, sums.numbers[:4])]) for start, sums in steps]


def span(report: Report) -> str:
    """Start, end and time zone of a report, as text."""
    start, end = (long_label(report.period, moment) for moment in (report.period.start, report.period.end))
    return gettext("%(start)s to %(end)s, %(zone)s") % {"start": start, "end": end, "zone": report.period.zone}


def chart_data(report: Report) -> dict[str, Any]:
    """The chart's data as JSON. It has labels instead of times, so that the script needs no time zone."""
    period, columns = report.period, list(report.steps.values())
    step_s = int(period.step.total_seconds())
    return {
        "step": step_s,
        # The number of each step by the wall clock: a tick stands where it divides evenly, at 12:00 and not at 12:03.
        "wall": [int(period.local(start).replace(tzinfo=UTC).timestamp()) // step_s for start in report.steps],
        "short": [_short_label(period, start) for start in report.steps],
        "long": [long_label(period, start) for start in report.steps],
        "from": [_typed(start) for start in report.steps],
        "to": _typed(period.end),
        "passed": [sums.passed for sums in columns],
        "refused": [sums.refused for sums in columns],
        "would_refuse": [sums.would_refuse for sums in columns],
    }


def long_label(period: Period, start: datetime) -> str:
    """``"Fri 20 Nov, 14:00"``; a step of days needs no time."""
    local = period.local(start)
    return date_format(local, pgettext("date format", "D j M Y") if period.step >= DAY else pgettext("date format", "D j M, H:i"))


def _typed(moment: datetime) -> str:
    """As the form of the report takes it."""
    return f"{time_zone.local(moment):%Y-%m-%dT%H:%M}"


def _short_label(period: Period, start: datetime) -> str:
    local = period.local(start)
    is_day = period.step >= DAY or (period.step >= HOUR and local.hour == local.minute == 0)
    return date_format(local, pgettext("date format", "j M") if is_day else pgettext("date format", "H:i"))


def figures(report: Report) -> list[dict[str, Any]]:
    """Totals, with `name`, `label`, `value` and `note`: three, and more where there is anything to tell."""
    total = report.total

    def share(part: int) -> str:
        return gettext("%(percent)s of %(met)s") % {"percent": percent(part, total.met), "met": number(total.met)}

    of_passed = gettext("of those passed, by rules in shadow") if report.chosen in LEFT_OUT else gettext("of those passed")
    parts = (
        ("passed", gettext("Passed"), total.passed, share(total.passed)),
        ("refused", gettext("Refused"), total.refused, share(total.refused)),
        *([("other", gettext("Refused by another rule"), total.other, share(total.other))] if total.other else []),
        ("would", gettext("Would refuse"), total.would_refuse, of_passed),
        *([("fallback", gettext("Decided without Redis"), total.fallback, share(total.fallback))] if total.fallback else []),
    )
    return [
        {"name": name, "label": label, "value": number(value), "note": note, "nothing": not value}
        for name, label, value, note in parts
    ]


# By outcome, and by whether it goes on.
_HAPPENS = {
    (REFUSED, True): _("%(rule)s has refused %(count)s requests since %(start)s."),
    (REFUSED, False): _("%(rule)s refused %(count)s requests from %(start)s to %(end)s."),
    (WOULD_REFUSE, True): _("%(rule)s, in shadow, would have refused %(count)s requests since %(start)s."),
    (WOULD_REFUSE, False): _("%(rule)s, in shadow, would have refused %(count)s requests from %(start)s to %(end)s."),
}
_OTHERS = {
    REFUSED: _("Of the %(count)s other requests under %(rule)s %(share)s were refused."),
    WOULD_REFUSE: _("Of the %(count)s other requests under %(rule)s %(share)s would have been refused."),
}


def summary(reading: Reading, show: Callable[[str], str]) -> str:
    """What people should know first; `show` says how an identity is shown to the reader."""
    report = reading.report
    if reading.behind is None:
        return _quiet(report, reading.usual is not None and report.known.live)
    first, *others = reading.spells
    if first.everybody is not None:
        sentences = [refuses_everybody(first, first.everybody)]
    else:
        sentences = [_what(first), *([gettext("Over now.")] if first.outcome == REFUSED and not first.ongoing else [])]
        if reading.usual is not None:
            sentences.append(gettext("Usually it is %s in that time.") % number(round(first.usual)))
        sentences += _who(first, reading.behind, show)
    refusing = (spell.rule for spell in others if spell.outcome == REFUSED and spell.ongoing and spell.rule != first.rule)
    if names := ", ".join(dict.fromkeys(refusing)):
        sentences.append(gettext("Unusual, too: %s.") % names)
    if first.outcome == WOULD_REFUSE:
        sentences.append(_counts(report))
    return " ".join(sentences)


def ranked(report: Report) -> list[tuple[str, Sums]]:
    """The rules that requests matched, those that refuse most first."""
    order = sorted(report.rules.items(), key=lambda item: (-item[1].refused, -item[1].would_refuse, -item[1].passed, item[0]))
    return [(name, sums) for name, sums in order if sums.met]


def refuses_everybody(spell: Spell, everybody: Everybody) -> str:
    """``oops refuses nearly everybody: 97 % of all requests, 60 clients, since 06:03, when root changed it.``"""
    edit = everybody.edit
    since = time_zone.in_short(edit.at if edit else spell.start)
    many = clients(HowMany(spell.visitors.number))
    part = gettext("%s of all requests") if everybody.of_all else gettext("%s of its requests")
    values = {
        "rule": spell.rule,
        "part": part % percent(round(1000 * everybody.share), 1000),
        "count": number(spell.count),
        "clients": many if spell.visitors.exact else gettext("about %s") % many,
        "start": gettext("%(time)s, when %(by)s changed it") % {"time": since, "by": edit.by} if edit and edit.by else since,
        "end": time_zone.in_short(spell.end),
    }
    over = gettext("%(rule)s refused nearly everybody until %(end)s: %(count)s requests, %(clients)s, since %(start)s. Over now.")
    goes_on = gettext("%(rule)s refuses nearly everybody: %(part)s, %(clients)s, since %(start)s.")
    return (goes_on if spell.ongoing else over) % values


def _quiet(report: Report, is_usual: bool) -> str:
    """`is_usual` if it has been compared with earlier days."""
    total = report.total
    if not total.met:
        return (
            gettext("No request matched a rule.") if report.known.live else gettext("No request is known to have matched a rule.")
        )
    text = _counts(report)
    name, sums = max(report.rules.items(), key=lambda item: item[1].would_refuse, default=("", NOTHING))
    if is_large(sums.would_refuse, sums.met):
        would = gettext("Enforced, %(rule)s would have refused %(part)s of %(met)s (%(share)s).") % {
            "rule": name,
            "part": number(sums.would_refuse),
            "met": number(sums.met),
            "share": percent(sums.would_refuse, sums.met),
        }
        return f"{text} {would}"
    return f"{gettext('All quiet.')} {text}" if is_usual and total.refused <= SHARE * total.met else text


def _counts(report: Report) -> str:
    text = (
        gettext("%(passed)s passed, %(refused)s refused in %(time)s.")
        if report.period.words
        else gettext("%(passed)s passed, %(refused)s refused.")
    )
    return filled(text, passed=report.total.passed, refused=report.total.refused, time=report.period.words)


def about(behind: Behind, spell: Spell, show: Callable[[str], str], name: str = "") -> str:
    """What is known of the client behind a spell; empty where nothing is. `name` is that of a user."""
    known = behind.known
    if known is None:
        return ""
    answers = gettext("Of %(answers)s requests that passed since then %(succeeded)s succeeded.")
    sends = gettext("%(who)s sends about %(count)s requests a minute.")
    a_minute = round((behind.count + known.answers) / max(1, (spell.end - spell.start) / MINUTE))
    is_user = gettext("Signed in as %s.") % name if name else gettext("Signed in.")
    parts = [
        sends % {"who": show(behind.value), "count": number(a_minute)} if spell.ongoing else "",
        is_user if known.is_user else gettext("Not known to be signed in."),
        gettext("User agent: %s.") % known.agent if known.agent else "",
        gettext("Refused first on %s.") % date_format(behind.first_refused) if behind.first_refused else "",
        answers % {"succeeded": number(known.succeeded), "answers": number(known.answers)} if known.answers else "",
    ]
    return " ".join(filter(None, parts))


def clients(many: HowMany) -> str:
    """``"1 client"``, ``"at least 1,000 clients"``."""
    text = (
        ngettext("%(count)s client", "%(count)s clients", many.number)
        if many.exact
        else ngettext("at least %(count)s client", "at least %(count)s clients", many.number)
    )
    return filled(text, count=many.number)


def who_was_refused(found: Offenders) -> str:
    """``"Refused: 3 clients. Would be refused: at least 1,000 clients."``"""
    parts = ((gettext("Refused: %s."), found.refused), (gettext("Would be refused: %s."), found.would_refuse))
    return " ".join(text % clients(many) for text, many in parts if many.number)


def _what(spell: Spell) -> str:
    start = time_zone.in_short(spell.start)
    return str(_HAPPENS[spell.outcome, spell.ongoing]) % {
        "rule": spell.rule,
        "count": number(spell.count),
        "start": gettext("%s or earlier") % start if spell.from_start else start,
        "end": time_zone.in_short(spell.end),
    }


def _who(spell: Spell, behind: Behind, show: Callable[[str], str]) -> list[str]:
    if not behind.value:
        came = gettext("They came from %s, none of which had a large part.")
        return [came % clients(behind.clients)] if behind.clients.number else []
    share, rest = percent(behind.count, behind.total), percent(behind.total - behind.count, behind.others_met)
    if not behind.exact:
        share, rest = gettext("at least %s") % share, gettext("at most %s") % rest
    who = f"{show(behind.value)} ({clients(behind.clients)})" if behind.clients.number else show(behind.value)
    came = gettext("%(share)s were for %(who)s.") if is_target(behind.value) else gettext("%(share)s came from %(who)s.")
    came = capfirst(came % {"share": share, "who": who})
    others = str(_OTHERS[spell.outcome]) % {"count": number(behind.others_met), "rule": spell.rule, "share": rest}
    return [came, others] if behind.others_met else [came]
