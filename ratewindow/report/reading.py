"""A report read once: its sums, who was refused, what is unusual, who stands behind that, and whether others suffer."""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from operator import attrgetter

from django.db.models import Min

from ratewindow.counting.sums import Known
from ratewindow.models import OffenderStat
from ratewindow.models.stats import Resolution
from ratewindow.overrides.subjects import is_target
from ratewindow.report.offenders import HowMany, Offenders, offenders
from ratewindow.report.report import DAY, MINUTE, Period, Report, Waiting, between, last, waiting
from ratewindow.report.spells import NONE, Lately, Spell, spells, usual


@dataclass(frozen=True)
class Behind:
    """Counts are of the spell's outcome, and of requests that matched its rule."""

    value: str  # as rows have it: an identity may be a hash; empty if nobody has a large part
    clients: HowMany  # of the network or address; without one, all that were refused
    count: int = 0
    total: int = 0
    exact: bool = True  # False: `count` may be too small
    others_met: int = 0  # with the requests of `value` that passed
    known: Known | None = None  # of a client, in the minutes that Redis has
    first_refused: datetime | None = None  # a client by this rule, if that was on an earlier day


@dataclass(frozen=True)
class Reading:
    """`spells` are those of the last hour, whatever the period, or of the period if that hour has none; `behind` is about the
    first."""

    now: datetime
    report: Report
    usual: Report | None
    spells: list[Spell]
    behind: Behind | None
    offenders: Offenders


def read(period: Period, rules: str, now: datetime, most: int, ask_redis: bool = True, lately: Lately = NONE) -> Reading:
    """`most` names of each kind: clients, networks."""
    found = Report(period, waiting(now.timestamp(), ask_redis), rules)
    before = usual(found, now)
    hour = replace(found, period=last("1h", now))
    unusual = spells(hour, usual(hour, now), now, lately) if period.end >= now and period.step != MINUTE else []
    unusual = unusual or spells(found, before, now, lately)
    return Reading(
        now=now,
        report=found,
        usual=before,
        spells=unusual,
        behind=_behind(unusual[0], found, now) if unusual else None,
        offenders=offenders(period, rules, found.known, most),
    )


def _behind(spell: Spell, found: Report, now: datetime) -> Behind:
    during = between(spell.start, max(spell.end, spell.start + MINUTE), now)
    who = behind(spell, offenders(during, spell.rule, found.known))
    is_client = who.value and not who.clients.number and not is_target(who.value)
    return _with_known(who, spell, found.known) if is_client else who


def behind(spell: Spell, found: Offenders) -> Behind:
    """`found` is who the rule refused in the time of the spell."""
    count_of = attrgetter(spell.outcome)
    top = max((*found.clients, *found.networks), key=count_of, default=None)
    if top is None or 4 * count_of(top) < count_of(found.total):  # with less than a quarter, nobody is behind them
        return Behind("", count_of(found))
    count, exact = count_of(top), not count_of(found.bound)
    return Behind(top.value, top.clients, count, count_of(found.total), exact, found.total.met - count)


def _with_known(behind: Behind, spell: Spell, known: Waiting) -> Behind:
    of_client = (
        facts
        for (start, rule), who in sorted(known.who.items())
        if rule == spell.rule and start >= spell.start and (facts := who.known.get(behind.value)) is not None
    )
    days = OffenderStat.objects.filter(
        rule=spell.rule, kind=OffenderStat.Kind.CLIENT, value=behind.value, resolution=Resolution.DAY, start__lt=spell.start - DAY
    )
    first = days.aggregate(first=Min("start"))["first"]
    return replace(behind, known=reduce(Known.plus, of_client, Known()), first_refused=first)
