"""Who is refused, and who asks most: clients, networks, routes and user agents of one rule or of all, in a period.

The rows of OffenderStat and the minutes in Redis that are not collected yet, by as many queries whatever there is.

* A count is never too large. `Names.bound` says by how much any may be too small, and what a name may have that is not
  listed; it is 0 as long as few clients were refused, and at most about a hundredth of the rule's requests of a process.
* A client that was refused without a key, by a block or since what the key needs was missing, is its address.
* It is known that a client was signed in if its identity has a user, or if the request's user was looked at before the answer:
  by the rule's key, by a view in shadow, or by another middleware.
"""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import redis
from django.db.models import Case, F, Max, Q, QuerySet, Sum, When

from ratewindow.models import OffenderStat, ThrottleStat
from ratewindow.reporting import counters, distinct, minutes, offender_rows, open_spans
from ratewindow.reporting.offender_rows import EVERY_RULE
from ratewindow.reporting.periods import MINUTE, Period
from ratewindow.reporting.places import placed
from ratewindow.reporting.report import Rules, concerns, of_rules
from ratewindow.reporting.stored import Resolution, minute_start, span_start
from ratewindow.reporting.who import AGENT, CLIENT, KINDS, NETWORK, ROUTE, Counted, Group, Known, Who
from ratewindow.reporting.who_counts import REFUSING
from ratewindow.store import process_clients

MOST_READ = 500  # names of one kind: beyond them the bound grows
MOST_APART = 3  # days without rows of all rules together that are added up in Python
MOST_REGISTERS = 200  # spans of time whose registers are read, those with most refusals

Kind = OffenderStat.Kind


@dataclass(frozen=True)
class HowMany:
    """A number of different clients, exact or at least so many."""

    number: int
    exact: bool = True

    def __bool__(self) -> bool:
        return self.number > 0


@dataclass(frozen=True)
class Name:
    """A client, network, route or user agent. `value` is as rows have it: an identity may be a hash."""

    value: str
    refused: int
    would_refuse: int
    met: int  # requests of a client, passed or not; 0 of other kinds
    signed_in: bool = False
    network: str = ""  # of a client that has an address, and of an address among the networks; of its clients that address
    clients: HowMany = HowMany(0)  # of a network or address: how many of its clients were refused, or would have been


@dataclass(frozen=True)
class Names:
    """Those of one kind that were refused most, or would have been; any may have up to `bound` more of each number."""

    most: tuple[Name, ...]
    bound: Counted


@dataclass(frozen=True)
class Offenders:
    """Who one rule, or all, refused and met in a period."""

    total: Counted  # all requests
    clients: Names
    networks: Names
    routes: Names
    agents: Names
    busiest: tuple[Name, ...]  # clients, by their requests
    refused: HowMany  # clients that were refused
    would_refuse: HowMany
    refused_signed_in: HowMany  # those of them that were signed in
    would_refuse_signed_in: HowMany
    live: bool  # False if Redis could not be read: the last minutes may be missing


@dataclass(frozen=True)
class WhoWaits:
    """The minutes that are not collected yet; of one that is the same as its rows."""

    who: Mapping[offender_rows.Key, Who]
    live: bool  # False if Redis could not be read


def who_waits(now_s: float | None = None, ask_redis: bool = True) -> WhoWaits:
    """What Redis has now; nothing if it does not answer, or is not asked."""
    if ask_redis:
        try:
            return WhoWaits(_waiting(time.time() if now_s is None else now_s), live=True)
        except (redis.RedisError, OSError):
            pass
    return WhoWaits({}, live=False)


def refused_now(known: WhoWaits, now: datetime) -> dict[str, Counter[str]]:
    """How many clients each rule has refused in this minute and the one before, or would have, as far as they are listed."""
    clients: dict[str, dict[str, Known]] = {}
    for (start, rule), who in known.who.items():
        if start >= now - 2 * MINUTE:
            found = clients.setdefault(rule, {})
            for name, each in who.groups.get(CLIENT, Group()).named.items():
                found[name] = found.get(name, Known()).plus(each)
    return {
        rule: Counter(outcome for each in found.values() for outcome in REFUSING if getattr(each.counted, outcome))
        for rule, found in clients.items()
    }


