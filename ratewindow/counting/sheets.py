"""The sheet of one minute: what each rule decided in it, and whom it refused, while that grows in this process."""

import ipaddress
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import ResolverMatch

from ratewindow import conf
from ratewindow.counting.sums import (
    BOUNDS,
    MOST_AGENT,
    MOST_CLIENTS,
    MOST_NETWORKS,
    NUMBERS,
    OVER,
    REFUSING,
    SHARES,
    SPANS,
    Counted,
    Distinct,
    Group,
    Known,
    Sums,
    Who,
    added,
)
from ratewindow.identity import kept, split, stored
from ratewindow.identity.address import client_of, parse_address
from ratewindow.limiter.keys import MOST_REMEMBERED
from ratewindow.limiter.types import RuleDecision
from ratewindow.store.state_keys import client_tag

MOST_LIMITS = 10  # of a rule, of which it is counted how much was used in a minute: overrides may give each client its own
OF_REQUESTS = ("route:", "path:", "method:")  # identities that tell requests apart, and not who sends them


class RequestFacts(NamedTuple):
    """What a request has said, before anything is made of it. The request is not kept: its body may be large."""

    peer: str
    forwarded: str
    method: str
    path: str
    urlconf: Any
    match: ResolverMatch | None
    agent: str
    is_user: bool  # False also if nobody has asked who it is


def facts_of(who: HttpRequest | str | None) -> RequestFacts | str:
    """What the report needs of a request. Where code has decided about an identity, that identity; about neither, empty."""
    if not isinstance(who, HttpRequest):
        return who or ""
    meta = who.META
    return RequestFacts(
        meta.get("REMOTE_ADDR") or "",
        meta.get("HTTP_X_FORWARDED_FOR") or "",
        who.method or "",
        who.path_info,
        getattr(who, "urlconf", None),
        who.resolver_match,
        meta.get("HTTP_USER_AGENT", ""),
        bool(getattr(getattr(who, "_cached_user", None), "is_authenticated", False)),
    )


def sender(facts: RequestFacts | str) -> str:
    """The address of a request, ``ip:203.0.113.9``; or the identity that code names, which may be empty."""
    if isinstance(facts, RequestFacts):
        return f"ip:{client_of(facts.peer, facts.forwarded)}"
    return kept(facts) if len(facts) > MOST_REMEMBERED else facts


def address_in(identity: str) -> str:
    """The address that an identity has, as ``ip:203.0.113.9`` or hashed; empty if it has none."""
    return _part_in(identity, "ip:")


@lru_cache(maxsize=4096)
def _part_in(identity: str, *kinds: str) -> str:
    return next((part for part in split(identity) if part.startswith(kinds)), "")


def visitor(client: str, facts: RequestFacts | str) -> str:
    """Who is hurt by a refusal: the user or address of a client, else the sender. Who guesses passwords is many clients, each
    a login name that he tries, and one visitor; all visitors are one client of a rule that counts them together."""
    return _part_in(client, "user:", "ip:") or sender(facts) or client


@lru_cache(maxsize=4096)
def network_in(identity: str) -> str:
    """The network of an identity's address: ``ip:203.0.113.0/24``, or ``ip:2001:db8:1:2::/64``; the /48 where each /64 is one
    client. Empty without an address."""
    parsed = parse_address(address_in(identity).removeprefix("ip:").partition("/")[0])
    if parsed is None:
        return ""
    length = 24 if parsed.version == 4 else 64 if conf.current().ipv6_prefix > 64 else 48
    return f"ip:{ipaddress.ip_network((parsed, length), strict=False)}"


