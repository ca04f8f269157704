"""Who met a rule and who was refused in one minute, in this process, while the counts grow.

Of each kind at most twice as many names are held as `heavy_hitters` keeps, whatever comes. A request that passes costs one
look-up in a dict; identities are brought into the form of rows only when they are sent.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from ratewindow.identity import kept, stored
from ratewindow.reporting.about_request import About, has_user, network_in
from ratewindow.reporting.distinct import Distinct
from ratewindow.reporting.heavy_hitters import MOST, HeavyHitters
from ratewindow.reporting.who import AGENT, CLIENT, NETWORK, ROUTE, Counted, Group, Known, Who, most
from ratewindow.store.state_keys import remembered_tag

_MOST = {CLIENT: MOST, NETWORK: 40, ROUTE: 40, AGENT: 40}
REFUSING = ("refused", "would_refuse")


class _Refused:
    """Those that were refused, or would have been."""

    __slots__ = ("clients", "hitters")

    def __init__(self) -> None:
        self.hitters = {kind: HeavyHitters(most) for kind, most in _MOST.items()}
        self.clients = Distinct()

    def add(self, who: str, about: About) -> None:
        self.clients.add(remembered_tag(who))  # which is known already: the keys of its counts have it
        for kind, name in ((CLIENT, who), (NETWORK, about.network), (ROUTE, about.route), (AGENT, about.agent)):
            if name:
                self.hitters[kind].add(name)


class WhoCounts:
    """The counts of one rule."""

    __slots__ = ("busy", "met", "refused", "signed_in")

    def __init__(self) -> None:
        self.busy = HeavyHitters()
        self.met = self.busy.counts  # by client; a caller raises those that are there, and calls `meet` for others
        self.refused: dict[str, _Refused] = {}  # by outcome, of those in REFUSING
        self.signed_in: set[str] = set()

    def meet(self, who: str) -> None:
        self.busy.add(who)

    def refuse(self, outcome: str, who: str, about: About) -> None:
        found = self.refused.get(outcome)
        if found is None:
            found = self.refused[outcome] = _Refused()
        found.add(who, about)
        if about.signed_in:
            self.signed_in.add(who)
            if len(self.signed_in) > 4 * MOST:
                self.signed_in &= set().union(*(each.hitters[CLIENT].counts for each in self.refused.values()))

    def shrink(self, most: int) -> None:
        """Keep at most so many names of each kind: the minute is over, and cannot be sent."""
        for hitters in (self.busy, *(each for found in self.refused.values() for each in found.hitters.values())):
            hitters.shrink(most)

    def copied(self, total: Counted) -> "Copy":
        """What is needed for `Copy.frozen`; quick, since nothing counts meanwhile."""
        return Copy(self, total)


class Copy:
    """Counts that no longer grow."""

    def __init__(self, counts: WhoCounts, total: Counted) -> None:
        self._total = total
        self._busy = (dict(counts.met), counts.busy.bound)
        self._refused = {
            outcome: {kind: (dict(each.counts), each.bound) for kind, each in found.hitters.items()}
            for outcome, found in counts.refused.items()
        }
        self._registers = {outcome: found.clients.frozen() for outcome, found in counts.refused.items()}
        self._signed_in = set(counts.signed_in)

    def frozen(self, most_clients: int) -> Who:
        """As a value, with at most so many clients, named as rows may name them."""
        groups = {kind: self._group(kind, *most(kind, most_clients)) for kind in _MOST if kind == CLIENT or self._refused}
        return Who(self._total, groups, *(self._registers.get(each, "") for each in REFUSING))

    def _group(self, kind: str, most_refused: int, most_busy: int) -> Group:
        """As `Group.cut` does, but names are looked at only if they are kept: once a second, of every rule."""
        columns = [*(self._refused.get(each, {}).get(kind, _NOTHING) for each in REFUSING)]
        ranks = Counter(columns[0][0])
        ranks.update(columns[1][0])
        names = dict.fromkeys(sorted(ranks, key=ranks.__getitem__, reverse=True)[:most_refused])
        columns.append(self._busy if kind == CLIENT else _NOTHING)
        busy = columns[2][0]
        others = (name for name in sorted(busy, key=busy.__getitem__, reverse=True) if name not in names)
        names.update(dict.fromkeys([*islice(others, most_busy)]))
        bounds = [
            bound + max((count for name, count in counts.items() if name not in names), default=0) for counts, bound in columns
        ]
        known = {name: Known(Counted(*(counts.get(name, 0) for counts, _ in columns))) for name in names}
        return self._named(kind, Group(known, Counted(*bounds)))

    def _named(self, kind: str, group: Group) -> Group:
        named: dict[str, Known] = {}
        for name, known in self._described(kind, group):
            named[name] = named[name].plus(known) if name in named else known
        return group._replace(named=named)

    def _described(self, kind: str, group: Group) -> Iterator[tuple[str, Known]]:
        for name, known in group.named.items():
            if kind == CLIENT:
                network = network_in(name)
                known = Known(known.counted, name in self._signed_in or has_user(name), network and stored(network))
            # A network of several clients is nobody's identity: it stays as it is, as it does in a block.
            yield kept(name) if kind == CLIENT else stored(name) if kind == NETWORK else name, known


_NOTHING: tuple[dict[str, int], int] = ({}, 0)
