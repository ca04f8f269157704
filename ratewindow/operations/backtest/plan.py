"""What is asked of a log: which rules decide its requests, and where requests meet them."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest

from ratewindow.identity import recipe
from ratewindow.limiter.limiter import check_cost
from ratewindow.limiter.problem import Problem
from ratewindow.limiter.types import Window, too_much
from ratewindow.request.doors import Door, PathDoor, doors_of
from ratewindow.rulebook import current, reading
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules import code_rates
from ratewindow.rules.count_when import parse_count_when
from ratewindow.rules.rate_options import Options, parse_options
from ratewindow.rules.rule import Rule, check_methods, check_pattern

NAME = "backtest"  # of a rule that is given by its rates


@dataclass(frozen=True)
class Plan:
    """Rules as a process would hold them. `is_site`: all of the site's, as they are in force."""

    book: Rulebook
    is_site: bool = False
    has_overrides: bool = False  # blocks, exemptions and other rates are in force, too

    @property
    def rules(self) -> Sequence[Rule]:
        return [*self.book.by_name.values()]

    def doors(self, request: HttpRequest) -> Sequence[Door]:
        """The doors that a request passes. A rule that is tried holds at the middleware, whether the site has it or not."""
        if self.is_site:
            return doors_of(request) if code_rates.uses() or not _has_middleware() else _MIDDLEWARE
        if not any(code_rates.is_used(rule.name) for rule in self.rules):
            return _MIDDLEWARE
        return [*_MIDDLEWARE, *(door for door in doors_of(request) if not isinstance(door, PathDoor))]


_MIDDLEWARE = (PathDoor(),)


def _has_middleware() -> bool:
    return any(isinstance(door, PathDoor) for door in doors_of(HttpRequest()))


def of_rules(rules: Iterable[Rule]) -> Plan:
    """These rules as if they were enforced: of a rule that is enforced for some clients, only for these."""
    return Plan(Rulebook(map(_enforced, rules), alone=True))


def side_by_side(rules: Iterable[Rule]) -> Plan:
    """These rules in shadow, so that none keeps a request from another."""
    return Plan(Rulebook((replace(rule, mode="shadow") for rule in rules), alone=True))


def of_site(has_overrides: bool = True) -> Plan:
    """All rules of the site in their modes, with its rates in code; its blocks and exemptions can be left out."""
    reading.reload()
    return Plan(current.held(), is_site=True, has_overrides=has_overrides)


def of_rule(name: str, rates: str = "") -> Plan:
    """One rule of the site, of the admin or of its code, or what it would be at other rates. Raises ValueError."""
    reading.reload()
    known = current.held().by_name
    rule = known.get(name)
    if rule is None and name in code_rates.names():
        rule = code_rates.rule(name)
    if rule is None:
        for near in difflib.get_close_matches(name, [*known, *code_rates.uses()], n=1):
            raise Problem("there is no rule {name!r}: did you mean {near}?", name=name[:64], near=near)
        raise Problem("there is no rule {name!r}: manage.py ratewindow rules lists them", name=name[:64])
    if rates:
        rule = replace(rule, windows=_at_other_rates(rule, rates))
    if not rule.windows:
        raise Problem("rule {name!r} has no limits: add one, or write a rate to try", name=name)
    return of_rules([rule])


def _at_other_rates(rule: Rule, rates: str) -> tuple[Window, ...]:
    """Other rates, with the algorithm of the rule's limit for the period, or else of its first one."""
    by_period = {window.period_ms: window.algorithm for window in reversed(rule.windows)}
    usual = rule.windows[0].algorithm if rule.windows else "sliding_window"
    return tuple(
        Window(each.limit, each.period_ms, by_period.get(each.period_ms, usual)) for each in _windows(parse_options({}), rates)
    )


def _windows(options: Options, rates: str) -> tuple[Window, ...]:
    windows = options.windows(rates)
    if not windows:
        raise Problem("{rates!r} limits nothing: write for example 10/m", rates=rates)
    if problem := too_much(windows):
        raise Problem("{rates!r} has {problem}: give it fewer", rates=rates, problem=problem)
    return windows


def of_rates(
    rates: str,
    key: str = "ip",
    *,
    path: str = "",
    prefix: str = "",
    regex: str = "",
    route: str = "",
    methods: str = "",
    cost: int = 1,
    normalise: bool = False,
    name: str = NAME,
    **options: Any,
) -> Plan:
    """A rule by its rates, ``5/s; 100/m``. `options` are those of a rate in code. Raises ValueError."""
    given = {"path": path, "prefix": prefix, "regex": regex, "route": route}
    where = [(kind, text) for kind, text in given.items() if text] or [("all", "")]
    if len(where) > 1:
        raise Problem("a rule applies by {kinds}: write one of them", kinds=" / ".join(kind for kind, _ in where))
    (applies_to, pattern), said = where[0], parse_options(options, "the rule")
    check_pattern(applies_to, pattern)
    recipe(key)
    rule = Rule(
        name,
        _windows(said, rates),
        key=key,
        normalise=normalise,
        on_missing=said.on_missing,
        applies_to=applies_to,
        pattern=pattern,
        methods=check_methods(methods),
        cost=check_cost(cost),
        count_when=parse_count_when(said.count_when),
        hold=said.hold,
        count_refused=said.count_refused,
        penalty_ms=said.penalty_ms,
    )
    return of_rules([rule])


def _enforced(rule: Rule) -> Rule:
    return rule if rule.mode == "enforce" else replace(rule, mode="enforce")
