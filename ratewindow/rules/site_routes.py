"""The site's routes as values, those that a rule matches, what is doubtful about it there, and limits on methods of view classes.

Django's ``method_decorator`` calls a decorator for each request, with the method bound to the view that serves it, and once
at import for a dummy function, whose attributes it copies to the method. A limit leaves a mark in these attributes, by which
the decorated class is found, before any request, even if its methods are inherited.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Literal, NamedTuple

from django.apps import apps
from django.conf import settings
from django.http import HttpRequest
from django.urls import LocalePrefixPattern, ResolverMatch, URLResolver, get_resolver
from django.urls.resolvers import RegexPattern
from django.utils.decorators import method_decorator
from django.utils.translation import gettext

from ratewindow.identity.custom_keys import place_of
from ratewindow.identity.request_attributes import resolved
from ratewindow.limiter.algorithms import algorithm
from ratewindow.limiter.types import Window
from ratewindow.rules import code_rates
from ratewindow.rules.matching import Index
from ratewindow.rules.path_variants import PARAMETER, Way, active, is_translated, languages_of, view_name, ways_of
from ratewindow.rules.regex import ENDS, literal_head
from ratewindow.rules.rule import Rule


@dataclass(frozen=True, eq=False)
class Route:
    """One route of the URLconf."""

    way: Way
    path: str  # for people: /orders/<int:pk>/, in the site's own language

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
        *first, last = self.way.patterns
        return _is_literal(last, ENDS) and all(_is_literal(each, ("",)) for each in first)

    @property
    def differs_by_language(self) -> bool:
        return any(isinstance(each, LocalePrefixPattern) or is_translated(each) for each in self.way.patterns)

    @cached_property
    def views(self) -> frozenset[str]:
        """Its view and, if that is a class, what it inherits from."""
        found = class_behind(self.way.callback)
        return frozenset([self.way.view, *(place_of(each) for each in (found[0].__mro__[:-1] if found else ()))])


def _is_literal(pattern: Any, ends: tuple[str, ...]) -> bool:
    if isinstance(pattern, RegexPattern):
        return literal_head(pattern.regex.pattern)[1] in ends
    return isinstance(pattern, LocalePrefixPattern) or not pattern.converters


def routes() -> tuple[Route, ...]:
    """The routes of the site, in the order in which Django tries them; none without a ROOT_URLCONF."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return ()
    return _routes(get_resolver(), settings.LANGUAGE_CODE, tuple(dict(settings.LANGUAGES)))


@lru_cache(maxsize=4)
def _routes(resolver: URLResolver, *languages: object) -> tuple[Route, ...]:
    ways = list(ways_of(resolver))
    language = languages_of(ways)[0]
    with active(language):
        return tuple(Route(way, _readable(way, way.route(language))) for way in ways)


def _readable(way: Way, route: str) -> str:
    if not any(isinstance(each, RegexPattern) for each in way.patterns):
        return f"/{route}"
    from django.contrib.admindocs.views import simplify_regex  # which imports docutils, if it is installed

    return simplify_regex(route)


def matched_by(rule: Rule) -> list[Route]:
    """The routes that a rule matches, whatever its mode and methods. Of a route with parameters one path is tried."""
    if rule.applies_to == "path":
        match = resolved(rule.pattern, None) if routes() else None
        place = None if match is None else (view_name(match.func), match.url_name)
        return [route for route in routes() if (route.way.view, route.way.url_name) == place]
    index = Index([replace(rule, mode="enforce", windows=(Window(1, 1000),), methods=frozenset())])
    return [route for route in routes() if index.match(_request_for(route))]


def _request_for(route: Route) -> HttpRequest:
    request = HttpRequest()
    request.path_info, way = PARAMETER.sub("1", route.path), route.way
    request.resolver_match = ResolverMatch(way.callback, (), {}, way.url_name, namespaces=[*way.namespaces], route=route.path)
    return request


def class_behind(view: Any) -> tuple[type, Mapping[str, Any]] | None:
    """The class of a view made by ``as_view()``, Django's or REST framework's, with its initial arguments; of a bound method,
    such as those of the admin; or of a callable object; each under any decorators."""
    while view is not None:
        if not hasattr(view, "__qualname__") and not isinstance(view, partial):
            return type(view), {}
        for found in (getattr(view, "view_class", None), getattr(view, "cls", None), type(getattr(view, "__self__", None))):
            if isinstance(found, type) and found is not type(None):
                return found, getattr(view, "view_initkwargs", None) or getattr(view, "initkwargs", None) or {}
        view = view.func if isinstance(view, partial) else getattr(view, "__wrapped__", None)
    return None


