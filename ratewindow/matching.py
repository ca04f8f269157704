"""Which rules a request meets: looked up by path and route, not tried one after the other."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from django.http import HttpRequest
from django.urls import ResolverMatch

from ratewindow.regexes import RegexSet
from ratewindow.routes import match_of
from ratewindow.rule import Rule
from ratewindow.spellings import Spellings, folded

Rules = tuple[Rule, ...]
Resolve = Callable[[], ResolverMatch | None]


class Index:
    """The rules that apply by path or route, arranged so that a thousand cost little more than ten."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        placed = [rule for rule in rules if rule.mode != "off" and rule.windows]
        self._everywhere = tuple(rule for rule in placed if rule.applies_to == "all")
        self._by_text = _ByText(placed)
        self._by_route = _grouped(rule for rule in placed if rule.applies_to == "route")
        regexes = _grouped(rule for rule in placed if rule.applies_to == "regex")
        self._regexes = RegexSet(list(regexes)) if regexes else None
        self._by_regex = list(regexes.values())
        self._spelt: dict[Any, _OtherSpellings] = {}

    def match(self, request: HttpRequest) -> list[Rule]:
        """Every rule for this request's method and path, in no order that matters: all of them apply."""
        # path_info, not path: a client can change the latter by a SCRIPT_NAME header.
        path = request.path_info
        found = [*self._everywhere, *self._by_text.find(path)]
        if self._by_text:
            urlconf = getattr(request, "urlconf", None)
            others = self._spelt.get(urlconf) or self.prepare(urlconf)
            if others.exist:
                found += others.find(path, partial(match_of, request), found)
        if self._regexes:
            for place in self._regexes.found_in(path):
                found += self._by_regex[place]
        if self._by_route:
            found += self._on_route(match_of(request))
        return [rule for rule in found if rule.meets_method(request.method)]

    def prepare(self, urlconf: Any = None) -> "_OtherSpellings":
        """Look through a URLconf for what else leads to the paths of rules; once, and best before a request needs it."""
        self._spelt[urlconf] = others = _OtherSpellings(self._by_text, urlconf)
        return others

    def _on_route(self, match: ResolverMatch | None) -> Iterator[Rule]:
        """By the name of the view, and by each namespace that it is in."""
        name = match.view_name if match is not None else ""
        while name:
            yield from self._by_route.get(name, ())
            name = name.rpartition(":")[0]


class _ByText:
    """The rules for a path or a prefix, by its text."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = [rule for rule in rules if rule.applies_to in ("path", "prefix")]
        self.paths = _grouped(rule for rule in self._rules if rule.applies_to == "path")
        self._set_prefixes(_grouped(rule for rule in self._rules if rule.applies_to == "prefix"))

    def _set_prefixes(self, prefixes: dict[str, Rules]) -> None:
        self._prefixes = prefixes
        # One look for each length that some prefix has, however many prefixes share it.
        self._lengths = sorted({len(prefix) for prefix in prefixes})

    def __bool__(self) -> bool:
        return bool(self._rules)

    def find(self, path: str) -> Iterator[Rule]:
        yield from self.paths.get(path, ())
        for length in self._lengths:
            if length > len(path):
                break
            yield from self._prefixes.get(path[:length], ())

    def folded(self) -> "_ByText":
        """The same without case."""
        other = _ByText(())
        other.paths = _grouped((rule for rule in self._rules if rule.applies_to == "path"), folded)
        other._set_prefixes(_grouped((rule for rule in self._rules if rule.applies_to == "prefix"), folded))
        return other


class _OtherSpellings:
    """The rules of a path that is written otherwise, under one URLconf."""

    def __init__(self, by_text: _ByText, urlconf: Any) -> None:
        self._spellings = Spellings(urlconf, by_text.paths)
        self._by_path = by_text.paths
        self._without_case = by_text.folded() if self._spellings.ignores_case else None
        self.exist = self._without_case is not None or bool(self._spellings.destinations)

    def find(self, path: str, resolve: Resolve, found: list[Rule]) -> list[Rule]:
        """Those that are not among the found ones."""
        others = [*self._without_case.find(folded(path))] if self._without_case is not None else []
        for other in self._spellings.paths_of(resolve):
            others += self._by_path[other]
        names = {rule.name for rule in found}
        return list({rule.name: rule for rule in others if rule.name not in names}.values())


def _grouped(rules: Iterable[Rule], text: Callable[[str], str] = str) -> dict[str, Rules]:
    by_pattern: dict[str, Rules] = {}
    for rule in rules:
        pattern = text(rule.pattern)
        by_pattern[pattern] = (*by_pattern.get(pattern, ()), rule)
    return by_pattern
