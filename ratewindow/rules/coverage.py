"""Which routes of the site a rule meets, may meet, or never meets: found by the same matching as for requests.

A route that leads to one path in each language is met or not. Of a route with parameters a rule may meet some paths
and not others: then it *may* meet it.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.http import HttpRequest

from ratewindow.limiter.types import Window
from ratewindow.rules import code_rates
from ratewindow.rules.code_rates import CodeRate
from ratewindow.rules.literal_text import Ends, ends_of_regex
from ratewindow.rules.matching import Index
from ratewindow.rules.rule import Rule
from ratewindow.rules.site_routes import Route, Visit, routes, way_to

_SOME = (Window(1, 1000),)
_SEES_THE_END = re.compile(r"\$|\\[zZbB]")
_NO_PATH = "\x00"  # in no path of a rule


@dataclass(frozen=True)
class Covered:
    """One route, with the names of the rules that meet it, of those that may meet it, and of those that would if its view
    answered their methods. `likely` are those of `may_meet` that meet a path which was tried."""

    route: Route
    meets: frozenset[str]
    may_meet: frozenset[str]
    likely: frozenset[str] = frozenset()
    unanswered: frozenset[str] = frozenset()


def coverage(rules: Iterable[Rule], names_in_code: Iterable[str] = ()) -> list[Covered]:
    """Every route of the site, with those of these rules and names in code that meet it. Modes and limits do not matter."""
    rules = list(rules)
    found = _Places(rules)
    in_code = _NamedInCode({*names_in_code, *(rule.name for rule in rules)})
    methods = {rule.name: rule for rule in rules if rule.methods}
    covered = []
    for route in routes():
        meets, may_meet, likely = found.at(route)
        meets |= in_code.at(route)
        unanswered = frozenset(name for name in meets | may_meet if name in methods and not _answers(route, methods[name]))
        may_meet -= meets | unanswered
        covered.append(
            Covered(route, frozenset(meets - unanswered), frozenset(may_meet), frozenset(may_meet & likely), unanswered)
        )
    return covered


def _answers(route: Route, rule: Rule) -> bool:
    return not route.methods or any(map(rule.meets_method, route.methods))


class _Places:
    """The rules that apply by path or route, without their methods."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        placed = [Rule(each.name, _SOME, applies_to=each.applies_to, pattern=each.pattern) for each in rules]
        placed = [each for each in placed if each.applies_to != "named"]
        self._index = Index(placed)
        ends = [(each, ends_of_regex(each.pattern)) for each in placed if each.applies_to == "regex"]
        self._regexes = [(each, own) for each, own in ends if not own.is_whole]
        self._endless = {each.name for each, _ in ends if not _SEES_THE_END.search(each.pattern)}
        self._kinds = {each.name: each.applies_to for each in placed}
        self._prefixes = sorted((each.pattern, each.name) for each in placed if each.applies_to == "prefix")
        self._by_way: dict[tuple[Any, ...], set[str]] = {}
        paths = [(each.name, each.pattern) for each in placed if each.applies_to == "path"]
        paths += [(each.name, own.head) for each, own in ends if own.is_whole]
        for name, path in paths:
            if (way := way_to(path)) is not None:
                self._by_way.setdefault(way.patterns, set()).add(name)

    def at(self, route: Route) -> tuple[set[str], set[str], set[str]]:
        """The names of the rules that meet this route, of those that may, and of those that meet a path which was tried."""
        found = [{rule.name for rule in self._index.match(cast("HttpRequest", visit))} for visit in route.visits]
        every = set.intersection(*found) if found else set()
        some = set[str]().union(*found)
        if route.is_whole:
            return every, some - every, some
        certain = set.intersection(*(self._certain(route, ends) for ends in route.ends))
        to_path = self._by_way.get(route.way.patterns, set())
        if not route.way.has_parameters:  # several texts of one page
            certain |= every & to_path
        possible = some | to_path | {name for ends in route.ends for name in self._possible(ends)}
        return certain, possible - certain, some | to_path

    def _certain(self, route: Route, ends: Ends) -> set[str]:
        """The rules that meet every path with this beginning."""
        match = route.visits[0].resolver_match if route.visits else route.match
        met = self._index.match(cast("HttpRequest", Visit(ends.head + _NO_PATH, match)))
        kinds = {rule.name: self._kinds[rule.name] for rule in met}
        return {name for name, kind in kinds.items() if kind in ("all", "route", "prefix") or name in self._endless}

    def _possible(self, ends: Ends) -> Iterator[str]:
        """The rules that may meet a path with these ends, in the part that its parameters leave open."""
        for prefix, name in self._prefixes[bisect_left(self._prefixes, (ends.head,)) :]:
            if not prefix.startswith(ends.head):
                break
            yield name
        for rule, own in self._regexes:
            begins = ends.head.startswith(own.head) or own.head.startswith(ends.head)
            if begins and (ends.tail.endswith(own.tail) or own.tail.endswith(ends.tail)):
                yield rule.name


class _NamedInCode:
    """The rules that decorators and throttles name, by the place where they do."""

    def __init__(self, names: set[str]) -> None:
        code_rates.names()  # imports the views
        self._by_place: dict[str, list[CodeRate]] = {}
        for name, uses in code_rates.uses().items():
            for use in uses if name in names else ():
                for place in (use.place, use.place.rpartition(".")[0]):  # a method's class
                    self._by_place.setdefault(place, []).append(use)

    def at(self, route: Route) -> set[str]:
        found: set[str] = set()
        for place, scope in route.places.items():
            found.update(use.name for use in self._by_place.get(place, ()) if scope in ("", use.name))
        return found