def offenders(
    period: Period,
    rules: Rules = "",
    now_s: float | None = None,
    ask_redis: bool = True,
    most: int = 10,
    known: WhoWaits | None = None,
) -> Offenders:
    """Read the `most` of each kind of one rule, several or all; `known` is what was read from Redis before."""
    known = known or who_waits(now_s, ask_redis)
    rows = OffenderStat.objects.filter(of_rules(rules) & ~Q(rule=EVERY_RULE))
    waiting = {key: who for key, who in known.who.items() if concerns(rules, key[1])}
    if period.resolution == Resolution.DAY:  # a day of hours is tens of thousands of rows, and its own row lacks a minute at most
        rows = rows.filter(resolution=Resolution.DAY)
    opened = open_spans.complete(waiting, period.resolution, lambda condition: offender_rows.read(rows.filter(condition)))
    found = _closed(period, rules, opened)
    for (start, _), who in opened.items():
        if period.start <= start < period.end:
            found = found.plus(who)
    groups = {kind: found.groups.get(kind, Group()) for kind in KINDS}
    networks, clients = placed(groups[NETWORK], groups[CLIENT])
    return Offenders(
        total=found.total,
        clients=_most(clients, most),
        networks=_networks(networks, clients, most),
        routes=_most(groups[ROUTE], most),
        agents=_most(groups[AGENT], most),
        busiest=tuple(_name(*each) for each in sorted(clients.named.items(), key=_by_met)[:most]),
        refused=_how_many(clients, "refused", found.refused),
        would_refuse=_how_many(clients, "would_refuse", found.would_refuse),
        refused_signed_in=_how_many(clients, "refused", signed_in=True),
        would_refuse_signed_in=_how_many(clients, "would_refuse", signed_in=True),
        live=known.live,
    )


def _waiting(now_s: float) -> dict[offender_rows.Key, Who]:
    """The minutes in Redis, collected or not; with memory://, those of this process."""
    by_minute = counters.held_who() if process_clients.in_memory() else minutes.read_who(minutes.waiting(now_s))
    return {(minute_start(minute), rule): who for minute, by_rule in by_minute.items() for rule, who in by_rule.items()}


def _closed(period: Period, rules: Rules, opened: Mapping[offender_rows.Key, Who]) -> Who:
    """The rows of the spans that are not open; of days those of all rules together where there are any, which are far fewer."""
    by_rule = of_rules(rules) & ~Q(rule=EVERY_RULE)
    whole, ends = open_spans.settled_parts(period, opened)
    rows = OffenderStat.objects.filter(by_rule & (whole | ends))
    if rules or period.resolution == Resolution.MINUTE:
        return _settled(rows)
    of_days = Q(resolution=Resolution.DAY, start__gte=period.start, start__lt=period.end)
    together = {*OffenderStat.objects.filter(of_days, rule=EVERY_RULE, kind=Kind.ALL).values_list("start", flat=True)}
    counted = {*ThrottleStat.objects.filter(of_days).order_by().values_list("start", flat=True).distinct()}
    apart = counted - together - {span_start(start, Resolution.DAY) for start, _ in opened}
    if len(apart) > MOST_APART:
        return _settled(rows)
    joined = Q(rule=EVERY_RULE) & whole & Q(resolution=Resolution.DAY)
    # Not in one query: databases find few indexes for rows of several resolutions, and a scan takes longer than all of these.
    found = _settled(OffenderStat.objects.filter(joined)).plus(_settled(OffenderStat.objects.filter(by_rule & ends)))
    for who in offender_rows.read(OffenderStat.objects.filter(by_rule, resolution=Resolution.DAY, start__in=apart)).values():
        found = found.plus(who)
    return found


