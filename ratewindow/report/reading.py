"""A report read once: its sums, what is unusual in it, who stands behind that, and whether others suffer.

Unusual is a time in which a rule refuses at least `FEW` requests, over `SHARE` of those that met it, and over `TIMES` times as
many as usual. Usual is the average of the two weeks before, so it hardly rises by an attack of a day. Until three days are known
it counts as 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from ratewindow import conf
from ratewindow.counting.sums import NOTHING, REFUSING, Sums
from ratewindow.models.stats import Resolution
from ratewindow.report.offenders import HowMany, Name, Names, Offenders, offenders
from ratewindow.report.report import DAY, MINUTE, Period, Report, began, between, report, waiting

REFUSED, WOULD_REFUSE = REFUSING
FEW = 10
SHARE = 0.05
TIMES = 5
LONGEST, LEAST = 14 * DAY, 3 * DAY  # what is averaged
MOST_GAP = 2  # quiet steps that do not end a spell
PEAK_PART = 10  # a step belongs to a spell if it has at least this part of the largest


@dataclass(frozen=True)
class Usual:
    """What rules did in a time before a period; of no length if too little is known."""

    rules: Mapping[str, Sums]
    length: timedelta

    def count(self, rule: str, outcome: str, length: timedelta) -> float:
        """How many requests a rule usually refuses in a time of that length."""
        return float(getattr(self.rules.get(rule, NOTHING), outcome) * (length / self.length)) if self.length else 0.0


def usual(found: Report, now: datetime) -> Usual:
    end = found.period.start
    start = max(began(Resolution.DAY, found.known) or end, end - LONGEST)
    if end - start < LEAST:
        return Usual({}, timedelta())
    before = between(start, end, now, conf.current().retention)
    return Usual(report(before, found.chosen, known=found.known).rules, end - start)


@dataclass(frozen=True)
class Spell:
    """A time in which a rule refused unusually much. `outcome` is one of REFUSING."""

    rule: str
    outcome: str
    start: datetime
    end: datetime
    count: int
    usual: float  # in a time of this length; 0 also if that is not known
    ongoing: bool
    from_start: bool  # at the start of the period, so it may have begun earlier


def is_large(count: int, met: int) -> bool:
    """Whether refusals are many among the requests that a rule met."""
    return count >= FEW and count > SHARE * met


def spells(found: Report, before: Usual, now: datetime) -> list[Spell]:
    """The latest of each rule and outcome; refusals first, those that go on first, the largest first."""
    latest = (
        _latest(rule, outcome, found, before, now)
        for rule, sums in found.rules.items()
        for outcome in REFUSING
        if getattr(sums, outcome) >= FEW
    )
    return sorted(filter(None, latest), key=lambda spell: (spell.outcome, not spell.ongoing, -spell.count, spell.rule))


def _latest(rule: str, outcome: str, found: Report, before: Usual, now: datetime) -> Spell | None:
    """The last run of steps with many refusals, if it is unusual."""
    period, starts = found.period, [*found.steps, min(found.period.end, now)]
    steps = [found.steps_of_rules.get((start, rule), NOTHING) for start in found.steps]
    counts = [getattr(sums, outcome) for sums in steps]
    level = max(1.0, max(counts) / PEAK_PART, TIMES * before.count(rule, outcome, period.step))
    high = [number for number, count in enumerate(counts) if count >= level]
    if not high:
        return None
    first = _begin_of_last_run(high)
    start, end = starts[first], starts[high[-1] + 1]
    run = slice(first, high[-1] + 1)
    count, usually = sum(counts[run]), before.count(rule, outcome, end - start)
    if count <= TIMES * usually or not is_large(count, sum(sums.met for sums in steps[run])):
        return None
    ongoing = now - end <= max(period.step, MOST_GAP * MINUTE)
    return Spell(rule, outcome, start, end, count, usually, ongoing, from_start=first == 0)


def _begin_of_last_run(high: list[int]) -> int:
    """Of the numbers of high steps, over gaps of at most MOST_GAP."""
    first = high[-1]
    for number in reversed(high):
        if first - number > MOST_GAP + 1:
            break
        first = number
    return first


LEAST_PART = 4  # whoever has less than a quarter of all refusals is not behind them


@dataclass(frozen=True)
class Behind:
    """Counts are of the spell's outcome, and of requests that met its rule."""

    value: str  # as rows have it: an identity may be a hash; empty if nobody has a large part
    clients: HowMany  # of the network or address; without one, all that were refused
    count: int = 0
    total: int = 0
    exact: bool = True  # False: `count` may be too small
    others_met: int = 0  # with the requests of `value` that passed


@dataclass(frozen=True)
class Reading:
    """`behind` is about the first of `spells`."""

    now: datetime
    report: Report
    usual: Usual
    spells: list[Spell]
    behind: Behind | None
    offenders: Offenders


def read(period: Period, rules: str, now: datetime, most: int, ask_redis: bool = True) -> Reading:
    """`most` names of each kind: clients, networks."""
    found = report(period, rules, known=waiting(now.timestamp(), ask_redis))
    before = usual(found, now)
    unusual = spells(found, before, now)
    return Reading(
        now=now,
        report=found,
        usual=before,
        spells=unusual,
        behind=_behind(unusual[0], found, now) if unusual else None,
        offenders=offenders(period, rules, found.known, most),
    )


def _behind(spell: Spell, found: Report, now: datetime) -> Behind:
    during = between(spell.start, max(spell.end, spell.start + MINUTE), now, conf.current().retention)
    return behind(spell, offenders(during, spell.rule, found.known))


def behind(spell: Spell, found: Offenders) -> Behind:
    """`found` is who the rule refused in the time of the spell."""
    network, client = _first(found.networks, spell), _first(found.clients, spell)
    top = network if _count(network, spell) > _count(client, spell) else client
    total, count = getattr(found.total, spell.outcome), _count(top, spell)
    if top is None or count * LEAST_PART < total:
        return Behind("", getattr(found, spell.outcome))
    exact = not any(getattr(names.bound, spell.outcome) for names in (found.networks, found.clients))
    return Behind(top.value, top.clients, count, total, exact, found.total.met - count)


def _first(names: Names, spell: Spell) -> Name | None:
    return max(names.most, key=lambda name: _count(name, spell), default=None)


def _count(name: Name | None, spell: Spell) -> int:
    return getattr(name, spell.outcome) if name else 0
