"""Other spellings of a path that reach the same page, so that a rule for ``/login/`` cannot be avoided by writing it otherwise.

Two requests are for one page when Django calls the same view for them, under the same name and with the same arguments.
If only plain text leads to the page of a rule, its variants are computed beforehand, at no cost for a request: those in
other languages, and ``/two`` as well as ``/two/``. If several texts pass a route with one meaning, requests have to be
resolved: a regular expression may match more (``^search`` also matches ``/searchX``) or ignore case (``/LOGIN/``),
``<int:pk>`` takes ``007`` as ``7``, and a converter of the site may do anything. A route that accepts any last part, such
as the ``.*`` of a single-page application, does not determine the page: there the text of the path decides.

Spellings that this leaves alone: paths are compared as Django resolves them, which servers have decoded, so ``/login%2f`` is
``/login/``; and ``//login/`` is another path, which leads to no page unless a pattern of the site takes it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple, TypeVar

from django.conf import settings
from django.urls import LocalePrefixPattern, Resolver404, ResolverMatch, URLResolver, get_resolver
from django.urls.converters import PathConverter, SlugConverter, StringConverter, UUIDConverter
from django.urls.resolvers import RegexPattern
from django.utils import translation

Destination = tuple[Any, ...]
Result = TypeVar("Result")
Language = str | None  # None if the URLconf is the same in all languages

_EXACT = (PathConverter, SlugConverter, StringConverter, UUIDConverter)
PARAMETER = re.compile(r"<(?:[^>:]+:)?([^>]+)>")


class Way(NamedTuple):
    """One way through the URLconf: the patterns that a path passes on its way to a view."""

    patterns: tuple[Any, ...]
    view: str
    name: str  # with its namespaces; empty without one
    callback: Any
    namespaces: tuple[str, ...]
    url_name: str | None  # without its namespaces

    @property
    def is_loose(self) -> bool:
        return any(map(is_loose, self.patterns))

    def page(self, language: Language) -> tuple[str, str]:
        """The view and its name, with which a `destination` begins. Without a name, ``two`` and ``two/`` are one page, in each
        language another."""
        return (self.view, self.name or bare(self.route(language)))

    def route(self, language: Language) -> str:
        """The route as Django joins it."""
        route = ""
        for pattern in reversed(self.patterns):
            begin = prefix_in(language, pattern) if isinstance(pattern, LocalePrefixPattern) else str(pattern)
            route = begin + route.removeprefix("^") if begin else route
        return route

    def text(self, language: Language, captured: Mapping[str, str], passed: Sequence[str]) -> str | None:
        """A path that goes this way in this language; None if a regular expression is in it, for which only the text that
        has `passed` is known."""
        parts = []
        for place, pattern in enumerate(self.patterns):
            if isinstance(pattern, LocalePrefixPattern):
                parts.append(prefix_in(language, pattern))
            elif isinstance(pattern, RegexPattern):
                if is_translated(pattern) or (is_loose(pattern) and not passed):
                    return None
                parts.append(passed[place] if passed else "")
            else:
                parameters = PARAMETER.findall(str(pattern))
                if not captured.keys() >= set(parameters):
                    return None
                parts.append(PARAMETER.sub(lambda found: captured[found[1]], str(pattern)))
        return "/" + "".join(parts)

    def head(self, language: Language) -> str:
        """The beginning of every path that goes this way in this language."""
        head = "/"
        for pattern in self.patterns:
            if isinstance(pattern, LocalePrefixPattern):
                head += prefix_in(language, pattern)
                continue
            literal = "" if isinstance(pattern, RegexPattern) else PARAMETER.split(str(pattern))[0]
            head += literal
            if isinstance(pattern, RegexPattern) or literal != str(pattern):
                break
        return head


def ways_of(resolver: URLResolver, patterns: tuple[Any, ...] = (), namespaces: tuple[str, ...] = ()) -> Iterator[Way]:
    """Every way through a URLconf, in the order in which Django tries them."""
    for child in resolver.url_patterns:
        passed = (*patterns, child.pattern)
        if isinstance(child, URLResolver):
            yield from ways_of(child, passed, (*namespaces, *filter(None, [child.namespace])))
        else:
            name = ":".join([*namespaces, child.name]) if child.name else ""
            yield Way(passed, view_name(child.callback), name, child.callback, namespaces, child.name)


def languages_of(ways: Iterable[Way]) -> list[Language]:
    """The languages in which paths that go these ways differ, as Django writes them into paths."""
    if not any(isinstance(each, LocalePrefixPattern) or is_translated(each) for way in ways for each in way.patterns):
        return [None]
    return [*dict.fromkeys(code.lower() for code in (settings.LANGUAGE_CODE, *dict(settings.LANGUAGES)))]


def view_name(function: Any) -> str:
    """The name of a view in code, since each ``as_view()`` and each decorator makes another function."""
    view = getattr(function, "view_class", function)
    return f"{view.__module__}.{getattr(view, '__qualname__', type(view).__qualname__)}"


def bare(route: str) -> str:
    return route.strip("^$").removesuffix("?").removesuffix("/")


def is_loose(pattern: Any) -> bool:
    """Whether several texts may match and mean the same. A converter derived from one of Django's may do anything."""
    if isinstance(pattern, RegexPattern):
        return bool(pattern._regex)  # type: ignore[attr-defined]  # missing in the stubs
    return any(type(converter) not in _EXACT for converter in getattr(pattern, "converters", {}).values())


