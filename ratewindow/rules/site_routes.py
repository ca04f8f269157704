"""The routes of the site as values: name, readable path, methods, and paths to try rules on."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from django.conf import settings
from django.urls import LocalePrefixPattern, ResolverMatch, URLResolver, get_resolver
from django.urls.resolvers import RegexPattern
from django.views.generic import RedirectView

from ratewindow.rules.literal_text import Ends, ends_of_way
from ratewindow.rules.path_variants import PathVariants
from ratewindow.rules.sample_paths import samples_of
from ratewindow.rules.ways import Language, Way, active, is_translated, languages_of, prefix_in, ways_of

_LOGINS = re.compile(r"log[-_]?in|sign[-_]?(in|up)|passw|regist|token|otp|2fa|mfa|reset|verif", re.IGNORECASE)
_LOOKED_AT = re.compile(r"\(\?<?[!=][^()]*\)")
_UNNAMED = re.compile(r"\(\?:([^()]*)\)[?*+]?")
_ANSWERS = re.compile(r"(done|complete|sent)/?$")  # pages that say that something has happened
_UNSAFE = frozenset(("POST", "PUT", "PATCH", "DELETE"))


@dataclass(frozen=True, eq=False)
class Route:
    """One route of the URLconf."""

    way: Way
    path: str  # for people: /orders/<int:pk>/, in the site's own language
    methods: frozenset[str]  # those that its view answers; empty if it does not say
    ends: tuple[Ends, ...]  # in each language
    visits: tuple["Visit", ...]  # some of the requests for it, in each language

    @property
    def name(self) -> str:
        """The name of its URL with its namespaces; empty without one."""
        return self.way.name

    @property
    def label(self) -> str:
        return self.name or self.path

    @property
    def is_whole(self) -> bool:
        """Whether one path in each language is all that leads there."""
        return all(each.is_whole for each in self.ends)

    @cached_property
    def section(self) -> str:
        """The first part of its path: ``/admin/``; in other languages than the site's own one may stand before it."""
        begin = self.path.split("/", 3 if isinstance(self.way.patterns[0], LocalePrefixPattern) else 2)
        return "/".join([*begin[:-1], ""]) if len(begin) > 2 else self.path

    @cached_property
    def is_login(self) -> bool:
        """Whether clients prove here who they are, by its name and path."""
        return bool(_LOGINS.search(f"{self.name} {self.path}")) and not _ANSWERS.search(self.path)

    @property
    def methods_in_words(self) -> str:
        """Without those that go without saying; empty if its view does not say which it answers."""
        return ", ".join(sorted(self.methods - {"HEAD", "OPTIONS"}))

    @property
    def changes_data(self) -> bool:
        """Whether its view says that it answers unsafe methods, with more than a redirect."""
        redirects = any(issubclass(shown, RedirectView) for _, shown, _ in classes_of(self.way.callback))
        return bool(self.methods & _UNSAFE) and not redirects

    @cached_property
    def places(self) -> dict[str, str]:
        """Its view, and what limits that, as code registers where it uses a name; of a throttle with its scope."""
        found = {self.way.view: ""}
        for _, shown, given in classes_of(self.way.callback):
            found.update({place_of(each): "" for each in shown.__mro__[:-1]})
            scope = given.get("throttle_scope", getattr(shown, "throttle_scope", None))
            for throttle in listed_by(shown, given, "throttle_classes"):
                found[place_of(throttle)] = getattr(throttle, "scope", None) or scope or ""
        return found

    @cached_property
    def is_reached(self) -> bool:
        """Whether any of its paths leads to it, and none of an earlier pattern takes them all."""
        return not self.visits or any(way_to(visit.path_info) == self.way for visit in self.visits)

    @property
    def match(self) -> ResolverMatch:
        """A match of a request for it, without parameters."""
        return _match(self.way, {}, None)


class Visit:
    """What matching sees of a request."""

    method = "GET"

    def __init__(self, path: str, match: ResolverMatch) -> None:
        self.path_info, self.resolver_match = path, match


