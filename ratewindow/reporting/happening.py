"""The sentences on top of the report: what happens, since when, who does it, and whether others suffer."""

from collections.abc import Callable
from datetime import datetime

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from ratewindow.conf import time_zone
from ratewindow.reporting.chart import long_label
from ratewindow.reporting.culprit import Behind
from ratewindow.reporting.how_many import clients
from ratewindow.reporting.periods import DAY
from ratewindow.reporting.report import Report
from ratewindow.reporting.summary import Summary, number, percent, summary
from ratewindow.reporting.unusual import REFUSED, WOULD_REFUSE, Spell
from ratewindow.reporting.usual import Earlier

# By outcome, by whether it goes on, and by whether it is known what is usual.
_HAPPENS = {
    (REFUSED, True, True): _("%(rule)s refuses %(rate)s (usually %(usual)s), since %(start)s."),
    (REFUSED, True, False): _("%(rule)s refuses %(rate)s, since %(start)s."),
    (REFUSED, False, True): _("%(rule)s refused %(rate)s (usually %(usual)s), from %(start)s to %(end)s."),
    (REFUSED, False, False): _("%(rule)s refused %(rate)s, from %(start)s to %(end)s."),
    (WOULD_REFUSE, True, True): _("%(rule)s, in shadow, would refuse %(rate)s (usually %(usual)s), since %(start)s."),
    (WOULD_REFUSE, True, False): _("%(rule)s, in shadow, would refuse %(rate)s, since %(start)s."),
    (WOULD_REFUSE, False, True): _(
        "%(rule)s, in shadow, would have refused %(rate)s (usually %(usual)s), from %(start)s to %(end)s."
    ),
    (WOULD_REFUSE, False, False): _("%(rule)s, in shadow, would have refused %(rate)s, from %(start)s to %(end)s."),
}
# By whether it goes on, by whether the share is exact, and by whether clients are counted.
_COME = {
    (True, True, True): _("%(share)s come from %(who)s (%(clients)s)."),
    (True, True, False): _("%(share)s come from %(who)s."),
    (True, False, True): _("At least %(share)s come from %(who)s (%(clients)s)."),
    (True, False, False): _("At least %(share)s come from %(who)s."),
    (False, True, True): _("%(share)s came from %(who)s (%(clients)s)."),
    (False, True, False): _("%(share)s came from %(who)s."),
    (False, False, True): _("At least %(share)s came from %(who)s (%(clients)s)."),
    (False, False, False): _("At least %(share)s came from %(who)s."),
}
# By outcome, by whether it goes on, and by whether the share is exact.
_OTHERS = {
    (REFUSED, True, True): _("Of all other requests to it %s are refused."),
    (REFUSED, True, False): _("Of all other requests to it at most %s are refused."),
    (REFUSED, False, True): _("Of all other requests to it %s were refused."),
    (REFUSED, False, False): _("Of all other requests to it at most %s were refused."),
    (WOULD_REFUSE, True, True): _("Of all other requests to it %s would be refused."),
    (WOULD_REFUSE, True, False): _("Of all other requests to it at most %s would be refused."),
    (WOULD_REFUSE, False, True): _("Of all other requests to it %s would have been refused."),
    (WOULD_REFUSE, False, False): _("Of all other requests to it at most %s would have been refused."),
}
_NOBODY_ELSE = {
    (REFUSED, True): _("Nobody else is refused by it."),
    (REFUSED, False): _("Nobody else was refused by it."),
    (WOULD_REFUSE, True): _("Nobody else would be refused by it."),
    (WOULD_REFUSE, False): _("Nobody else would have been refused by it."),
}
_UNITS = (1, 60, 1440)  # minutes


def happening(report: Report, found: list[Spell], behind: Behind | None, earlier: Earlier, show: Callable[[str], str]) -> Summary:
    """`show` says how an identity is shown to the reader."""
    if not found or behind is None:
        return summary(report, is_usual=earlier.before is not None or bool(earlier.days))
    first, *others = found
    sentences = [_what(report, first), *_who(first, behind, show)]
    if others:
        names = ", ".join(dict.fromkeys(spell.rule for spell in others if spell.rule != first.rule))
        sentences += [gettext("Unusual, too: %s.") % names] if names else []
    if first.outcome == WOULD_REFUSE:
        sentences.append(summary(report, counts_alone=True).text)
    if count := report.total.fallback:
        text = ngettext("%s decision was made without Redis.", "%s decisions were made without Redis.", count)
        sentences.append(text % number(count))
    return Summary(" ".join(sentences), quiet=first.outcome == WOULD_REFUSE)


def _what(report: Report, spell: Spell) -> str:
    per_minute = spell.count / spell.minutes
    minutes = next((each for each in _UNITS if per_minute * each >= 1), _UNITS[-1])
    count, usual = round(per_minute * minutes), spell.usual.count
    start = _moment(report, spell.start)
    return str(_HAPPENS[spell.outcome, spell.ongoing, usual is not None]) % {
        "rule": spell.rule,
        "rate": _rate(count, minutes),
        "usual": "" if usual is None else _few(usual / spell.minutes * minutes),
        "start": gettext("%s or earlier") % start if spell.from_start else start,
        "end": _moment(report, spell.end),
    }


def _rate(count: int, minutes: int) -> str:
    match minutes:
        case 1:
            text = ngettext("%s request a minute", "%s requests a minute", count)
        case 60:
            text = ngettext("%s request an hour", "%s requests an hour", count)
        case _:
            text = ngettext("%s request a day", "%s requests a day", count)
    return text % number(count)


def _few(usual: float) -> str:
    if not usual:
        return gettext("none")
    return number(round(usual)) if usual >= 1 else gettext("fewer than 1")


def _moment(report: Report, moment: datetime) -> str:
    return long_label(report.period, moment) if report.period.step >= DAY else time_zone.in_short(moment)


def _who(spell: Spell, behind: Behind, show: Callable[[str], str]) -> list[str]:
    if not behind.value:
        if not behind.clients:
            return []
        come = gettext("They come from %s, none of which has a large part.")
        came = gettext("They came from %s, none of which had a large part.")
        return [(come if spell.ongoing else came) % clients(behind.clients)]
    values = {"share": percent(behind.count, behind.total), "who": show(behind.value), "clients": clients(behind.clients)}
    said = str(_COME[spell.ongoing, behind.exact, behind.is_network and bool(behind.clients)])
    return [said % values, _others(spell, behind)]


def _others(spell: Spell, behind: Behind) -> str:
    """Whether others suffer. Only what meets the rule can."""
    if not behind.others_met:
        none, none_then = gettext("No other requests meet this rule."), gettext("No other requests met this rule.")
        return none if spell.ongoing else none_then
    if not behind.others_count:
        return str(_NOBODY_ELSE[spell.outcome, spell.ongoing])
    return str(_OTHERS[spell.outcome, spell.ongoing, behind.exact]) % percent(behind.others_count, behind.others_met)