def is_translated(pattern: Any) -> bool:
    return not isinstance(getattr(pattern, "_route", getattr(pattern, "_regex", "")), str)


def prefix_in(language: Language, pattern: LocalePrefixPattern) -> str:
    """The prefix of ``i18n_patterns`` in a language that need not be active."""
    has_none = language == settings.LANGUAGE_CODE and not pattern.prefix_default_language
    return "" if has_none else f"{language}/"


def active(language: Language) -> AbstractContextManager[Any]:
    return nullcontext() if language is None else translation.override(language)


class PathVariants:
    """The variants of the paths and prefixes of rules under one URLconf.

    `rules/matching.py` makes one of each URLconf, and looks for a request's path in `paths` and `prefixes`: as it is and, if the
    URLconf `ignores_case`, as `caseless` makes it. If there are `destinations`, it also asks `paths_of`.
    """

    def __init__(self, urlconf: Any, paths: Iterable[str], prefixes: Iterable[str] = ()) -> None:
        self._resolver = get_resolver(urlconf)
        self._ways = {way.patterns: way for way in ways_of(self._resolver)}
        self._by_view: dict[tuple[str, str], list[Way]] = {}
        for way in self._ways.values():
            self._by_view.setdefault((way.view, way.name), []).append(way)
        patterns = {pattern for patterns in self._ways for pattern in patterns}
        self._locale = next((each for each in patterns if isinstance(each, LocalePrefixPattern)), None)
        self._translated = [way for way in self._ways.values() if any(map(is_translated, way.patterns))]
        self._languages = languages_of(self._ways.values())
        self.ignores_case = any(map(_ignores_case, patterns))
        self.paths: dict[str, set[str]] = {}  # the paths of rules, by each variant
        self.prefixes: dict[str, set[str]] = {}
        self.destinations: dict[Destination, list[str]] = {}  # the paths for which requests have to be resolved
        for path in paths:
            self._add_page(path)
        for prefix in prefixes:
            for text in self._prefixes_like(prefix):
                self.prefixes.setdefault(text, set()).add(prefix)

    def paths_of(self, resolve: Callable[[], ResolverMatch | None]) -> list[str]:
        """The paths of rules that lead to the page of this request, which is resolved only if texts do not determine it."""
        if not self.destinations or (match := resolve()) is None:
            return []
        return self.destinations.get(destination(match), [])

    def _add_page(self, path: str) -> None:
        """Add every other way to the page that this path leads to, in the first language in which it leads to one."""
        for language in self._likely_languages(path):
            with active(language):
                if (trail := _trail(self._resolver, path)) is not None:
                    self._add_ways(path, trail, language)
                    return

    def _add_ways(self, path: str, trail: "list[_Step]", language: Language) -> None:
        """In this language, which is active now."""
        own = self._ways[tuple(step.pattern for step in trail)]
        ways = [way for way in self._by_view[own.view, own.name] if way.page(language) == own.page(language)]
        captured = {name: text for step in trail for name, text in step.captured.items()}
        self._add_texts(path, own, captured, [step.text for step in trail])
        if not own.is_loose and len(ways) == 1:
            return  # a plain route, with one text in each language
        match = self._resolver.resolve(path)
        where = destination(match)
        if any(way.is_loose for way in ways) and where != self._another_page(path):
            for page in {own.page(language)} if own.name else set(self._in_each_language(own.page)):
                self.destinations.setdefault((page, *where[1:]), []).append(path)
        arguments = {name: str(value) for name, value in match.kwargs.items()} | captured
        for way in ways:
            text = way.text(language, arguments, ()) if way is not own else None
            if text is not None and self._destination(text) == where:
                self._add_texts(path, way, arguments)

    def _add_texts(self, path: str, way: Way, captured: Mapping[str, str], passed: Sequence[str] = ()) -> None:
        """Add the text of a path that goes this way in each language."""
        for text in self._in_each_language(partial(way.text, captured=captured, passed=passed)):
            if text not in (None, path):
                self.paths.setdefault(text, set()).add(path)

    def _prefixes_like(self, prefix: str) -> set[str]:
        """The prefix in other languages. One for all pages of a language, ``/en/``, has no variants."""
        if self._languages == [None] or prefix.strip("/") in ("", *self._languages):
            return set()
        begins = {each: f"/{prefix_in(each, self._locale)}" if self._locale else "/" for each in self._languages}
        own = begins.get((translation.get_language_from_path(prefix) or settings.LANGUAGE_CODE).lower())
        rest = prefix.removeprefix(own) if own is not None else prefix
        found = {begin + rest for begin in begins.values()} if rest != prefix else set()
        for way in self._translated if prefix.endswith("/") else ():
            heads = self._in_each_language(way.head)
            if (below := next((head for head in heads if head.startswith(prefix)), None)) is not None:
                depth = below.count("/") - prefix.count("/")
                found |= {"".join(f"{part}/" for part in head.split("/")[: -1 - depth]) for head in heads}
        found -= {prefix}
        return {text for text in found if not text.startswith(tuple(found - {text}))}

    def _likely_languages(self, path: str) -> Sequence[Language]:
        """The languages in which the path may lead to a view: all of them only if routes are translated."""
        if self._languages == [None]:
            return self._languages
        likely = [code.lower() for code in (translation.get_language_from_path(path), settings.LANGUAGE_CODE) if code]
        return [*dict.fromkeys([*likely, *(self._languages if self._translated else ())])]

    def _in_each_language(self, function: Callable[[Language], Result]) -> list[Result]:
        if not self._translated:  # activating a language loads it, and there are a hundred by default
            return [function(language) for language in self._languages]
        results = []
        for language in self._languages:
            with active(language):
                results.append(function(language))
        return results

    def _another_page(self, path: str) -> Destination | None:
        """The destination of the path with another last part."""
        parts = path.split("/")
        parts[-2 if len(parts) > 2 and not parts[-1] else -1] = "no-page-has-this-name-0"
        return self._destination("/".join(parts))

    def _destination(self, path: str) -> Destination | None:
        try:
            return destination(self._resolver.resolve(path))
        except Resolver404:
            return None