class HeavyHitters:
    """Counts of the names that occur most often, in bounded memory, whatever is counted: the summary of Misra and Gries.

    `bound` is how many units any name may have beyond its count, and a name that is missing in all. Once there are twice as
    many names as are to remain, the largest count beyond those is subtracted from all counts, and names with nothing left are
    dropped. Each unit that a count is too small by was subtracted from more than `most` counts, so after N units no count is
    too small by more than N / (most + 1), and none is ever too large.

    Misra and Gries, *Finding repeated elements*, 1982; that such summaries may be added up, and their bounds with them: Agarwal
    and others, *Mergeable summaries*, PODS 2012; the batches, which cost a unit no more than a dict's look-up: Anderson and
    others, *A high-performance algorithm for identifying frequent items in data streams*, IMC 2017.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.counts: dict[str, int] = {}
        self.bound = 0

    def add(self, name: str) -> None:
        """Count one unit."""
        if name not in self.counts and len(self.counts) >= 2 * self.most:
            self.shrink(self.most)
        self.counts[name] = self.counts.get(name, 0) + 1

    def shrink(self, most: int) -> None:
        """Keep at most so many names."""
        if len(self.counts) <= most:
            return
        cut = sorted(self.counts.values(), reverse=True)[most]
        self.counts = {name: count - cut for name, count in self.counts.items() if count > cut}
        self.bound += cut


class Refusal(NamedTuple):
    """One rule's refusal of a request, as rooms get it. Its decision has the code that the client was told."""

    decision: RuleDecision
    client: str  # its identity in clear; empty if it is not known
    network: str
    facts: RequestFacts | None


class RefusedClients:
    """Whom one rule refused, or would have. At most four times as many names are held as rows keep, whatever comes."""

    def __init__(self) -> None:
        self.clients, self.networks = HeavyHitters(2 * MOST_CLIENTS), HeavyHitters(2 * MOST_NETWORKS)
        self.distinct = Distinct()

    def add(self, client: str, network: str, visitor: str) -> None:
        self.distinct.add(client_tag(visitor))
        self.clients.add(client)
        if network:
            self.networks.add(network)


class Line:
    """What one rule did in one minute, while it grows."""

    def __init__(self, before: "Line | None" = None) -> None:
        self.numbers = [0] * len(NUMBERS)
        self.reasons: dict[str, int] = {}
        self.spans = [0] * SPANS
        self.left: dict[str, list[int]] = {}  # of each limit, by the twentieths that requests left of it, or `OVER`
        self.refused: defaultdict[str, RefusedClients] = defaultdict(RefusedClients)  # by outcome, of those in REFUSING
        # Of clients that were refused in this minute, or earlier and have come in each minute since.
        self.known: dict[str, Known] = before.carried() if before is not None else {}

    def sums(self) -> Sums:
        latency = {BOUNDS[number]: count for number, count in enumerate(self.spans) if count}
        used = {
            f"{limit}:{'over' if left == OVER else 100 - 100 * left // SHARES}": count
            for limit, counts in self.left.items()
            for left, count in enumerate(counts)
            if count
        }
        return Sums.of(self.numbers, dict(self.reasons), latency, used)

    def left_of(self, limit: str) -> list[int]:
        """The counts of one limit; those of limits beyond `MOST_LIMITS` are lost."""
        counts = self.left.get(limit) or [0] * (OVER + 1)
        return self.left.setdefault(limit, counts) if len(self.left) < MOST_LIMITS else counts

    def who(self, most: int) -> Who:
        """Whom it refused, with `most` clients, named as rows may name them: only now, since of a flood few names are left."""
        passed, refused, other, would_refuse, *_ = self.numbers
        one, more = (self.refused[outcome] for outcome in REFUSING)
        clients, networks = _together(one.clients, more.clients), _together(one.networks, more.networks)
        return Who(
            Counted(refused, would_refuse, passed + refused + other),
            _named(clients.cut(most), kept),
            # A network is nobody's identity if it has several clients: it stays as it is, as it does in a block.
            _named(networks.cut(min(most, MOST_NETWORKS)), stored),
            one.distinct.frozen(),
            more.distinct.frozen(),
            {kept(name): known for name, known in self.known.items() if name in clients.named or known.answers},
        )

    def carried(self) -> dict[str, Known]:
        """What the next minute begins to know: an answer may come before a refusal in it."""
        refused = {client for refused in self.refused.values() for client in refused.clients.counts}
        came = (client for client, known in self.known.items() if known.answers or client in refused)
        return {client: self.known[client]._replace(answers=0, succeeded=0) for client in came}

    def answer(self, client: str, succeeded: bool) -> None:
        """Note an answer to a client that was refused before."""
        if (known := self.known.get(client)) is not None:
            self.known[client] = known._replace(answers=known.answers + 1, succeeded=known.succeeded + succeeded)

    def know(self, client: str, facts: RequestFacts | str) -> None:
        """Note what a refused request says of its client."""
        if isinstance(facts, RequestFacts) and (client in self.known or len(self.known) < 2 * MOST_CLIENTS):
            known = Known(facts.agent[:MOST_AGENT], facts.is_user or client.startswith("user:"))
            self.known[client] = self.known.get(client, Known()).plus(known)


