"""Why a rule would limit nobody, or refuse everybody, each with a remedy: for the form, for messages and for the checks."""

import difflib
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from ratewindow.limiter.algorithms import algorithm
from ratewindow.limiter.durations import format_duration
from ratewindow.rules import code_rates
from ratewindow.rules.coverage import Covered
from ratewindow.rules.rule import Rule

Kind = Literal["nowhere", "method", "unnamed", "cost", "zero"]


class Doubt(NamedTuple):
    kind: Kind
    text: str
    remedy: str


def doubts(rule: Rule, covered: Sequence[Covered]) -> Iterator[Doubt]:
    """What is doubtful about a rule; `covered` are the routes of the site, if it has any, with the rules that meet them."""
    yield from _meeting_nothing(rule, covered)
    yield from _refusing_all(rule)


def _meeting_nothing(rule: Rule, covered: Sequence[Covered]) -> Iterator[Doubt]:
    name = rule.name
    if rule.applies_to == "named":
        code_rates.names()  # imports the views
        if name not in code_rates.uses():
            text = f"No view of the site names rule {name!r}, so no request meets it, unless a call such as hit does."
            yield Doubt("unnamed", text, f"Choose what it applies to, or decorate a view with @ratelimit({name!r}).")
        return
    if not covered or any(name in each.meets or name in each.may_meet for each in covered):
        return
    if any(name in each.unanswered for each in covered):
        methods = " or ".join(sorted(rule.methods))
        yield Doubt("method", f"Rule {name!r} is for {methods}, which no view that it meets answers.", "Choose other methods.")
    elif rule.applies_to in ("path", "route"):
        text = f"Rule {name!r} is for the {rule.applies_to} {rule.pattern!r}, which the URLconf does not have."
        yield Doubt("nowhere", text, _correction(rule, covered))


def _correction(rule: Rule, covered: Sequence[Covered]) -> str:
    """What to write instead, if something is near."""
    if rule.applies_to == "path":
        known = [each.route.path for each in covered if each.route.is_whole]
    else:
        names = {each.route.match.view_name for each in covered}
        known = sorted({name[:place] for name in names for place, letter in enumerate(f"{name}:") if letter == ":" and place})
    near = difflib.get_close_matches(rule.pattern, known, n=1)
    return f"Did you mean {near[0]!r}? Otherwise delete the rule." if near else "Correct it, or delete the rule."


def _refusing_all(rule: Rule) -> Iterator[Doubt]:
    for window in rule.windows:
        period = format_duration(window.period_ms)
        most = algorithm(window.algorithm).reading(window, None, 0).capacity
        if not window.limit and rule.cost:
            yield Doubt(
                "zero", f"The limit of 0 in {period} refuses every request that {rule.name!r} meets.", "Allow at least 1."
            )
            return
        if rule.cost > most:
            text = f"Each request costs {rule.cost}, and at most {most} fit into a limit of {window.limit} in {period}"
            yield Doubt("cost", f"{text}: {rule.name!r} refuses every request.", f"Lower the cost to at most {most}.")
            return
