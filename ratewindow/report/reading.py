"""A report read once: its sums, who was refused, what is unusual, who stands behind that, and whether others suffer.

Who was refused is in the rows of OffenderStat, and in what the minutes in Redis have more than these.

* A count is never too large. `Offenders.bound` says by how much any may be too small, and what a name may have that is not
  listed; it is 0 as long as few clients were refused, and at most about a hundredth of the rule's requests of a process.
* A client that was refused without a key, by a block or since what the key needs was missing, is its address.
* One machine is often several clients: its address, and its address with each login name that it tries. So clients are listed in
  their network if it has several addresses, and at their address if several are clients of that.

Unusual is a time in which a rule refuses at least `FEW` requests, over `SHARE` of those that matched it, and over `TIMES` times
as many as usual. Usual is the average of the two weeks before, so it hardly rises by an attack of a day. Until three days are
known it counts as 0.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, QuerySet, Sum

from ratewindow.counting.collecting import read_who, registers_of
from ratewindow.counting.sheets import address_in, network_in
from ratewindow.counting.sums import NOBODY, NOTHING, REFUSING, Counted, Group, Who, at_least, united
from ratewindow.models import OffenderStat
from ratewindow.report.report import (
    DAY,
    MINUTE,
    Period,
    Report,
    Waiting,
    began,
    between,
    beyond,
    of_rules,
    waiting,
    within,
)

Kind = OffenderStat.Kind
MOST_READ = 500  # names of one kind: beyond them the bound grows
MOST_REGISTERS = 200  # spans of time whose registers are read, those with most refusals


@dataclass(frozen=True)
class HowMany:
    """A number of different clients, exact or at least so many."""

    number: int
    exact: bool = True


@dataclass(frozen=True)
class Name:
    """A client, a network, or an address of several clients. `value` is as rows have it: an identity may be a hash."""

    value: str
    refused: int
    would_refuse: int
    inside: str = ""  # of a client the network or address below which it is listed
    clients: HowMany = HowMany(0)  # of a network or address those that were refused, or would have been

    @property
    def rank(self) -> int:
        return self.refused + self.would_refuse


@dataclass(frozen=True)
class Offenders:
    """Who one rule, or all, refused in a period: of each kind those that were refused most, or would have been."""

    total: Counted  # all requests
    clients: tuple[Name, ...]
    networks: tuple[Name, ...]
    bound: Counted  # any of these may have so many more of each number
    refused: HowMany  # clients that were refused
    would_refuse: HowMany


def offenders(period: Period, rules: str, known: Waiting, most: int = 10) -> Offenders:
    """The `most` of each kind; `known` is what was read from Redis before."""
    who = _of_rows(OffenderStat.objects.filter(of_rules(rules), within(period)))
    for more in beyond(known.who, period, rules, read_who, NOBODY).values():
        who = who.plus(more)
    networks, clients = grouped(who)
    return Offenders(
        total=who.total,
        clients=tuple(clients[:most]),
        networks=tuple(networks[:most]),
        bound=Counted(*map(max, who.clients.bound, who.networks.bound)),
        refused=_how_many(who.clients, "refused", who.registers_refused),
        would_refuse=_how_many(who.clients, "would_refuse", who.registers_would_refuse),
    )


def _of_rows(rows: "QuerySet[OffenderStat]") -> Who:
    """The rows added up by the database: the names with the largest numbers, and what the others may have."""
    rows = rows.order_by()
    numbers = (Sum("refused"), Sum("would_refuse"), Sum("met"))
    bounds = {kind: Counted(*counted) for kind, *counted in rows.filter(value="").values_list("kind").annotate(*numbers)}
    clients, networks = (_group(rows.filter(kind=kind), bounds.get(kind, Counted())) for kind in (Kind.CLIENT, Kind.NETWORK))
    refused = would_refuse = ""
    heads = rows.filter(kind=Kind.ALL).order_by(-(F("refused") + F("would_refuse")), "pk")
    for registers in heads.values_list("distinct", flat=True)[:MOST_REGISTERS]:
        refused, would_refuse = map(united, (refused, would_refuse), registers_of(registers))
    return Who(bounds.get(Kind.ALL, Counted()), clients, networks, refused, would_refuse)


def _group(rows: "QuerySet[OffenderStat]", bound: Counted) -> Group:
    names: QuerySet[Any, Any] = rows.exclude(value="").values_list("value").annotate(Sum("refused"), Sum("would_refuse"))
    most = names.order_by(-(F("refused__sum") + F("would_refuse__sum")), "value")[: MOST_READ + 1]
    return Group({value: Counted(refused, would) for value, refused, would in most}, bound).cut(MOST_READ)


def _names(group: Group) -> list[Name]:
    """Those that were refused, or would have been, the most frequent first."""
    names = [Name(value, counted.refused, counted.would_refuse) for value, counted in group.named.items() if counted.rank]
    return sorted(names, key=lambda name: (-name.rank, name.value))


def grouped(who: Who) -> tuple[list[Name], list[Name]]:
    """Networks, and clients with what each is listed below: an address takes the place of a network that has no other, and a
    client alone has none. A network stays if more was refused in it than its clients account for: they are not all listed, or
    their addresses are stored as hashes, which tell of no network.
    """
    clients, networks, inside = _names(who.clients), list[Name](), dict[str, str]()
    members: defaultdict[str, list[Name]] = defaultdict(list)
    for client in clients:
        members[network_in(client.value)].append(client)
    for network in _names(who.networks):
        theirs = members[network.value]
        addresses = {address_in(client.value) for client in theirs}
        if len(addresses) == 1 and sum(client.rank for client in theirs) >= network.rank:
            if len(theirs) == 1:
                continue
            network = replace(network, value=addresses.pop())
        networks.append(replace(network, clients=HowMany(len(theirs), exact=not who.clients.bound.rank)))
        inside |= dict.fromkeys((client.value for client in theirs), network.value)
    return networks, [replace(client, inside=inside.get(client.value, "")) for client in clients]


def _how_many(clients: Group, column: str, registers: str) -> HowMany:
    """How many clients have any of that number; all of them are listed unless something was dropped."""
    listed = sum(1 for counted in clients.named.values() if getattr(counted, column))
    if not getattr(clients.bound, column):
        return HowMany(listed)
    return HowMany(max(listed, at_least(registers)), exact=False)


REFUSED, WOULD_REFUSE = REFUSING
FEW = 10
SHARE = 0.05
TIMES = 5
LONGEST, LEAST = 14 * DAY, 3 * DAY  # what is averaged
MOST_GAP = 2  # quiet steps that do not end a spell
PEAK_PART = 10  # a step belongs to a spell if it has at least this part of the largest


def usual(found: Report, now: datetime) -> Report | None:
    """The report of the time before another one; None if too little is known."""
    end = found.period.start
    start = max(began(found.known) or end, end - LONGEST)
    if end - start < LEAST:
        return None
    return Report(between(start, end, now), found.known, found.chosen)


def _usually(before: Report | None, rule: str, outcome: str, length: timedelta) -> float:
    """How many requests a rule usually refuses in a time of that length; 0 if that is not known."""
    if before is None:
        return 0.0
    count: int = getattr(before.rules.get(rule, NOTHING), outcome)
    return count * (length / (before.period.end - before.period.start))


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
    """Whether refusals are many among the requests that matched a rule."""
    return count >= FEW and count > SHARE * met


def spells(found: Report, before: Report | None, now: datetime) -> list[Spell]:
    """The latest of each rule and outcome; refusals first, those that go on first, the largest first."""
    latest = (
        _latest(rule, outcome, found, before, now)
        for rule, sums in found.rules.items()
        for outcome in REFUSING
        if getattr(sums, outcome) >= FEW
    )
    return sorted(filter(None, latest), key=lambda spell: (spell.outcome, not spell.ongoing, -spell.count, spell.rule))


def _latest(rule: str, outcome: str, found: Report, before: Report | None, now: datetime) -> Spell | None:
    """The last run of steps with many refusals, if it is unusual."""
    period, starts = found.period, [*found.steps, min(found.period.end, now)]
    steps = [found.steps_of_rules.get((start, rule), NOTHING) for start in found.steps]
    counts = [getattr(sums, outcome) for sums in steps]
    level = max(1.0, max(counts) / PEAK_PART, TIMES * _usually(before, rule, outcome, period.step))
    high = [number for number, count in enumerate(counts) if count >= level]
    if not high:
        return None
    first = _begin_of_last_run(high)
    start, end = starts[first], starts[high[-1] + 1]
    run = slice(first, high[-1] + 1)
    count, usually = sum(counts[run]), _usually(before, rule, outcome, end - start)
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
    """Counts are of the spell's outcome, and of requests that matched its rule."""

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
    usual: Report | None
    spells: list[Spell]
    behind: Behind | None
    offenders: Offenders


def read(period: Period, rules: str, now: datetime, most: int, ask_redis: bool = True) -> Reading:
    """`most` names of each kind: clients, networks."""
    found = Report(period, waiting(now.timestamp(), ask_redis), rules)
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
    during = between(spell.start, max(spell.end, spell.start + MINUTE), now)
    return behind(spell, offenders(during, spell.rule, found.known))


def behind(spell: Spell, found: Offenders) -> Behind:
    """`found` is who the rule refused in the time of the spell."""
    network, client = _first(found.networks, spell), _first(found.clients, spell)
    top = network if _count(network, spell) > _count(client, spell) else client
    total, count = getattr(found.total, spell.outcome), _count(top, spell)
    if top is None or count * LEAST_PART < total:
        return Behind("", getattr(found, spell.outcome))
    exact = not getattr(found.bound, spell.outcome)
    return Behind(top.value, top.clients, count, total, exact, found.total.met - count)


def _first(names: Iterable[Name], spell: Spell) -> Name | None:
    return max(names, key=lambda name: _count(name, spell), default=None)


def _count(name: Name | None, spell: Spell) -> int:
    return getattr(name, spell.outcome) if name else 0
