"""The site's routes with the rules that meet them, those that none meets first; and rules and names that meet nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

from ratewindow.conf import time_zone
from ratewindow.reporting.met import met_since
from ratewindow.rulebook import rule_rows
from ratewindow.rules import code_rates
from ratewindow.rules.coverage import Covered, coverage
from ratewindow.rules.doubts import Doubt, doubts
from ratewindow.rules.rule import Rule
from ratewindow.rules.site_routes import Route

MONTH = timedelta(days=30)


class Urgency(IntEnum):
    """How much a route lacks a rule; the lowest first."""

    LOGIN = 0
    WRITES = 1
    MAY_WRITE = 2  # its view does not say which methods it answers
    READS = 3
    OPEN = 4  # a rule may meet some of its paths
    SHADOW = 5  # only rules in shadow meet it
    MET = 6


@dataclass(frozen=True)
class Line:
    """One route, with the names of the rules that meet it and of those that may."""

    route: Route
    urgency: Urgency
    meets: Sequence[str]
    may_meet: Sequence[str]

    @property
    def is_met(self) -> bool:
        return self.urgency >= Urgency.SHADOW


@dataclass(frozen=True)
class SiteCoverage:
    """`modes` of all rules in force by name, ``code`` for a rate in code; `idle` were not met `since` a time, or ever."""

    lines: Sequence[Line]
    modes: Mapping[str, str]
    undefined: Mapping[str, Sequence[str]]  # names that code uses and nobody has defined, each with its places
    doubtful: Sequence[tuple[str, Doubt]]
    idle: Sequence[str]
    since: datetime | None  # None: nothing was ever counted

    def count(self, *urgencies: Urgency) -> int:
        return sum(line.urgency in urgencies for line in self.lines)


def site_coverage(now: datetime | None = None, ask_redis: bool = True) -> SiteCoverage:
    """Compare the rules in the database, and those in code, with the URLconf. Rules that are off meet nothing."""
    rated = code_rates.names()
    defined, rules = set(), []
    for row, rule in rule_rows.readings():
        defined.add(row.name)
        if isinstance(rule, Rule) and rule.mode != "off" and rule.windows:
            rules.append(rule)
    in_code = rated - {rule.name for rule in rules if rule.mode == "enforce"} - (defined - {rule.name for rule in rules})
    modes = {rule.name: rule.mode for rule in rules} | dict.fromkeys(sorted(in_code), "code")
    covered = coverage(rules, in_code)
    met = met_since((now or time_zone.now()) - MONTH, ask_redis)
    lines = [_line(each, modes) for each in covered]
    return SiteCoverage(
        lines=sorted(lines, key=lambda line: line.urgency),
        modes=modes,
        undefined={
            name: sorted({use.place for use in uses})
            for name, uses in sorted(code_rates.uses().items())
            if name not in defined and name not in rated
        },
        doubtful=[
            (rule.name, doubt)
            for rule, doubt in doubts(rules, covered)
            if doubt.kind != "unnamed" or rule.name not in met.names  # by a call that nothing registers
        ],
        idle=sorted(rule.name for rule in rules if rule.name not in met.names) if met.since else [],
        since=met.since,
    )


def _line(covered: Covered, modes: Mapping[str, str]) -> Line:
    return Line(covered.route, _urgency(covered, modes), sorted(covered.meets), sorted(covered.may_meet))


def _urgency(covered: Covered, modes: Mapping[str, str]) -> Urgency:
    if any(modes[name] != "shadow" for name in covered.meets):
        return Urgency.MET
    if covered.meets:
        return Urgency.SHADOW
    if covered.may_meet:
        return Urgency.OPEN
    route = covered.route
    if route.is_login:
        return Urgency.LOGIN
    if route.changes_data:
        return Urgency.WRITES
    return Urgency.READS if route.methods else Urgency.MAY_WRITE
