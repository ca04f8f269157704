"""Other spellings of a path that reach the same view, so that nobody walks around a rule for ``/login/``.

A route of plain text has one spelling. A regular expression may match more (``^search`` also ``/searchX``), one that
ignores case ``/LOGIN/``, and ``<int:pk>`` takes ``007`` for ``7``: where the path of a rule leads through such
a route, a request meets the rule when Django resolves it to the same route with the same arguments. A route that
takes any last part, such as the ``.*`` of a single-page application, tells nothing of the page: there the text decides.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.urls import Resolver404, ResolverMatch, URLResolver, get_resolver
from django.urls.converters import PathConverter, SlugConverter, StringConverter, UUIDConverter
from django.urls.resolvers import RegexPattern

Destination = tuple[Any, ...]
_EXACT = (PathConverter, SlugConverter, StringConverter, UUIDConverter)


class Spellings:
    """What a URLconf makes of the paths of some rules."""

    def __init__(self, urlconf: Any, paths: Iterable[str]) -> None:
        resolver = get_resolver(urlconf)
        self.ignores_case = any(_ignores_case(pattern) for pattern in _all_patterns(resolver))
        self.destinations: dict[Destination, list[str]] = {}
        for path in paths:
            if any(_is_loose(pattern) for pattern in _way(resolver, path) or ()):
                where = destination(resolver.resolve(path))
                if where != _destination_of_another_page(resolver, path):
                    self.destinations.setdefault(where, []).append(path)

    def paths_of(self, resolve: Callable[[], ResolverMatch | None]) -> list[str]:
        """The paths that lead to where this request goes; it is resolved only where that may differ from its text."""
        if not self.destinations or (match := resolve()) is None:
            return []
        return self.destinations.get(destination(match), [])


def folded(path: str) -> str:
    """A path without case, as regular expressions that ignore it see it: both Turkish letters are an i to them, too."""
    return path.translate(_TURKISH).casefold()


_TURKISH = {0x130: "i", 0x131: "i"}


def destination(match: ResolverMatch) -> Destination:
    """What makes two requests the same to the view: its route, and what was captured of the path."""
    captured = match.captured_kwargs or {}  # type: ignore[attr-defined]  # the stubs know less than Django has
    return (match.route, *map(str, match.args), *sorted((name, str(value)) for name, value in captured.items()))


def _destination_of_another_page(resolver: URLResolver, path: str) -> Destination | None:
    """Where the path leads with another last part."""
    parts = path.split("/")
    parts[-2 if len(parts) > 2 and not parts[-1] else -1] = "no-page-has-this-name-0"
    try:
        return destination(resolver.resolve("/".join(parts)))
    except Resolver404:
        return None


def _way(resolver: URLResolver, path: str) -> list[Any] | None:
    """The patterns that a path passes to its view, as `URLResolver.resolve` goes them; None when there is no view."""
    if (matched := resolver.pattern.match(path)) is None:
        return None
    for child in resolver.url_patterns:
        if isinstance(child, URLResolver):
            below = _way(child, matched[0])
            if below is not None:
                return [child.pattern, *below]
        elif child.pattern.match(matched[0]) is not None:
            return [child.pattern]
    return None


def _is_loose(pattern: Any) -> bool:
    """Whether several texts may pass it and mean the same."""
    if isinstance(pattern, RegexPattern):
        return bool(pattern._regex)  # type: ignore[attr-defined]
    return any(not isinstance(converter, _EXACT) for converter in getattr(pattern, "converters", {}).values())


def _ignores_case(pattern: Any) -> bool:
    if not isinstance(pattern, RegexPattern):
        return False
    return bool(pattern.regex.flags & re.IGNORECASE) or bool(re.search(r"\(\?[a-z]*i", pattern.regex.pattern))


def _all_patterns(resolver: URLResolver) -> Iterator[Any]:
    for child in resolver.url_patterns:
        yield child.pattern
        if isinstance(child, URLResolver):
            yield from _all_patterns(child)
