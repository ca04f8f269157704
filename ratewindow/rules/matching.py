"""Which rules a request meets: looked up by path and route, not tested one after the other."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any
from weakref import WeakSet

from django.http import HttpRequest
from django.urls import ResolverMatch

from ratewindow.identity.routes import match_of
from ratewindow.limiter.problem import translatable
from ratewindow.rules.path_variants import PathVariants, caseless
from ratewindow.rules.regex import RegexSet
from ratewindow.rules.regex import without_room as regexes_without_room
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
        for pattern in _without_room(regexes):
            del regexes[pattern]
        self._regexes = RegexSet(list(regexes)) if regexes else None
        self._by_regex = list(regexes.values())
        self._finders: dict[Any, Finder] = {}  # by URLconf; None is the site's own
        _indexes.add(self)

    def match(self, request: HttpRequest) -> list[Rule]:
        """Every rule for this request's method and path; their order does not matter, since all of them apply."""
        # path_info, not path: a client can change the latter by a SCRIPT_NAME header.
        path, found = request.path_info, self._everywhere
        if self._has_texts:
            urlconf = getattr(request, "urlconf", None)
            find = self._finders.get(urlconf) or self.prepare(urlconf)
            found += find(path, request)
        if self._regexes is not None:
            for place in self._regexes.found_in(path):
                found += self._by_regex[place]
        if self._by_route:
            found += tuple(self._on_route(match_of(request)))
        return [rule for rule in found if not rule.methods or rule.meets_method(request.method)]

    def prepare(self, urlconf: Any = None) -> Finder:
        """Find what else in a URLconf leads to the paths of rules: once, and best before the first request."""
        if len(self._finders) >= MOST_URLCONFS:
            self._finders.clear()
        self._finders[urlconf] = finder = _finder(self._by_text, urlconf)
        return finder

    def clear_urlconfs(self) -> None:
        """Prepare every URLconf again: a test has replaced them."""
        self._finders.clear()

    def _on_route(self, match: ResolverMatch | None) -> Iterator[Rule]:
        """By the view name, and by each namespace that contains it."""
        name = match.view_name if match is not None else ""
        while name:
            yield from self._by_route.get(name, ())
            name = name.rpartition(":")[0]


def without_room(rules: Iterable[Rule]) -> list[Rule]:
    """The rules whose regular expressions are left out, since those of the site are too large together."""
    regexes = _patterns(filter(_holds, rules), "regex")
    return [rule for pattern in sorted(_without_room(regexes)) for rule in regexes[pattern]]


def _without_room(regexes: dict[str, Rules]) -> set[str]:
    """Who may not enforce rules cannot push out one that is enforced."""
    enforced = {pattern for pattern, rules in regexes.items() if any(rule.mode == "enforce" for rule in rules)}
    return regexes_without_room(regexes, enforced)


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

    def with_variants(self, variants: PathVariants) -> "_ByText":
        """The same rules, also by the other texts that mean the same."""
        return _ByText(_with_others(self.paths, variants.paths), _with_others(self.prefixes, variants.prefixes))

    def caseless(self) -> "_ByText":
        """The same rules by their texts without case."""
        tables = (self.paths, self.prefixes)
        return _ByText(*(_merged((caseless(text), rules) for text, rules in each.items()) for each in tables))


def _finder(by_text: _ByText, urlconf: Any) -> Finder:
    """A function that finds the rules for paths and prefixes under a URLconf, by all texts that lead there."""
    variants = PathVariants(urlconf, by_text.paths, by_text.prefixes)
    every = by_text.with_variants(variants)
    if not variants.ignores_case and not variants.destinations:
        return every.find
    return _Resolving(by_text.paths, every, variants).find


class _Resolving:
    """A finder for URLconfs in which the text of a path does not determine the page."""

    def __init__(self, by_path: dict[str, Rules], by_text: _ByText, variants: PathVariants) -> None:
        self._by_path, self._by_text, self._variants = by_path, by_text, variants
        self._caseless = by_text.caseless() if variants.ignores_case else None

    def find(self, path: str, request: HttpRequest) -> Rules:
        """Each rule once."""
        found = self._by_text.find(path)
        if self._caseless is not None:
            found += self._caseless.find(caseless(path))
        for other in self._variants.paths_of(partial(match_of, request)):
            found += self._by_path[other]
        return tuple({rule.name: rule for rule in found}.values())


def _holds(rule: Rule) -> bool:
    return rule.mode != "off" and bool(rule.windows)


def _patterns(rules: Iterable[Rule], applies_to: str) -> dict[str, Rules]:
    return _merged((rule.pattern, (rule,)) for rule in rules if rule.applies_to == applies_to)


def _with_others(by_text: dict[str, Rules], others: dict[str, set[str]]) -> dict[str, Rules]:
    return _merged([*by_text.items(), *((text, by_text[each]) for text, meant in others.items() for each in sorted(meant))])


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
        index.clear_urlconfs()