def routes() -> tuple[Route, ...]:
    """The routes of the site, in the order in which Django tries them; none without a ROOT_URLCONF."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return ()
    return _routes(get_resolver(), settings.LANGUAGE_CODE, tuple(dict(settings.LANGUAGES)))


def way_to(path: str) -> Way | None:
    """The way to the view of a path in the likeliest language; None if the URLconf has none."""
    return _way_to(get_resolver(), settings.LANGUAGE_CODE, tuple(dict(settings.LANGUAGES)), path)


@lru_cache(maxsize=4096)
def _way_to(resolver: URLResolver, language: str, languages: tuple[str, ...], path: str) -> Way | None:
    return _variants(resolver, language, languages).way_to(path)


@lru_cache(maxsize=4)
def _variants(*site: object) -> PathVariants:
    return PathVariants(None, ())


@lru_cache(maxsize=4)
def _routes(resolver: URLResolver, *languages: object) -> tuple[Route, ...]:
    ways = list(ways_of(resolver))
    known = languages_of(ways)
    return tuple(_route(way, known) for way in ways)


def _route(way: Way, languages: list[Language]) -> Route:
    ends, visits = [], []
    differs = any(isinstance(each, LocalePrefixPattern) or is_translated(each) for each in way.patterns)
    for language in languages if differs else languages[:1]:
        with active(language if any(map(is_translated, way.patterns)) else None):
            ends.append(ends_of_way(way, language))
            for path, captured in samples_of(way, language):
                visits.append(Visit(path, _match(way, captured, language)))
    with active(languages[0] if any(map(is_translated, way.patterns)) else None):
        path = "/" + "".join(_readable(pattern, languages[0]) for pattern in way.patterns)
    return Route(way, path, _methods(way.callback), tuple(dict.fromkeys(ends)), tuple(visits))


def _readable(pattern: Any, language: Language) -> str:
    if isinstance(pattern, LocalePrefixPattern):
        return prefix_in(language, pattern)
    if not isinstance(pattern, RegexPattern):
        return str(pattern)
    from django.contrib.admindocs import utils  # which imports docutils, if it is installed

    text = _LOOKED_AT.sub("", utils.replace_named_groups(pattern.regex.pattern))
    text = utils.replace_unnamed_groups(_UNNAMED.sub(r"\1", text))
    return str(utils.replace_metacharacters(text)).removeprefix("/")


def _match(way: Way, captured: dict[str, str], language: Language) -> ResolverMatch:
    spaces: list[str | None] = [*way.namespaces]
    return ResolverMatch(way.callback, (), captured, way.url_name, namespaces=spaces, route=way.route(language))


def _methods(callback: Any) -> frozenset[str]:
    """The methods that a class-based view answers, also one of Django REST framework; empty for a function."""
    for view, shown, given in classes_of(callback):
        if isinstance(actions := getattr(view, "actions", None), dict):
            return _with_head({method.upper() for method in actions} | {"OPTIONS"})
        names = given.get("http_method_names", getattr(shown, "http_method_names", ()))
        return _with_head({name.upper() for name in names if hasattr(shown, name)})
    return frozenset()


def _with_head(methods: set[str]) -> frozenset[str]:
    return frozenset(methods | {"HEAD"} if "GET" in methods else methods)


def classes_of(callback: Any) -> Iterator[tuple[Any, type, dict[str, Any]]]:
    """The class behind a view, Django's or REST framework's, under any decorators, with the view and its initial arguments."""
    view = callback
    while view is not None:
        shown = getattr(view, "view_class", None) or getattr(view, "cls", None)
        if isinstance(shown, type):
            yield view, shown, getattr(view, "view_initkwargs", None) or getattr(view, "initkwargs", None) or {}
            return
        view = getattr(view, "func", None) or getattr(view, "__wrapped__", None)


def listed_by(shown: type, given: Mapping[str, Any], name: str) -> list[type]:
    """The classes that a view lists under this name; none if it can tell them only in a request."""
    try:
        view: Any = object.__new__(shown)  # without what the site may do when one is made for a request
        vars(view).update(given)
        return [each for each in getattr(view, name, ()) if isinstance(each, type)]
    except Exception:  # a property of the site's, or no list
        return []


def place_of(view: Any) -> str:
    return f"{view.__module__}.{view.__qualname__}"
