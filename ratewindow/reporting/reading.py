"""Everything that a report says of a period, read once."""

from dataclasses import dataclass
from datetime import datetime

from ratewindow import conf
from ratewindow.reporting.culprit import Behind, behind
from ratewindow.reporting.offenders import Offenders, WhoWaits, offenders, who_waits
from ratewindow.reporting.periods import MINUTE, Period, between
from ratewindow.reporting.report import Report, Rules, Waiting, report, waiting
from ratewindow.reporting.unusual import Spell, spells
from ratewindow.reporting.usual import Earlier, earlier


@dataclass(frozen=True)
class Reading:
    """`behind` is about the first of `spells`."""

    now: datetime
    period: Period
    rules: Rules
    known: Waiting
    waits: WhoWaits
    report: Report
    earlier: Earlier
    spells: list[Spell]
    behind: Behind | None
    offenders: Offenders


def read(period: Period, rules: Rules, now: datetime, most: int, ask_redis: bool = True) -> Reading:
    """`most` names of each kind: clients, networks, routes, user agents."""
    now_s = now.timestamp()
    known, waits = waiting(now_s, ask_redis), who_waits(now_s, ask_redis)
    found = report(period, rules, known=known)
    before = earlier(period, rules, known, now)
    unusual = spells(found, before, rules, known, now)
    return Reading(
        now=now,
        period=period,
        rules=rules,
        known=known,
        waits=waits,
        report=found,
        earlier=before,
        spells=unusual,
        behind=_behind(unusual[0], waits, now) if unusual else None,
        offenders=offenders(period, rules, known=waits, most=most),
    )


def _behind(spell: Spell, waits: WhoWaits, now: datetime) -> Behind:
    during = between(spell.start, max(spell.end, spell.start + MINUTE), now, conf.current().retention)
    return behind(spell, offenders(during, spell.rule, known=waits))
