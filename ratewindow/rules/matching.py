"""Which rules a request matches: looked up by path and route, not tested one after the other."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any
from weakref import WeakSet

from django.http import HttpRequest
from django.urls import ResolverMatch

from ratewindow import rooms
from ratewindow.identity.request_attributes import match_of
from ratewindow.limiter.problem import translatable
from ratewindow.rules.path_variants import PathVariants, caseless
from ratewindow.rules.regex import RegexSet, beyond_bounds as regexes_beyond_bounds
from ratewindow.rules.rule import Rule

Rules = tuple[Rule, ...]
Finder = Callable[[str, HttpRequest], Rules]
TOO_MANY = translatable(
    "all regular expressions of the site together are too large, and the largest are left out, those in shadow first; count "
    "less in braces"
)
MOST_URLCONFS = 100  # a site may make one for each of its tenants


class Index:
    """The rules that apply by path or route, indexed so that a thousand cost little more than ten."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        placed = [*filter(_holds, rules)]
        self._everywhere = tuple(rule for rule in placed if rule.applies_to == "all")
        self._by_text = _ByText(_patterns(placed, "path"), _patterns(placed, "prefix"))
        self._has_texts = bool(self._by_text.paths or self._by_text.prefixes)
        self._by_route = _patterns(placed, "route")
        regexes = _patterns(placed, "regex")
        for pattern in _beyond_bounds(regexes):
            del regexes[pattern]
        self._regexes = RegexSet(list(regexes)) if regexes else None
        self._by_regex = list(regexes.values())
        targets = ((each.matches, [rule for rule in placed if rule.applies_to == name]) for name, each in rooms.targets().items())
        self._by_target = [(matches, tuple(rules)) for matches, rules in targets if matches is not None and rules]
        self.finders: dict[Any, Finder] = {}  # by URLconf; None is the site's own
        _indexes.add(self)

    def match(self, request: HttpRequest) -> list[Rule]:
        """Every rule for this request's method and path; their order does not matter, since all of them apply."""
        # path_info, not path: a client can change the latter by a SCRIPT_NAME header.
        path, found = request.path_info, self._everywhere
        if self._has_texts:
            urlconf = getattr(request, "urlconf", None)
            find = self.finders.get(urlconf) or self.prepare(urlconf)
            found += find(path, request)
        if self._regexes is not None:
            for place in self._regexes.found_in(path):
                found += self._by_regex[place]
        for matches, rules in self._by_target:
            if matches(request):
                found += rules
        if self._by_route:
            found += tuple(self._on_route(match_of(request)))
        return [rule for rule in found if not rule.methods or rule.meets_method(request.method)]

    def prepare(self, urlconf: Any = None) -> Finder:
        """Find what else in a URLconf leads to the paths of rules: once, and best before the first request."""
        if len(self.finders) >= MOST_URLCONFS:
            self.finders.clear()
        self.finders[urlconf] = finder = _finder(self._by_text, urlconf)
        return finder

    def _on_route(self, match: ResolverMatch | None) -> Iterator[Rule]:
        """By the view name, and by each namespace that contains it."""
        name = match.view_name if match is not None else ""
        while name:
            yield from self._by_route.get(name, ())
            name = name.rpartition(":")[0]


def beyond_bounds(rules: Iterable[Rule]) -> list[Rule]:
    """The rules whose regular expressions are left out, since those of the site are too large together."""
    regexes = _patterns(filter(_holds, rules), "regex")
    return [rule for pattern in sorted(_beyond_bounds(regexes)) for rule in regexes[pattern]]


def _beyond_bounds(regexes: dict[str, Rules]) -> set[str]:
    """Who may not enforce rules cannot push out one that is enforced."""
    enforced = {pattern for pattern, rules in regexes.items() if any(rule.mode == "enforce" for rule in rules)}
    return regexes_beyond_bounds(regexes, enforced)


class _ByText:
    """The rules for a path or a prefix, by its text."""

    def __init__(self, paths: dict[str, Rules], prefixes: dict[str, Rules]) -> None:
        self.paths, self.prefixes = paths, prefixes
        # One look-up for each length of a prefix, however many prefixes have that length.
        self._lengths = sorted({len(prefix) for prefix in prefixes})

    def find(self, path: str, request: HttpRequest | None = None) -> Rules:
        found = self.paths.get(path, ())
        for length in self._lengths:
            if length > len(path):
                break
            found += self.prefixes.get(path[:length], ())
        return found


def _finder(by_text: _ByText, urlconf: Any) -> Finder:
    """A function that finds the rules for paths and prefixes under a URLconf, each once, by all texts that lead there."""
    variants = PathVariants(urlconf, by_text.paths, by_text.prefixes)
    every = _ByText(_with_others(by_text.paths, variants.paths), _with_others(by_text.prefixes, variants.prefixes))
    if not variants.ignores_case and not variants.destinations:
        return every.find  # the text of a path determines the page
    without_case = _ByText(_caseless(every.paths), _caseless(every.prefixes)) if variants.ignores_case else _ByText({}, {})

    def find(path: str, request: HttpRequest) -> Rules:
        found = every.find(path) + without_case.find(caseless(path))
        for other in variants.paths_of(partial(match_of, request)):
            found += by_text.paths[other]
        return tuple({rule.name: rule for rule in found}.values())

    return find


def _holds(rule: Rule) -> bool:
    return rule.mode != "off" and bool(rule.windows)


def _patterns(rules: Iterable[Rule], applies_to: str) -> dict[str, Rules]:
    return _merged((rule.pattern, (rule,)) for rule in rules if rule.applies_to == applies_to)


def _with_others(by_text: dict[str, Rules], others: dict[str, set[str]]) -> dict[str, Rules]:
    return _merged([*by_text.items(), *((text, by_text[each]) for text, meant in others.items() for each in sorted(meant))])


def _caseless(by_text: dict[str, Rules]) -> dict[str, Rules]:
    return _merged((caseless(text), rules) for text, rules in by_text.items())


def _merged(parts: Iterable[tuple[str, Rules]]) -> dict[str, Rules]:
    """The rules by text, each once."""
    merged: dict[str, Rules] = {}
    for text, rules in parts:
        known = merged.get(text, ())
        merged[text] = (*known, *(rule for rule in rules if rule not in known))
    return merged


_indexes: WeakSet[Index] = WeakSet()


SETTINGS = ("ROOT_URLCONF", "LANGUAGES", "LANGUAGE_CODE", "USE_I18N")  # on which the routes depend


def clear_urlconfs() -> None:
    """Prepare all URLconfs again: one of `SETTINGS` has changed."""
    for index in [*_indexes]:
        index.finders.clear()
