"""Blocks and exemptions as frozen values, arranged so that a request finds its own among a hundred thousand.

Networks lie in tables by their length, all others in one table by their identity, where a user also has what holds
for his groups. A request pays for the kinds that are there: one look for each length of a network, and one for each
other kind. `judging` makes a verdict of what it finds. What has been edited since all of them were read lies in a
second, small layer above them.
"""

import itertools
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass

from django.http import HttpRequest

from ratewindow.identity import forms, joined, parse_identity, recipe, scope, split
from ratewindow.identity.address import whole_address
from ratewindow.identity.scope import holds_in, scope_of
from ratewindow.identity.typed_values import scope_first
from ratewindow.limiter.types import Window
from ratewindow.overrides.networks import Networks
from ratewindow.overrides.subjects import Subject, network_of

ACTIONS = ALLOW, BLOCK, RATE = "allow", "block", "rate"


@dataclass(frozen=True, slots=True)
class Ruling:
    """What holds for somebody within its time: for one rule, or for all of them where `rule` is empty."""

    action: str  # allow, block, rate
    rule: str = ""
    windows: tuple[Window, ...] = ()  # of another rate
    starts_s: float = 0.0  # since the epoch
    expires_s: float = float("inf")
    pk: int = 0  # of its row

    def holds_at(self, now_s: float) -> bool:
        return self.starts_s <= now_s < self.expires_s


Members = Callable[[Collection[str]], Mapping[str, tuple[str, ...]]]


def _nobody(groups: Collection[str]) -> Mapping[str, tuple[str, ...]]:
    return {}


class Overrides:
    """One reading of the rows, oldest first; it is swapped whole, never changed.

    `members` is asked about the groups that some row names, and says of each user, ``user:42``, in which of them he is.
    """

    def __init__(self, entries: Iterable[tuple[Subject, Ruling]], members: Members = _nobody) -> None:
        self._below: Overrides | None = None
        self._gone: Collection[int] = ()  # rows of the layer below that have been edited since, or are deleted
        by_network, by_group = [], dict[str, tuple[Ruling, ...]]()
        by_identity: dict[str, tuple[Ruling, ...]] = {}
        keys: dict[str, bool] = {}  # whether some identities of this kind are kept as hashes
        self.everybody: tuple[Ruling, ...] = ()
        self.count = 0
        for self.count, (subject, ruling) in enumerate(entries, 1):
            if subject.network is not None:
                by_network.append((subject.network, ruling))
                continue
            one = (ruling,)
            if subject.group:
                by_group[subject.group] = by_group.get(subject.group, ()) + one
            elif subject.key:
                keys[subject.key] = keys.get(subject.key, False) or subject.hashed
                by_identity[subject.text] = by_identity[subject.text] + one if subject.text in by_identity else one
            else:
                self.everybody += one
        if by_group:
            keys.setdefault("user", False)
            together: dict[tuple[str, ...], tuple[Ruling, ...]] = {}  # users in the same groups share what holds for them
            for user, groups in members(by_group).items():
                if groups not in together:
                    together[groups] = tuple(itertools.chain.from_iterable(by_group.get(group, ()) for group in groups))
                by_identity[user] = by_identity.get(user, ()) + together[groups]
        self.groups = frozenset(by_group)
        self._networks = Networks(by_network)
        self._by_identity = by_identity
        self._recipes = tuple((recipe(key), hashed) for key, hashed in sorted(keys.items()))

    def above(self, below: "Overrides", gone: Collection[int]) -> "Overrides":
        """These, and those below without the rows that are gone or stand here anew."""
        made = copy(self)
        made._below, made._gone = below, gone
        made.count = self.count + below.count - len(gone)
        return made

    def of_request(self, request: HttpRequest) -> list[Ruling]:
        """All that hold now for whoever sent this request."""
        return _holding(self._of_request(request))

    def _of_request(self, request: HttpRequest) -> list[Ruling]:
        found = self._staying(self._below._of_request(request)) if self._below is not None else []
        found += self.everybody
        if self._networks and (address := whole_address(request)) is not None:
            found += self._networks.containing(address.version, int(address))
        within = scope(request) if self._recipes else None
        for each, hashed in self._recipes:
            identity = each.identity(request) if holds_in(each.text, within) else None
            if identity is None:
                continue
            for text in _spellings(identity) if hashed else (identity,):
                found += self._by_identity.get(text, ())
        return found

    async def load(self, request: HttpRequest) -> None:
        """Fetch what `of_request` will ask for, without blocking the event loop."""
        for each, _ in self._recipes:
            if each.loaders:
                await each.load(request)
        if self._below is not None:
            await self._below.load(request)

    def of_identity(self, who: str | tuple[str, ...]) -> list[Ruling]:
        """All that hold now for a client that a caller names by one typed value, or by several."""
        return _holding(self._of_identity((who,) if isinstance(who, str) else tuple(scope_first(who))))

    def _of_identity(self, values: tuple[str, ...]) -> list[Ruling]:
        found = self._staying(self._below._of_identity(values)) if self._below is not None else []
        found += self.everybody
        for value in values:
            if value.startswith("ip:") and self._networks:
                found += self._networks.containing(*network_of(value[3:]))
        within = scope_of(values)
        parts = [value if not within or holds_in(value.partition(":")[0], within) else (within, value) for value in values]
        for identity in {parse_identity(values), *map(parse_identity, parts)}:
            for text in _spellings(identity):
                found += self._by_identity.get(text, ())
        return found

    def _staying(self, found: list[Ruling]) -> list[Ruling]:
        return [each for each in found if each.pk not in self._gone] if found else found


def _holding(found: list[Ruling]) -> list[Ruling]:
    if not found:
        return found
    now_s = time.time()
    return [each for each in found if each.holds_at(now_s)]


def _spellings(identity: str) -> Iterator[str]:
    """How an identity may stand in a row: each of its parts as it is, or as a hash."""
    parts = split(identity)
    for each in itertools.product(*map(forms, parts)):
        yield joined(each) if len(parts) > 1 else each[0]