def _settled(rows: "QuerySet[OffenderStat]") -> Who:
    """The rows added up by the database: the names with the largest numbers, and what the others may have."""
    rows = rows.order_by()
    bounds = {kind: Counted(*numbers) for kind, *numbers in _summed(rows.filter(value=""), "kind")}
    of_clients = _summed(rows.filter(kind=CLIENT).exclude(value=""), "value", signed_in=_SIGNED_IN, its_network=Max("network"))
    by_rank, by_met = (list(of_clients.order_by(each, "value")[: MOST_READ + 1]) for each in (-_RANK, "-met__sum"))
    left_out = Counted(_rank_of(by_rank), _rank_of(by_rank), by_met[MOST_READ][3] if len(by_met) > MOST_READ else 0)
    groups = {CLIENT: _group([*by_rank[:MOST_READ], *by_met[:MOST_READ]], bounds.get(CLIENT, Counted()).plus(left_out))}
    of_others = _summed(rows.filter(kind__in=_OTHERS).exclude(value=""), "value", "kind").order_by(-_RANK, "kind", "value")
    found = [(kind, (value, *numbers, False, "")) for value, kind, *numbers in of_others[: MOST_READ + 1]]
    left_out = Counted(*[_rank_of([line for _, line in found])] * 2)
    for each in _OTHERS:
        lines = [line for kind, line in found[:MOST_READ] if kind == each]
        groups[each] = _group(lines, bounds.get(each, Counted()).plus(left_out))
    refused = would_refuse = ""
    heads = rows.filter(kind=Kind.ALL).order_by(-(F("refused") + F("would_refuse")), "pk").values_list("distinct", flat=True)
    for registers in heads[:MOST_REGISTERS]:
        more_refused, more_would = offender_rows.registers_of(registers)
        refused, would_refuse = distinct.united(refused, more_refused), distinct.united(would_refuse, more_would)
    return Who(bounds.get(Kind.ALL, Counted()), groups, refused, would_refuse)


_OTHERS = (NETWORK, ROUTE, AGENT)
_RANK = F("refused__sum") + F("would_refuse__sum")
_SIGNED_IN = Max(Case(When(signed_in=True, then=1), default=0))  # PostgreSQL has no largest boolean


def _summed(rows: "QuerySet[OffenderStat]", *by: str, **more: Any) -> "QuerySet[Any, Any]":
    found: QuerySet[Any, Any] = rows.values_list(*by).annotate(Sum("refused"), Sum("would_refuse"), Sum("met"), **more)
    return found


def _rank_of(lines: list[tuple[Any, ...]]) -> int:
    """The refusals of the first name that is left out, which no other one exceeds."""
    return Counted(*lines[MOST_READ][1:4]).rank if len(lines) > MOST_READ else 0


def _group(lines: list[tuple[Any, ...]], bound: Counted) -> Group:
    named = {
        name: Known(Counted(refused, would_refuse, met), bool(signed_in), network)
        for name, refused, would_refuse, met, signed_in, network in lines
    }
    return Group(named, bound)


def _most(group: Group, most: int) -> Names:
    return Names(tuple(_name(*each) for each in _refused(group)[:most]), group.bound)


def _refused(group: Group) -> list[tuple[str, Known]]:
    """Those that were refused, or would have been, the most frequent first."""
    found = [(name, known) for name, known in group.named.items() if known.counted.rank]
    return sorted(found, key=lambda each: (-each[1].counted.rank, each[0]))


def _by_met(each: tuple[str, Known]) -> tuple[int, str]:
    return -each[1].counted.met, each[0]


def _name(value: str, known: Known) -> Name:
    return Name(value, *known.counted, known.signed_in, known.network)


def _networks(group: Group, clients: Group, most: int) -> Names:
    """The networks and addresses of several clients, with how many of these were refused."""
    refused = Counter(known.network for _, known in _refused(clients))
    exact = not clients.bound.rank
    found = [replace(_name(value, known), clients=HowMany(refused[value], exact)) for value, known in _refused(group)[:most]]
    return Names(tuple(found), group.bound)


def _how_many(clients: Group, column: str, registers: str = "", signed_in: bool = False) -> HowMany:
    """How many clients have any of that number; all of them are listed unless something was dropped."""
    found = sum(1 for _, known in clients.named.items() if getattr(known.counted, column) and known.signed_in >= signed_in)
    if not getattr(clients.bound, column):
        return HowMany(found)
    return HowMany(max(found, distinct.at_least(registers)), exact=False)
