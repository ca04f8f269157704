"""Everything that the report page shows, read once for the query string of a request."""

from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest

from ratewindow import conf
from ratewindow.admin.banner import glance
from ratewindow.admin.report.form import ReportForm
from ratewindow.conf import time_zone
from ratewindow.reporting.culprit import Behind, behind
from ratewindow.reporting.offenders import Offenders, WhoWaits, offenders, who_waits
from ratewindow.reporting.periods import MINUTE, Period, between
from ratewindow.reporting.report import Report, Rules, Waiting, report, waiting
from ratewindow.reporting.unusual import Spell, spells
from ratewindow.reporting.usual import Earlier, earlier


@dataclass(frozen=True)
class Reading:
    """`rules` is what the filters choose; `behind` is about the first of `spells`."""

    form: ReportForm
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


def read(request: HttpRequest, most: int = 40) -> Reading:
    """`most` names of each kind: clients, networks, routes, user agents."""
    form, now, reachable = ReportForm(request.GET), time_zone.now(), glance(request).reachable
    period, rules = form.to_period(now), form.rules()
    known, waits = waiting(ask_redis=reachable), who_waits(ask_redis=reachable)
    found = report(period, rules, known=known)
    before = earlier(period, rules, known, now)
    unusual = spells(found, before, rules, known, now)
    return Reading(
        form=form,
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
