"""Other paths that reach the same page, so that a rule for ``/login/`` cannot be avoided by writing the path otherwise.

Two requests are for one page when Django calls the same view for them, under the same name and with the same arguments.
If only plain text leads to the page of a rule, its variants are computed beforehand, at no cost for a request: those in
other languages, and ``/two`` as well as ``/two/``. If several texts pass a route with one meaning, requests have to be
resolved: a regular expression may match more (``^search`` also matches ``/searchX``) or ignore case (``/LOGIN/``),
``<int:pk>`` takes ``007`` as ``7``, and a converter of the site may do anything. A route that accepts any last part, such
as the ``.*`` of a single-page application, does not determine the page: there the text of the path decides.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from django.conf import settings
from django.urls import LocalePrefixPattern, Resolver404, ResolverMatch, URLResolver, get_resolver
from django.urls.resolvers import RegexPattern
from django.utils import translation

from ratewindow.rules.ways import Language, Way, active, bare, is_translated, languages_of, prefix_in, view_name, ways_of

Destination = tuple[Any, ...]
Result = TypeVar("Result")


class PathVariants:
    """The variants of the paths and prefixes of rules under one URLconf."""

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
        self._begins = {each: f"/{prefix_in(each, self._locale)}" if self._locale else "/" for each in self._languages}
        self.ignores_case = any(map(_ignores_case, patterns))
        self.paths: dict[str, set[str]] = {}  # the paths of rules, by each variant
        self.prefixes: dict[str, set[str]] = {}
        self.destinations: dict[Destination, list[str]] = {}  # the paths for which requests have to be resolved
        for path in paths:
            self._in_its_language(path, self._add_page)
        for prefix in prefixes:
            for text in self._prefixes_like(prefix):
                self.prefixes.setdefault(text, set()).add(prefix)

    def paths_of(self, resolve: Callable[[], ResolverMatch | None]) -> list[str]:
        """The paths of rules that lead to the page of this request, which is resolved only if texts do not determine it."""
        if not self.destinations or (match := resolve()) is None:
            return []
        return self.destinations.get(destination(match), [])

    def way_to(self, path: str) -> Way | None:
        """The way to the view that the path has in the likeliest language; None if it has none in any."""
        found: list[Way] = []
        self._in_its_language(path, lambda _, trail, __: found.append(self._way_of(trail)))
        return found[0] if found else None

    def _way_of(self, trail: "list[_Step]") -> Way:
        return self._ways[tuple(step.pattern for step in trail)]

    def _in_its_language(self, path: str, use: "Callable[[str, list[_Step], Language], None]") -> bool:
        """Whether the path leads to a view in some language; `use` is called while that language is active."""
        for language in self._likely_languages(path):
            with active(language):
                if (trail := _trail(self._resolver, path)) is not None:
                    use(path, trail, language)
                    return True
        return False

    def _add_page(self, path: str, trail: "list[_Step]", language: Language) -> None:
        """Add every other way to the page that this path leads to in this language, which is active now."""
        own = self._way_of(trail)
        ways = [way for way in self._by_view[own.view, own.name] if way.page(language) == own.page(language)]
        captured = {name: text for step in trail for name, text in step.captured.items()}
        self._add_texts(path, own, language, captured, [step.text for step in trail])
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
                self._add_texts(path, way, language, arguments)

    def _add_texts(
        self, path: str, way: Way, language: Language, captured: Mapping[str, str], passed: Sequence[str] = ()
    ) -> None:
        """Add the text of a path that goes this way in each language."""
        texts: list[str | None]
        if self._translated:
            texts = self._in_each_language(partial(way.text, captured=captured, passed=passed))
        elif self._locale in way.patterns:  # the prefix is all that differs
            rest = (way.text(language, captured, passed) or "").removeprefix(self._begins[language])
            texts = [begin + rest for begin in self._begins.values()]
        else:
            texts = [way.text(language, captured, passed)]
        for text in texts:
            if text not in (None, path):
                self.paths.setdefault(text, set()).add(path)

    def _prefixes_like(self, prefix: str) -> set[str]:
        """The prefix in other languages. One for all pages of a language, ``/en/``, has no variants."""
        if self._languages == [None] or prefix.strip("/") in ("", *self._languages):
            return set()
        found: set[str] = set()
        own = self._begins.get((translation.get_language_from_path(prefix) or settings.LANGUAGE_CODE).lower())
        if self._locale is not None and own is not None and prefix.startswith(own):
            found = {begin + prefix.removeprefix(own) for begin in self._begins.values()} - {prefix}
        if not (self._translated and prefix.endswith("/")):
            return found
        for way in self._translated:
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