def _together(refused: HeavyHitters, would_refuse: HeavyHitters) -> Group:
    names = {**refused.counts, **would_refuse.counts}
    named = {name: Counted(refused.counts.get(name, 0), would_refuse.counts.get(name, 0)) for name in names}
    return Group(named, Counted(refused.bound, would_refuse.bound))


def _named(group: Group, name_of: Callable[[str], str]) -> Group:
    """With names as they may be stored; two may become one."""
    return group._replace(named=added((name_of(name), counted) for name, counted in group.named.items()))


ALL = "(all)"  # the name under which each request counts once; no rule can have it


@dataclass
class Sheet:
    """The lines of one minute. If a minute is opened again, its new token makes its counts add to those sent before."""

    token: str
    lines: dict[str, Line] = field(default_factory=dict)
    again: Line = field(default_factory=Line)  # what other rules say of requests that one rule has counted
    changes: int = 0
    sent: int = 0  # `changes` when they were last sent
    # What was refused, of which it is not counted yet who it was: where, outcome, and client if it is known.
    pending: list[tuple[Line, str, str, RequestFacts | str, RuleDecision]] = field(default_factory=list)

    @property
    def is_unsent(self) -> bool:
        return self.changes > self.sent

    def count_pending(self) -> Collection[Refusal]:
        """Count who they were. Of many at once, and not in each request: it takes longer than all the rest."""
        pending, self.pending = self.pending, []
        refusals = []
        for line, outcome, client, facts, decision in pending:
            client = sender(facts) or client if client in ("", "global") or client.startswith(OF_REQUESTS) else client
            network = network_in(client) or network_in(sender(facts))
            if client:
                line.refused[outcome].add(client, network, visitor(client, facts))
                line.know(client, facts)
            if decision.id:
                refusals.append(Refusal(decision, client, network, facts if isinstance(facts, RequestFacts) else None))
        return refusals

    def sums(self) -> dict[str, Sums]:
        by_rule = {rule: line.sums() for rule, line in self.lines.items()}
        if not by_rule:
            return {}
        together = reduce(Sums.plus, by_rule.values()).beyond(self.again.sums())
        return {**by_rule, ALL: together._replace(used={})}  # of limits of different rules it would say nothing

    def who(self) -> dict[str, Who]:
        return {rule: line.who(self._most_clients()) for rule, line in self.lines.items()}

    def shrink(self) -> None:
        """Keep no more than is sent: the minute is over, and cannot be sent."""
        for refused in (refused for line in self.lines.values() for refused in line.refused.values()):
            refused.clients.shrink(self._most_clients())
            refused.networks.shrink(min(self._most_clients(), MOST_NETWORKS))

    def _most_clients(self) -> int:
        """Of each rule, so that many rules share what a process keeps and sends: 600 of all, but at least four of each."""
        return max(4, min(MOST_CLIENTS, 600 // max(1, len(self.lines))))
