"""Overrides as frozen values, indexed so that a request finds its own among a hundred thousand.

Networks are in tables by prefix length, all others in one table by identity, in which a user also has the overrides of
their groups. A request costs one look-up for each prefix length and each key in use. `request.prepare` applies what is
found.
"""

import itertools
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from ratewindow.identity import parse_identity, recipe, scope
from ratewindow.identity.address import whole_address
from ratewindow.identity.custom_keys import SCOPE
from ratewindow.identity.site_answers import SiteFunction
from ratewindow.identity.typed_values import scope_first
from ratewindow.limiter.types import Window
from ratewindow.overrides.conditions import function_of
from ratewindow.overrides.subjects import BITS, Network, Subject, network_of, texts_of

ACTIONS = ALLOW, BLOCK, RATE = "allow", "block", "rate"


@dataclass(frozen=True, slots=True)
class Ruling:
    """What one override does and when: for one rule, or for all of them if `rule` is empty."""

    action: str  # allow, block, rate
    rule: str = ""
    windows: tuple[Window, ...] = ()  # of another rate
    starts_s: float = 0.0  # since the epoch
    expires_s: float = float("inf")
    pk: int = 0  # of its row


class Networks:
    """Immutable table of values by network, found by any address in the network."""

    def __init__(self, entries: Iterable[tuple[Network, Ruling]]) -> None:
        tables: dict[int, dict[int, dict[int, tuple[Ruling, ...]]]] = {4: {}, 6: {}}
        for (version, number, length), value in entries:
            free = BITS[version] - length
            table = tables[version].setdefault(free, {})
            number >>= free
            table[number] = (*table[number], value) if number in table else (value,)
        self._tables = {version: tuple(sorted(found.items())) for version, found in tables.items()}

    def containing(self, version: int, number: int, length: int = 128) -> Iterator[Ruling]:
        """The values of every network that contains this address, or all of this network; the narrowest first."""
        own = max(0, BITS[version] - length)
        for free, table in self._tables[version]:
            if free >= own and (found := table.get(number >> free)) is not None:
                yield from found


class Overrides:
    """One reading of the rows, oldest first; replaced as a whole, never changed.

    `members` returns the users, ``user:42``, of the groups that rows name, with the groups of each among these.
    """

    def __init__(
        self,
        entries: Iterable[tuple[Subject, Ruling]],
        members: Callable[[Collection[str]], Mapping[str, tuple[str, ...]]] | None = None,
    ) -> None:
        by_network, by_group = [], dict[str, list[Ruling]]()
        by_condition: dict[str, list[Ruling]] = {}
        by_identity: dict[str, tuple[Ruling, ...]] = {}
        keys: dict[str, bool] = {}  # whether some identities of this key are stored as hashes
        self.everybody: tuple[Ruling, ...] = ()
        self.count = 0
        for self.count, (subject, ruling) in enumerate(entries, 1):
            if subject.network is not None:
                by_network.append((subject.network, ruling))
            elif subject.condition:
                by_condition.setdefault(subject.condition, []).append(ruling)
            elif subject.group:
                by_group.setdefault(subject.group, []).append(ruling)
            elif subject.key:
                keys[subject.key] = keys.get(subject.key, False) or subject.hashed
                by_identity[subject.text] = (*by_identity.get(subject.text, ()), ruling)
            else:
                self.everybody += (ruling,)
        if by_group and members is not None:
            keys.setdefault("user", False)
            by_groups: dict[tuple[str, ...], tuple[Ruling, ...]] = {}  # users in the same groups share one tuple
            for user, groups in members(by_group).items():
                if groups not in by_groups:
                    by_groups[groups] = tuple(itertools.chain.from_iterable(by_group.get(group, ()) for group in groups))
                by_identity[user] = by_identity.get(user, ()) + by_groups[groups]
        self.groups = frozenset(by_group)
        self._networks = Networks(by_network) if by_network else None
        self._by_identity = by_identity
        self._by_condition = [(function_of(text), rulings) for text, rulings in by_condition.items()]
        self._recipes = tuple((recipe(key), hashed) for key, hashed in sorted(keys.items()))

    def of_request(self, request: HttpRequest, rules: Iterable[Any] | None = None) -> list[Ruling]:
        """The overrides in force now for the client of this request, of which these rules, or all, decide. Conditions that
        change nothing are not asked for."""
        found = [*self.everybody]
        for function, rulings in self._that_matter(rules):
            found += rulings if function.answer(request) else ()
        if self._networks is not None and (address := whole_address(request)) is not None:
            found += self._networks.containing(address.version, int(address))
        within = scope(request) if self._recipes else None
        for each, hashed in self._recipes:
            identity = each.identity(request) if _holds_in(each.text, within) else None
            if identity is not None:
                for text in texts_of(identity) if hashed else (identity,):
                    found += self._by_identity.get(text, ())
        return _in_force(found)

    def _that_matter(self, rules: Iterable[Any] | None) -> Iterator[tuple[SiteFunction, list[Ruling]]]:
        """The conditions of overrides that are in force for one of these rules, with these overrides; a block needs no rule."""
        names = {rule.name for rule in rules or ()} if self._by_condition else ()
        for function, rulings in self._by_condition:
            if rules is not None:
                rulings = [each for each in rulings if (each.rule in names if each.rule else names or each.action == BLOCK)]
            if rulings := _in_force(rulings):
                yield function, rulings

    async def load(self, request: HttpRequest, rules: Iterable[Any]) -> None:
        """Fetch what `of_request` needs from the database, without blocking the event loop."""
        for function, _ in self._that_matter(rules):
            await function.aanswer(request)
        for each, _ in self._recipes:
            if each.loaders:
                await each.load(request)

    def of_identity(self, who: str | tuple[str, ...]) -> list[Ruling]:
        """The overrides in force now for an identity, as one typed value or several. ValueError says what is wrong."""
        whole = parse_identity(who)
        values = (who,) if isinstance(who, str) else tuple(scope_first(who))
        found = [*self.everybody]
        for value in values:
            if value.startswith("ip:") and self._networks is not None:
                found += self._networks.containing(*network_of(value[3:]))
        within = values[0] if values[0].startswith(f"{SCOPE}:") else None
        parts = [(within, value) if within and not _holds_in(value.partition(":")[0], within) else value for value in values]
        for identity in {whole, *map(parse_identity, parts)}:
            for text in texts_of(identity):
                found += self._by_identity.get(text, ())
        return _in_force(found)


def _holds_in(key: str, scope: str | None) -> bool:
    """Whether an override for an identity of this key applies in a scope: addresses are shared by all, other keys are not."""
    return scope is None or key == "ip" or key.partition("+")[0] == SCOPE


def _in_force(found: list[Ruling]) -> list[Ruling]:
    if not found:
        return found
    now_s = time.time()
    return [each for each in found if each.starts_s <= now_s < each.expires_s]
