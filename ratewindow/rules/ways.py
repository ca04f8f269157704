"""The ways through a URLconf: the patterns that a path passes from the root to a view, and their text in each language."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import LocalePrefixPattern, URLResolver
from django.urls.converters import PathConverter, SlugConverter, StringConverter, UUIDConverter
from django.urls.resolvers import RegexPattern
from django.utils import translation

Language = str | None  # None if the URLconf is the same in all languages

_ADMIN = "admin"  # the namespace of every site of the admin, whatever its name
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
    is_of_admin: bool  # of any site of the admin

    @property
    def is_loose(self) -> bool:
        return any(map(is_loose, self.patterns))

    @property
    def has_parameters(self) -> bool:
        """Whether the view gets parts of the path."""
        return any(not isinstance(each, LocalePrefixPattern) and each.regex.groups for each in self.patterns)

    def page(self, language: Language) -> tuple[str, str]:
        """The page as `destination` has it. Without a name, ``two`` and ``two/`` are one page, in each language another."""
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


def ways_of(
    resolver: URLResolver, patterns: tuple[Any, ...] = (), namespaces: tuple[str, ...] = (), is_of_admin: bool = False
) -> Iterator[Way]:
    """Every way through a URLconf, in the order in which Django tries them."""
    for child in resolver.url_patterns:
        passed = (*patterns, child.pattern)
        if isinstance(child, URLResolver):
            inside = (*namespaces, *filter(None, [child.namespace]))
            yield from ways_of(child, passed, inside, is_of_admin or child.app_name == _ADMIN)
        else:
            name = ":".join([*namespaces, child.name]) if child.name else ""
            yield Way(passed, view_name(child.callback), name, child.callback, namespaces, child.name, is_of_admin)


def languages_of(ways: Iterable[Way]) -> list[Language]:
    """The languages in which paths that go these ways differ, as Django writes them into paths."""
    if not any(isinstance(each, LocalePrefixPattern) or is_translated(each) for way in ways for each in way.patterns):
        return [None]
    known = [settings.LANGUAGE_CODE, *dict(settings.LANGUAGES)]
    return [*dict.fromkeys(code.lower() for code in known)]


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