def listed_by(shown: type, given: Mapping[str, Any], name: str) -> list[type]:
    """The classes that a view lists under this name; none if it can tell them only in a request."""
    try:
        view: Any = object.__new__(shown)  # without what the site may do when one is made for a request
        vars(view).update(given)
        return [each for each in getattr(view, name, ()) if isinstance(each, type)]
    except Exception:  # a property of the site's, or no list
        return []


MARK = "_ratewindow_limit_"


class LimitedMethod(NamedTuple):
    """Where a limit is: the class, its method, and the position among several limits on that method."""

    view: type
    method: str
    position: int


def is_dummy(view: Any) -> bool:
    """Whether this is the dummy function of ``method_decorator``; the method itself is decorated at each call."""
    return bool(getattr(view, "__module__", None) == method_decorator.__module__)


def owner(view: Any) -> type | None:
    """The class of a bound method that ``method_decorator`` passes to a decorator; None for anything else."""
    while view is not None:
        if isinstance(view, partial):
            instance = getattr(view.func, "__self__", None)
            return type(instance) if instance is not None and hasattr(view, "__wrapped__") else None
        view = getattr(view, "__wrapped__", None)
    return None


def limited_method(view: type, mark: str) -> LimitedMethod | None:
    """Where the limit with this mark is, among those of the class and its bases."""
    return next((method for method, found, _ in _marked(view) if found == mark), None)


def limits_on(method: Any) -> list[Any]:
    """The values of the marks on a method, those of the outermost limits first."""
    return [value for name, value in getattr(method, "__dict__", {}).items() if name.startswith(MARK)]


def limited_methods() -> Iterator[tuple[LimitedMethod, Any]]:
    """Every limit on a method of the URLconf's views, or of models, which may serve themselves as pages; with the value of
    its mark."""
    found = (class_behind(way.callback) for way in ways_of(get_resolver()))
    for view in dict.fromkeys([*(view for view, _ in filter(None, found)), *apps.get_models()]):
        yield from ((method, value) for method, _, value in _marked(view))


def _marked(view: type) -> Iterator[tuple[LimitedMethod, str, Any]]:
    """Method, mark and value of each limit, from the class to its bases; of several on one method the innermost first."""
    lineage = view.__mro__
    for depth, each in enumerate(lineage):
        for name, method in vars(each).items():
            marks = [mark for mark in getattr(method, "__dict__", ()) if mark.startswith(MARK)]
            if not marks:
                continue
            inherited = next((vars(base)[name] for base in lineage[depth + 1 :] if name in vars(base)), None)
            own = [mark for mark in reversed(marks) if mark not in getattr(inherited, "__dict__", ())]
            for position, mark in enumerate(own, 1):
                yield LimitedMethod(each, name, position), mark, vars(method)[mark]


class Doubt(NamedTuple):
    kind: Literal["nowhere", "unnamed", "cost", "zero"]
    text: str
    remedy: str


def doubts(rule: Rule) -> Iterator[Doubt]:
    """What is doubtful about this rule. One for a prefix or a regular expression may be for pages that do not exist."""
    if rule.applies_to == "named" and rule.name not in code_rates.load_names() and not code_rates.is_used(rule.name):
        yield Doubt(
            "unnamed",
            gettext("No view of the site names rule %r, so no request matches it, unless a call such as hit does.") % rule.name,
            gettext("Choose what it applies to, or decorate a view with @ratelimit(%r).") % rule.name,
        )
    if rule.applies_to in ("path", "route") and routes() and not matched_by(rule):
        values = {"rule": rule.name, "pattern": rule.pattern}
        yield Doubt(
            "nowhere",
            gettext("Rule %(rule)r is for %(pattern)r, which the URLconf does not have.") % values,
            gettext("Correct it, or delete the rule."),
        )
    yield from _refusing_all(rule)


def _refusing_all(rule: Rule) -> Iterator[Doubt]:
    for window in () if rule.soft else rule.windows:
        most = algorithm(window.algorithm).reading(window, None, 0).capacity
        values = {
            "cost": rule.cost,
            "most": most,
            "limit": window.limit,
            "period": window.period,
            "rule": rule.name,
        }
        if not window.limit and rule.cost:
            yield Doubt(
                "zero",
                gettext("The limit of 0 in %(period)s refuses every request that matches %(rule)r.") % values,
                gettext("Allow at least 1."),
            )
        elif rule.cost > most:
            yield Doubt(
                "cost",
                gettext(
                    "Each request costs %(cost)s, and at most %(most)s fit into a limit of %(limit)s in %(period)s: %(rule)r "
                    "refuses every request."
                )
                % values,
                gettext("Lower the cost to at most %s.") % most,
            )
