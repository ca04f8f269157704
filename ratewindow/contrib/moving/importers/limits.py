"""Limits that were found in code as definitions of shadow rules: where each applies, and under which name."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Any, NamedTuple

from ratewindow.limiter.rates import parse_rates
from ratewindow.rules.rule import BLOCKS
from ratewindow.rules.site_routes import Route, routes

PERIODS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}  # by the letters that packages write
_LONGEST = 64  # characters of a name


@dataclass(frozen=True)
class Limit:
    """One limit in code or settings. `name` is what these call it, `where` the routes that share its count; one that
    `applies_to` what a room knows has none."""

    name: str
    rate: str
    key: str
    where: tuple[Route, ...] = ()
    applies_to: str = ""
    fields: dict[str, Any] = field(default_factory=dict)  # more of the rule and its limits, as `define` takes it
    notes: tuple[str, ...] = ()  # what the rule does otherwise


@dataclass
class Found:
    """What a package limits, and sentences about what no rule can do."""

    limits: list[Limit] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def leave_out(self, place: str, why: str) -> None:
        if (sentence := f"{place}: {why}") not in self.left_out:
            self.left_out.append(sentence)


class Definition(NamedTuple):
    """The arguments of `RateRule.objects.define`."""

    name: str
    rate: str
    fields: dict[str, Any]

    def __str__(self) -> str:
        """``login: 5/60s, mode shadow, route login, key ip``."""
        return ", ".join([f"{self.name}: {self.rate}", *(f"{name} {value}" for name, value in self.fields.items())])


@dataclass(frozen=True)
class Translated:
    rules: list[Definition]
    notes: list[tuple[str, str]]  # the rule, and what it does otherwise
    left_out: list[str]


def translated(found: Found) -> Translated:
    """The rules, each in shadow."""
    rules, notes, left_out = dict[str, Definition](), list[tuple[str, str]](), list(found.left_out)
    for limit in found.limits:
        places = [("applies_to", limit.applies_to)] if limit.applies_to else list(_places(limit.where))
        if not places:
            left_out.append(f"{limit.name}: no rule can say where it applies: give its URL a name that no other URL has.")
        for place in places:
            name = _name(limit.name if len(places) == 1 else f"{limit.name}.{place[1]}", rules)
            rules[name] = Definition(name, limit.rate, {"mode": "shadow", place[0]: place[1], "key": limit.key, **limit.fields})
            notes += [(name, note) for note in limit.notes]
            if len(places) > 1:
                notes.append((name, f"{limit.name} counts {len(places)} places together, and this rule counts its own alone."))
    return Translated([rules[name] for name in sorted(rules)], notes, left_out)


def _places(where: Sequence[Route]) -> Iterator[tuple[str, str]]:
    """One place that has exactly these routes; or one for each of them; none if a route cannot be named."""
    together = list(dict.fromkeys(where))
    if len(together) > 1 and (place := _shared_place(together)):
        yield place
        return
    alone = [_own_place(route, together) for route in together]
    if all(alone):
        yield from dict.fromkeys(place for place in alone if place)


def _own_place(route: Route, together: Sequence[Route]) -> tuple[str, str] | None:
    if route.name and all(each in together for each in routes() if each.name == route.name):
        return "route", route.name
    return ("path", route.path) if route.is_whole and not route.differs_by_language else None


def _shared_place(together: Sequence[Route]) -> tuple[str, str] | None:
    """A name, a namespace, or a beginning of paths that these routes have and no other one."""
    first = together[0].name
    if first and all(route.name == first for route in together):
        return _own_place(together[0], together)
    space = _shared([route.name.split(":")[:-1] for route in together])
    if space and all(each in together for each in routes() if each.name.split(":")[: len(space)] == space):
        return "route", ":".join(space)
    if any(route.differs_by_language for route in together):  # each language has a path of its own
        return None
    beginning = "".join(_shared([[*route.path.partition("<")[0]] for route in together])).rpartition("/")[0] + "/"
    is_own = beginning != "/" and all(each in together for each in routes() if each.path.startswith(beginning))
    return ("prefix", beginning) if is_own else None


def _shared(lists: Iterable[list[str]]) -> list[str]:
    """What all lists begin with."""
    return [each[0] for each in takewhile(lambda each: len(set(each)) == 1, zip(*lists, strict=False))]


def _name(text: str, taken: Iterable[str]) -> str:
    """A name of a rule that is not taken, as near to the text as possible."""
    name = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("._-")[: _LONGEST - 4].rstrip("._-") or "rule"
    return next(each for number in count(1) if (each := name if number == 1 else f"{name}-{number}") not in (*taken, BLOCKS))


def as_rate(limit: int | str, period_s: int) -> str:
    """``5/60s``. Raises ValueError for what no rule may have."""
    rate = f"{limit}/{period_s}s"
    parse_rates(rate)
    return rate
