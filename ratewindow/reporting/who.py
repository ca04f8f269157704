"""Who met a rule in one span of time, and who was refused, as a value that can be added, compared and sent.

Clients, and of refused requests also networks, routes and user agents. The counts of a name are never too large; `bound`
says by how much they may be too small, and what a name may have that is not listed. Whatever is dropped raises the bound.
"""

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ratewindow.reporting import distinct, tallies
from ratewindow.reporting.distinct import Registers

CLIENT, NETWORK, ROUTE, AGENT = KINDS = ("client", "network", "route", "agent")
MOST_REFUSED = {CLIENT: 50, NETWORK: 20, ROUTE: 20, AGENT: 20}  # names in a span of time, those most refused
MOST_BUSY = 10  # and clients that were refused less often, those with most requests
MOST_SENT = 100  # names of one kind
MOST_NAME = 255  # characters


def most(kind: str, clients: int) -> tuple[int, int]:
    """How many names of a kind are kept of those refused, and of the busiest of the others, where so many clients are."""
    share = clients / MOST_REFUSED[CLIENT]
    return max(1, int(share * MOST_REFUSED[kind])), max(1, int(share * MOST_BUSY)) if kind == CLIENT else 0


class Counted(NamedTuple):
    """How many requests were refused, would have been refused, and met the rule, these among them."""

    refused: int = 0
    would_refuse: int = 0
    met: int = 0

    def plus(self, more: "Counted") -> "Counted":
        return Counted(self.refused + more.refused, self.would_refuse + more.would_refuse, self.met + more.met)

    @classmethod
    def largest(cls, all_: Iterable["Counted"]) -> "Counted":
        """The largest of each number."""
        return cls(*(map(max, zip(*all_, strict=True)))) if (all_ := [*all_]) else cls()

    @property
    def rank(self) -> int:
        return self.refused + self.would_refuse


class Known(NamedTuple):
    """What is known of one name."""

    counted: Counted = Counted()
    signed_in: bool = False  # a client that is known to have been signed in
    network: str = ""  # of a client that has an address

    def plus(self, more: "Known") -> "Known":
        return Known(self.counted.plus(more.counted), self.signed_in or more.signed_in, self.network or more.network)


class Group(NamedTuple):
    """The names of one kind."""

    named: Mapping[str, Known] = MappingProxyType({})
    bound: Counted = Counted()

    def plus(self, more: "Group") -> "Group":
        named = dict(self.named)
        for name, known in more.named.items():
            named[name] = named[name].plus(known) if name in named else known
        return Group(named, self.bound.plus(more.bound))

    def cut(self, most_refused: int, most_busy: int) -> "Group":
        """The names most refused, and the busiest of the others."""
        refused = sorted((-known.counted.rank, name) for name, known in self.named.items() if known.counted.rank)
        kept = {name for _, name in refused[:most_refused]}
        others = ((-known.counted.met, name) for name, known in self.named.items() if known.counted.met and name not in kept)
        kept.update(name for _, name in sorted(others)[:most_busy])
        if len(kept) == len(self.named):
            return self
        dropped = Counted.largest(known.counted for name, known in self.named.items() if name not in kept)
        return Group({name: known for name, known in self.named.items() if name in kept}, self.bound.plus(dropped))


_EMPTY = Group()


class Who(NamedTuple):
    """All that is known of one rule in one span of time."""

    total: Counted = Counted()
    groups: Mapping[str, Group] = MappingProxyType({})  # by kind
    refused: Registers = ""  # how many different clients
    would_refuse: Registers = ""

    def plus(self, more: "Who") -> "Who":
        kinds = {**self.groups, **more.groups}
        return Who(
            self.total.plus(more.total),
            {kind: self.groups.get(kind, _EMPTY).plus(more.groups.get(kind, _EMPTY)) for kind in kinds},
            distinct.united(self.refused, more.refused),
            distinct.united(self.would_refuse, more.would_refuse),
        )

    def at_least(self, known: "Who") -> "Who":
        """Of two reports of the same requests the one that has seen more of them."""
        return self if self.total.met > known.total.met else known

    def cut(self, most_clients: int = MOST_REFUSED[CLIENT]) -> "Who":
        """As many names as are kept of one span of time; of clients at most so many."""
        return self._replace(groups={kind: group.cut(*most(kind, most_clients)) for kind, group in self.groups.items()})

    def to_text(self) -> str:
        """``[[2,0,9],{"client":[{"ip:203.0.113.9":[[2,0,7],0,"ip:203.0.113.0/24"]},[0,0,0]]},"",""]``"""
        groups = {
            kind: [{name: [known[0], int(known[1]), known[2]] for name, known in group.named.items()}, group.bound]
            for kind, group in self.groups.items()
        }
        return json.dumps([self.total, groups, self.refused, self.would_refuse], separators=(",", ":"))


NOBODY = Who()


def from_text(text: str) -> Who | None:
    """Read what `to_text` wrote; None for anything else, which another program must have written."""
    try:
        total, groups, refused, would_refuse = json.loads(text)
        if not distinct.is_registers(refused) or not distinct.is_registers(would_refuse):
            return None
        return Who(
            _counted(total), {kind: _group(*group) for kind, group in groups.items() if kind in KINDS}, refused, would_refuse
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def _group(named: Any, bound: Any) -> Group:
    if len(named) > MOST_SENT:
        raise ValueError(f"{len(named)} names are more than a process sends")
    return Group({_name(name): _known(*known) for name, known in named.items()}, _counted(bound))


def _known(counted: Any, signed_in: Any, network: Any) -> Known:
    return Known(_counted(counted), bool(signed_in), _name(network) if network else "")


def _counted(numbers: Any) -> Counted:
    if len(numbers) != 3 or not all(map(tallies.is_count, numbers)):
        raise ValueError(f"{numbers!r:.100} are not three counts")
    return Counted(*numbers)


def _name(text: Any) -> str:
    if not isinstance(text, str) or not 0 < len(text) <= MOST_NAME or not text.isprintable():
        raise ValueError(f"{text!r:.100} is not a name")
    return text
