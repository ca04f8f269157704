"""Which rules a request meets: looked up by path and route, not tried one after the other."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any
from weakref import WeakSet

from django.http import HttpRequest
from django.urls import ResolverMatch

from ratewindow.identity.routes import match_of
from ratewindow.rules.path_variants import PathVariants, folded
from ratewindow.rules.regex import RegexSet
from ratewindow.rules.regex import without_room as regexes_without_room
from ratewindow.rules.rule import Rule

Rules = tuple[Rule, ...]
Finder = Callable[[str, HttpRequest], Iterable[Rule]]
TOO_MANY = "all regular expressions of the site together are too large, and the largest have no room; count less in braces"
MOST_URLCONFS = 100  # a site may make one for each of its tenants


class Index:
    """The rules that apply by path or route, arranged so that a thousand cost little more than ten."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        placed = [*filter(_holds, rules)]
        self._everywhere = tuple(rule for rule in placed if rule.applies_to == "all")
        self._by_text = _ByText(_patterns(placed, "path"), _patterns(placed, "prefix"))
        self._by_route = _patterns(placed, "route")
        regexes = _patterns(placed, "regex")
        for pattern in regexes_without_room(regexes):
            del regexes[pattern]
        self._regexes = RegexSet(list(regexes)) if regexes else None
        self._by_regex = list(regexes.values())
        self._finders: dict[Any, Finder] = {}  # by URLconf; None is the site's own
        _indexes.add(self)

    def match(self, request: HttpRequest) -> list[Rule]:
        """Every rule for this request's method and path, in no order that matters: all of them apply."""
        # path_info, not path: a client can change the latter by a SCRIPT_NAME header.
        path = request.path_info
        found = [*self._everywhere]
        if self._by_text:
            urlconf = getattr(request, "urlconf", None)
            find = self._finders.get(urlconf) or self.prepare(urlconf)
            found += find(path, request)
        if self._regexes:
            for place in self._regexes.found_in(path):
                found += self._by_regex[place]
        if self._by_route:
            found += self._on_route(match_of(request))
        return [rule for rule in found if rule.meets_method(request.method)]

    def prepare(self, urlconf: Any = None) -> Finder:
        """Look through a URLconf for what else leads to the paths of rules; once, and best before a request needs it."""
        if len(self._finders) >= MOST_URLCONFS:
            self._finders.clear()
        self._finders[urlconf] = finder = _finder(self._by_text, urlconf)
        return finder

    def forget_urlconfs(self) -> None:
        """Look through them anew: a test has replaced them."""
        self._finders.clear()

    def _on_route(self, match: ResolverMatch | None) -> Iterator[Rule]:
        """By the name of the view, and by each namespace that it is in."""
        name = match.view_name if match is not None else ""
        while name:
            yield from self._by_route.get(name, ())
            name = name.rpartition(":")[0]


def without_room(rules: Iterable[Rule]) -> list[Rule]:
    """The rules by a regular expression that meet nothing, since all expressions of the site are too much together."""
    regexes = _patterns(filter(_holds, rules), "regex")
    return [rule for pattern in sorted(regexes_without_room(regexes)) for rule in regexes[pattern]]


class _ByText:
    """The rules for a path or a prefix, by its text."""

    def __init__(self, paths: dict[str, Rules], prefixes: dict[str, Rules]) -> None:
        self.paths, self.prefixes = paths, prefixes
        # One look for each length that some prefix has, however many prefixes share it.
        self._lengths = sorted({len(prefix) for prefix in prefixes})

    def __bool__(self) -> bool:
        return bool(self.paths or self.prefixes)

    def find(self, path: str, request: HttpRequest | None = None) -> Iterator[Rule]:
        yield from self.paths.get(path, ())
        for length in self._lengths:
            if length > len(path):
                break
            yield from self.prefixes.get(path[:length], ())

    def spelt(self, spellings: PathVariants) -> "_ByText":
        """The same with all the texts that mean the same."""
        return _ByText(_with_others(self.paths, spellings.paths), _with_others(self.prefixes, spellings.prefixes))

    def folded(self) -> "_ByText":
        """The same without case."""
        return _ByText(*(_merged((folded(text), rules) for text, rules in each.items()) for each in (self.paths, self.prefixes)))


def _finder(by_text: _ByText, urlconf: Any) -> Finder:
    """What finds the rules for paths and prefixes under a URLconf, however a path is written that leads there."""
    spellings = PathVariants(urlconf, by_text.paths, by_text.prefixes)
    every = by_text.spelt(spellings)
    if not spellings.ignores_case and not spellings.destinations:
        return every.find
    return _Resolving(by_text.paths, every, spellings).find


class _Resolving:
    """The same where texts alone do not say which page is meant."""

    def __init__(self, by_path: dict[str, Rules], by_text: _ByText, spellings: PathVariants) -> None:
        self._by_path, self._by_text, self._spellings = by_path, by_text, spellings
        self._without_case = by_text.folded() if spellings.ignores_case else None

    def find(self, path: str, request: HttpRequest) -> Iterable[Rule]:
        """Each rule once."""
        found = [*self._by_text.find(path)]
        if self._without_case is not None:
            found += self._without_case.find(folded(path))
        for other in self._spellings.paths_of(partial(match_of, request)):
            found += self._by_path[other]
        return {rule.name: rule for rule in found}.values()


def _holds(rule: Rule) -> bool:
    return rule.mode != "off" and bool(rule.windows)


def _patterns(rules: Iterable[Rule], applies_to: str) -> dict[str, Rules]:
    return _merged((rule.pattern, (rule,)) for rule in rules if rule.applies_to == applies_to)


def _with_others(by_text: dict[str, Rules], others: dict[str, set[str]]) -> dict[str, Rules]:
    return _merged([*by_text.items(), *((text, by_text[each]) for text, meant in others.items() for each in sorted(meant))])


def _merged(parts: Iterable[tuple[str, Rules]]) -> dict[str, Rules]:
    """By text, each rule once."""
    found: dict[str, Rules] = {}
    for text, rules in parts:
        held = found.get(text, ())
        found[text] = (*held, *(rule for rule in rules if rule not in held))
    return found


_indexes: WeakSet[Index] = WeakSet()


SETTINGS = ("ROOT_URLCONF", "LANGUAGES", "LANGUAGE_CODE", "USE_I18N")  # which the routes depend on


def forget_urlconfs() -> None:
    """Look at the routes again: one of `SETTINGS` has changed."""
    for index in [*_indexes]:
        index.forget_urlconfs()