def caseless(path: str) -> str:
    """A path as a regular expression that ignores case sees it: both Turkish letters are an i to it, too."""
    return path.translate(_TURKISH).casefold()


_TURKISH = {0x130: "i", 0x131: "i"}


def destination(match: ResolverMatch) -> Destination:
    """The view, its name and its arguments: two requests with the same destination are for the same page."""
    name = match.view_name if match.url_name else bare(match.route)
    arguments = sorted((name, _comparable(value)) for name, value in match.kwargs.items())
    return ((view_name(match.func), name), *map(_comparable, match.args), *arguments)


class _Step(NamedTuple):
    """The part of a path that one pattern has matched."""

    pattern: Any
    text: str
    captured: dict[str, str]


def _trail(resolver: URLResolver, path: str) -> list[_Step] | None:
    """The steps of a path to its view, as `URLResolver.resolve` takes them; None if there is no view."""
    if (matched := resolver.pattern.match(path)) is None:
        return None
    rest = matched[0]
    for child in resolver.url_patterns:
        passed = child.pattern.match(rest)
        if passed is None:
            continue
        if not isinstance(child, URLResolver):
            return [_step(child.pattern, rest, rest)]  # with what follows the match of an expression without $
        if (below := _trail(child, rest)) is not None:
            return [_step(child.pattern, rest, rest.removesuffix(passed[0])), *below]
    return None


def _step(pattern: Any, path: str, taken: str) -> _Step:
    found = pattern.regex.search(path)
    return _Step(pattern, taken, {name: text for name, text in found.groupdict().items() if text is not None})


def _comparable(value: Any) -> Any:
    """An argument of a view, so that equal ones compare equal: a number is its text, and an object without an ``__eq__`` of
    its own is its attributes."""
    if isinstance(value, str | int):
        return str(value)
    try:
        hash(value)
    except TypeError:
        return repr(value)
    compares_by_id: bool = type(value).__hash__ is object.__hash__  # type: ignore[comparison-overlap]
    return repr(getattr(value, "__dict__", value)) if compares_by_id else value


def _ignores_case(pattern: Any) -> bool:
    if not isinstance(pattern, RegexPattern):
        return False
    return bool(pattern.regex.flags & re.IGNORECASE) or bool(re.search(r"\(\?[a-z]*i", pattern.regex.pattern))
