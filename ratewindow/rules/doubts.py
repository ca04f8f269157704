"""Why a rule would limit nobody, or refuse everybody, each with a remedy: for the form, for messages and for the checks."""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from django.utils.translation import gettext

from ratewindow.limiter.algorithms import algorithm
from ratewindow.limiter.durations import format_duration
from ratewindow.rules import code_rates
from ratewindow.rules.coverage import Covered
from ratewindow.rules.rule import Rule

MOST_LETTERS_OFF = 3  # in a path or name that somebody has mistyped
MOST_CORRECTED = 10  # of many rules, since each takes milliseconds on a site of a thousand routes
Kind = Literal["nowhere", "method", "unnamed", "cost", "zero"]


class Doubt(NamedTuple):
    kind: Kind
    text: str
    remedy: str


def doubts(rules: Iterable[Rule], covered: Sequence[Covered]) -> Iterator[tuple[Rule, Doubt]]:
    """What is doubtful about these rules; `covered` are the routes of the site, if it has any, with the rules that meet them."""
    code_rates.names()  # imports the views
    site = _Site(covered)
    for rule in rules:
        found = _unnamed(rule) if rule.applies_to == "named" else site.meeting_nothing(rule)
        yield from ((rule, doubt) for doubt in (found, _refusing_all(rule)) if doubt is not None)


def _unnamed(rule: Rule) -> Doubt | None:
    if code_rates.is_used(rule.name):
        return None
    text = gettext("No view of the site names rule %r, so no request meets it, unless a call such as hit does.")
    remedy = gettext("Choose what it applies to, or decorate a view with @ratelimit(%r).")
    return Doubt("unnamed", text % rule.name, remedy % rule.name)


class _Site:
    """The routes of the site, looked at once for all rules."""

    def __init__(self, covered: Sequence[Covered]) -> None:
        self._covered, self._corrected = covered, 0
        self._met = set[str]().union(*(each.meets | each.may_meet for each in covered))
        self._unanswered = set[str]().union(*(each.unanswered for each in covered))

    def meeting_nothing(self, rule: Rule) -> Doubt | None:
        if not self._covered or rule.name in self._met:
            return None
        if rule.name in self._unanswered:
            text = gettext("Rule %(rule)r is for %(methods)s, which no view that it meets answers.")
            values = {"rule": rule.name, "methods": gettext(" or ").join(sorted(rule.methods))}
            return Doubt("method", text % values, gettext("Choose others."))
        if rule.applies_to not in ("path", "route"):
            return None  # it may be for pages that do not exist
        text = gettext("Rule %(rule)r is for the route %(pattern)r, which the URLconf does not have.")
        if rule.applies_to == "path":
            text = gettext("Rule %(rule)r is for the path %(pattern)r, which the URLconf does not have.")
        return Doubt("nowhere", text % {"rule": rule.name, "pattern": rule.pattern}, self._correction(rule))

    def _correction(self, rule: Rule) -> str:
        """What to write instead, if something is near."""
        self._corrected += 1
        if self._corrected > MOST_CORRECTED:
            return gettext("Correct it, or delete the rule.")
        known = self._paths if rule.applies_to == "path" else self._names
        likely = [each for each in known if abs(len(each) - len(rule.pattern)) <= MOST_LETTERS_OFF]
        near = difflib.get_close_matches(rule.pattern, likely, n=1)
        if near:
            return gettext("Did you mean %r? Otherwise delete the rule.") % near[0]
        return gettext("Correct it, or delete the rule.")

    @cached_property
    def _paths(self) -> list[str]:
        return [each.route.path for each in self._covered if each.route.is_whole]

    @cached_property
    def _names(self) -> list[str]:
        """Of URLs and of namespaces."""
        names = {each.route.match.view_name for each in self._covered}
        return sorted({name[: found.start()] for name in names for found in re.finditer(":|$", name)})


def _refusing_all(rule: Rule) -> Doubt | None:
    for window in rule.windows:
        period = format_duration(window.period_ms)
        most = algorithm(window.algorithm).reading(window, None, 0).capacity
        if not window.limit and rule.cost:
            text = gettext("The limit of 0 in %(period)s refuses every request that %(rule)r meets.")
            return Doubt("zero", text % {"period": period, "rule": rule.name}, gettext("Allow at least 1."))
        if rule.cost > most:
            text = gettext(
                "Each request costs %(cost)s, and at most %(most)s fit into a limit of %(limit)s in %(period)s: %(rule)r refuses "
                "every request."
            )
            values = {"cost": rule.cost, "most": most, "limit": window.limit, "period": period, "rule": rule.name}
            return Doubt("cost", text % values, gettext("Lower the cost to at most %s.") % most)
    return None
