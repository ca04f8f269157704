"""Who a rule refused in a period: clients, their networks, and how many visitors.

They are in the rows of OffenderStat, and in what the minutes in Redis have more than these.

* A count is never too large. `Offenders.bound` says by how much any may be too small, and what a name may have that is not
  listed; it is 0 as long as few clients were refused, and at most about a hundredth of the rule's requests of a process.
* A client that was refused without a key, by a block or since what the key needs was missing, is its address.
* One machine is often several clients: its address, and its address with each login name that it tries. They are listed at that
  address. How many visitors there were counts it once.
"""

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import F, QuerySet, Sum

from ratewindow.counting.collecting import Kind, read_who, registers_of
from ratewindow.counting.sheets import address_in, network_in, visitor
from ratewindow.counting.sums import NOBODY, Counted, Group, Who, at_least, united
from ratewindow.models import OffenderStat
from ratewindow.report.report import Period, Waiting, beyond, of_rules, within

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
    hint: str = ""  # of a client the network in which others were refused, too

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
        refused=how_many(who.clients, "refused", who.registers_refused),
        would_refuse=how_many(who.clients, "would_refuse", who.registers_would_refuse),
    )


def _of_rows(rows: "QuerySet[OffenderStat]") -> Who:
    """The rows added up by the database: the names with the largest numbers, and what the others may have."""
    rows = rows.order_by()
    numbers = (Sum("refused"), Sum("would_refuse"), Sum("met"))
    bounds = {kind: Counted(*counted) for kind, *counted in rows.filter(value="").values_list("kind").annotate(*numbers)}
    clients, networks = (_group(rows.filter(kind=kind), bounds.get(kind, Counted())) for kind in (Kind.CLIENT, Kind.NETWORK))
    refused = would_refuse = ""
    heads = rows.filter(kind=Kind.ALL).order_by((F("refused") + F("would_refuse")).desc(), "pk")
    for registers in heads.values_list("distinct", flat=True)[:MOST_REGISTERS]:
        refused, would_refuse = map(united, (refused, would_refuse), registers_of(registers))
    return Who(bounds.get(Kind.ALL, Counted()), clients, networks, refused, would_refuse)


def _group(rows: "QuerySet[OffenderStat]", bound: Counted) -> Group:
    names: QuerySet[Any, Any] = rows.exclude(value="").values_list("value").annotate(Sum("refused"), Sum("would_refuse"))
    most = names.order_by((F("refused__sum") + F("would_refuse__sum")).desc(), "value")[: MOST_READ + 1]
    return Group({value: Counted(refused, would) for value, refused, would in most}, bound).cut(MOST_READ)


def _names(group: Group) -> list[Name]:
    """Those that were refused, or would have been, the most frequent first."""
    names = [Name(value, counted.refused, counted.would_refuse) for value, counted in group.named.items() if counted.rank]
    return sorted(names, key=lambda name: (-name.rank, name.value))


ALIKE, ALIKE_PART = 10, 4  # so many clients of a network with at least a quarter of the refusals of the first behave alike


def grouped(who: Who) -> tuple[list[Name], list[Name]]:
    """Networks whose clients behave alike, and clients with what each is listed below. An address with several clients takes the
    place of its network. Where not all clients are listed, a network stays if most of what was refused in it was of others. Any
    other is only a hint beside its clients: who blocks a network for one of them hurts its neighbours.
    """
    clients, networks = _names(who.clients), list[Name]()
    inside, hints = dict[str, str](), dict[str, str]()
    members: defaultdict[str, list[Name]] = defaultdict(list)
    for client in clients:
        members[network_in(client.value)].append(client)
    for network in _names(who.networks):
        theirs = members[network.value]
        addresses = {address_in(client.value) for client in theirs}
        listed = sum(client.rank for client in theirs)
        are_alike = sum(ALIKE_PART * client.rank >= theirs[0].rank for client in theirs) >= ALIKE  # the first has most
        if len(addresses) == 1 and listed >= network.rank and len(theirs) > 1:
            network = replace(network, value=addresses.pop())
        elif (2 * listed >= network.rank or not who.clients.bound.rank) and not are_alike:
            hints |= dict.fromkeys((client.value for client in theirs if len(addresses) > 1), network.value)
            continue
        networks.append(replace(network, clients=HowMany(len(theirs), exact=not who.clients.bound.rank)))
        inside |= dict.fromkeys((client.value for client in theirs), network.value)
    return networks, [
        replace(client, inside=inside.get(client.value, ""), hint=hints.get(client.value, "")) for client in clients
    ]


def listed(found: Offenders) -> list[tuple[Name, list[Name]]]:
    """Networks with their clients, and the clients in none of them, those most refused first."""
    networks = {network.value for network in found.networks}
    inside: defaultdict[str, list[Name]] = defaultdict(list)
    for client in found.clients:
        inside[client.inside if client.inside in networks else ""].append(client)
    names = sorted([*found.networks, *inside.pop("", ())], key=lambda name: (-name.refused, -name.would_refuse))
    return [(name, inside[name.value]) for name in names]


def how_many(clients: Group, column: str, registers: str) -> HowMany:
    """How many visitors have any of that number; all of them are listed unless something was dropped."""
    listed = len({visitor(name, "") for name, counted in clients.named.items() if getattr(counted, column)})
    if not getattr(clients.bound, column):
        return HowMany(listed)
    return HowMany(max(listed, at_least(registers)), exact=False)
