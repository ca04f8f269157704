"""Why a rule would limit nobody, or refuse everybody, each with a remedy: for the form, for messages and for the checks."""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

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
    text = f"No view of the site names rule {rule.name!r}, so no request meets it, unless a call such as hit does."
    return Doubt("unnamed", text, f"Choose what it applies to, or decorate a view with @ratelimit({rule.name!r}).")


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
            methods = " or ".join(sorted(rule.methods))
            return Doubt("method", f"Rule {rule.name!r} is for {methods}, which no view that it meets answers.", "Choose others.")
        if rule.applies_to not in ("path", "route"):
            return None  # it may be for pages that do not exist
        text = f"Rule {rule.name!r} is for the {rule.applies_to} {rule.pattern!r}, which the URLconf does not have."
        return Doubt("nowhere", text, self._correction(rule))

    def _correction(self, rule: Rule) -> str:
        """What to write instead, if something is near."""
        self._corrected += 1
        if self._corrected > MOST_CORRECTED:
            return "Correct it, or delete the rule."
        known = self._paths if rule.applies_to == "path" else self._names
        likely = [each for each in known if abs(len(each) - len(rule.pattern)) <= MOST_LETTERS_OFF]
        near = difflib.get_close_matches(rule.pattern, likely, n=1)
        return f"Did you mean {near[0]!r}? Otherwise delete the rule." if near else "Correct it, or delete the rule."

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
            return Doubt(
                "zero", f"The limit of 0 in {period} refuses every request that {rule.name!r} meets.", "Allow at least 1."
            )
        if rule.cost > most:
            text = f"Each request costs {rule.cost}, and at most {most} fit into a limit of {window.limit} in {period}"
            return Doubt("cost", f"{text}: {rule.name!r} refuses every request.", f"Lower the cost to at most {most}.")
    return None
