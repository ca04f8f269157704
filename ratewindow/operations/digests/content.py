"""What a digest says, as text in the current language; all identities are masked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.utils.formats import date_format
from django.utils.translation import gettext, pgettext

from ratewindow import conf
from ratewindow.models import AlertChannel, Mode
from ratewindow.operations.alerts import conditions, facts
from ratewindow.operations.digests.spans import DAILY, Span
from ratewindow.overrides.subjects import masked
from ratewindow.reporting import chart
from ratewindow.reporting.change import change
from ratewindow.reporting.export import MOST_NAMES
from ratewindow.reporting.figures import Figure, figures
from ratewindow.reporting.happening import happening
from ratewindow.reporting.how_many import in_a_sentence, of_several
from ratewindow.reporting.offenders import Name, Offenders
from ratewindow.reporting.periods import DAY, between
from ratewindow.reporting.reading import Reading
from ratewindow.reporting.reading import read as read_period
from ratewindow.reporting.summary import number, percent
from ratewindow.reporting.sums import NOTHING, Sums

UNMET_DAYS, READY_DAYS = 30, 7  # where the channel's alerts do not say
MOST_CLIENTS, MOST_RULES = 6, 10


@dataclass(frozen=True)
class Line:
    """A client, a network or a rule, and its numbers in words."""

    name: str
    text: str
    note: str = ""
    url: str = ""
    refuses: bool = True  # False: it only would, if it were enforced


@dataclass(frozen=True)
class Hint:
    text: str
    rule: str
    url: str


@dataclass(frozen=True)
class Digest:
    """`figures` are those of the report page. The links are empty if the channel does not name the report."""

    channel: str
    span: Span
    title: str
    short_title: str
    against: str  # what the changes are against
    summary: str
    quiet: bool
    figures: list[Figure]
    who: str
    clients: list[Line]
    rules: list[Line]
    hints: list[Hint]
    chart: Mapping[str, Any]  # as the report page has it
    zone: str
    url: str


def read(span: Span, now: datetime) -> Reading:
    """As the report page reads that time."""
    return read_period(between(span.starts_at, span.ends_at, now, conf.current().retention), "", now, MOST_NAMES)


def digest(channel: AlertChannel, span: Span, reading: Reading) -> Digest:
    found, before, url = reading.report, reading.earlier, _url(channel, span)
    said = happening(found, reading.spells, reading.behind, before, masked)
    return Digest(
        channel=channel.name,
        span=span,
        title=dates(span),
        short_title=_dates(span, pgettext("date format", "D j M")),
        against=_against(span) if before.before is not None else "",
        summary=said.text,
        quiet=said.quiet,
        figures=figures(found, before),
        who=in_a_sentence(reading.offenders),
        clients=list(_clients(reading.offenders)),
        rules=list(_rules(reading, url)),
        hints=[Hint(each.text, each.rule, _of_rule(url, each.rule)) for each in _conditions(channel, reading)],
        chart=chart.chart_data(found),
        zone=found.period.zone,
        url=url,
    )


def dates(span: Span) -> str:
    """``Thursday 19 November 2026``."""
    return _dates(span, pgettext("date format", "l j F Y"))


def _dates(span: Span, words: str) -> str:
    first, last = date_format(span.first, words), date_format(span.last, words)
    return first if span.kind == DAILY else gettext("%(start)s to %(end)s") % {"start": first, "end": last}


def _against(span: Span) -> str:
    return (
        gettext("Changes are against the day before.") if span.kind == DAILY else gettext("Changes are against the week before.")
    )


def _clients(found: Offenders) -> Iterator[Line]:
    """Networks, then clients of none of these, those most refused first."""
    listed = found.networks.most[:MOST_CLIENTS]
    networks = {name.value for name in listed}
    apart = [name for name in found.clients.most if name.network not in networks]
    total = found.total.refused + found.total.would_refuse
    for name in (*listed, *apart)[:MOST_CLIENTS]:
        note = gettext("signed in") if name.signed_in else ""
        if name in listed:
            note = of_several(name)
        yield Line(masked(name.value), _times(name, total), note, refuses=bool(name.refused))


def _times(name: Name, total: int) -> str:
    part = name.refused or name.would_refuse
    said = gettext("%(part)s refused (%(share)s)") if name.refused else gettext("%(part)s would be refused (%(share)s)")
    return said % {"part": number(part), "share": percent(name.refused + name.would_refuse, total)}


def _rules(reading: Reading, url: str) -> Iterator[Line]:
    """Those that refused requests, or would have, those that refused most first."""
    order = sorted(reading.report.rules.items(), key=lambda item: (-item[1].refused, -item[1].would_refuse, item[0]))
    for name, sums in order[:MOST_RULES]:
        if not sums.refused and not sums.would_refuse:
            return
        part = sums.refused or sums.would_refuse
        said = gettext("%(part)s of %(met)s refused (%(share)s)")
        if not sums.refused:
            said = gettext("%(part)s of %(met)s would be refused (%(share)s)")
        text = said % {"part": number(part), "met": number(sums.met), "share": percent(part, sums.met)}
        yield Line(name, text, _change(reading, name, sums), _of_rule(url, name), bool(sums.refused))


def _change(reading: Reading, name: str, sums: Sums) -> str:
    if reading.earlier.before is None:
        return ""
    before = reading.earlier.before.get(name, NOTHING)
    return change(sums.refused, before.refused) if sums.refused else change(sums.would_refuse, before.would_refuse)


def _conditions(channel: AlertChannel, reading: Reading) -> Iterator[conditions.Condition]:
    """What asks for something: of the site, then rules that nobody meets, and rules in shadow that could be enforced."""
    known, now, modes = reading.known, reading.now, facts.names_by_mode()
    state = facts.Facts(live=known.live, waits_since=min((start for start, _ in known.sums), default=None))
    yield from conditions.state(state, now)
    days = channel.never_met_days or UNMET_DAYS
    yield from conditions.never_met(facts.unmet(modes.get(Mode.ENFORCE, []), now - days * DAY, known.live), days)
    days = channel.ready_days or READY_DAYS
    yield from conditions.ready(facts.tried(modes.get(Mode.SHADOW, []), days * DAY, now), days)


def _url(channel: AlertChannel, span: Span) -> str:
    """The report of the same time."""
    query = urlencode({"start": f"{span.starts_at:%Y-%m-%dT%H:%M}", "end": f"{span.ends_at:%Y-%m-%dT%H:%M}"})
    return f"{channel.report_url}?{query}" if channel.report_url else ""


def _of_rule(url: str, rule: str) -> str:
    return f"{url}&{urlencode({'rule': rule})}" if url and rule else url
