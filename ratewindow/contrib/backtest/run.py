"""A backtest: what rules would have decided about the requests of a log, by the limiter itself, at the log's times.

The page and the command choose a `Plan`, which rules are tried, and call `backtest`.

Each request becomes stages, one for each door (`Asking.stages`), which each of the courses judges: there are two if the log has
whole seconds, which do not say when in its second a request came (`requests.Moment`). The result is then a number or, where the
two differ, two. Where one check decides a request, the times of its client are collected first, and judged at the end.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from django.http import HttpRequest

from ratewindow.conf import site_functions
from ratewindow.contrib.backtest.clients import Clients
from ratewindow.contrib.backtest.curve import curve_of, suggest
from ratewindow.contrib.backtest.deciding import Asking, Course, Decidable, Stage, refusals
from ratewindow.contrib.backtest.logs.log import Log
from ratewindow.contrib.backtest.requests import Moment, Moments, Place, Places
from ratewindow.contrib.backtest.result import Bounds, Busy, Caught, Note, Numbers, OfPeriod, OfRule, Result, Seen, Tally
from ratewindow.identity import ip, recipe
from ratewindow.identity.request_attributes import user_or_ip
from ratewindow.limiter.problem import Problem
from ratewindow.limiter.types import Check, RuleDecision, Window
from ratewindow.request.doors import Door, PathDoor, doors_of
from ratewindow.rulebook import current, reading
from ratewindow.rules import code_rates
from ratewindow.rules.limits_from import like
from ratewindow.rules.rate_options import parse_options
from ratewindow.rules.rule import Rule, check_pattern, parse_methods

NAME = "backtest"  # of a rule that is given by its rates


@dataclass(frozen=True)
class Plan:
    """Rules as a process would hold them. `is_site`: all of the site's, as they are in force, with blocks and exemptions."""

    book: current.Rulebook
    is_site: bool = False

    @property
    def rule(self) -> Rule | None:
        """The only one, whose numbers are those of all."""
        return None if self.is_site else next(iter(self.book.by_name.values()))

    def doors(self, request: HttpRequest) -> Sequence[Door]:
        """The doors that a request passes. A rule that is tried holds at the middleware, whether the site has it or not."""
        if not (self.is_site or any(map(code_rates.is_used, self.book.by_name))):
            return [PathDoor()]  # without a look at the site's views, whose own code may be slow
        doors = doors_of(request)
        return doors if self.is_site else [PathDoor(), *(door for door in doors if not isinstance(door, PathDoor))]


def of_site() -> Plan:
    """All rules of the site in their modes, with its rates in code, blocks and exemptions."""
    reading.reload()
    return Plan(current.held(), is_site=True)


def of_rule(name: str, rates: str = "") -> Plan:
    """One rule of the site, of the admin or of its code, or what it would be at other rates, which count as another rate for a
    client does. Raises ValueError."""
    reading.reload()
    code_rates.load_names()
    rule = current.held().by_name.get(name) or code_rates.rule(name)
    if rule is None:
        raise Problem("there is no rule {name!r}: manage.py ratewindow rules lists them", name=name[:64])
    if rates:
        rule = replace(rule, windows=like(_windows(rates), rule.windows))
    if not rule.windows:
        raise Problem("rule {name!r} has no limits: add one, or write a rate to try", name=name)
    return _enforced(rule)


def of_rates(
    rates: str, key: str = "ip", *, path: str = "", prefix: str = "", methods: str = "", algorithm: str | None = None
) -> Plan:
    """A rule by its rates, ``5/s; 100/m``. Raises ValueError."""
    if path and prefix:
        raise Problem("a rule applies by {kinds}: write one of them", kinds="path / prefix")
    applies_to, pattern = ("path", path) if path else ("prefix", prefix) if prefix else ("all", "")
    check_pattern(applies_to, pattern)
    recipe(key)
    windows = _windows(rates, algorithm)
    return _enforced(Rule(NAME, windows, key=key, applies_to=applies_to, pattern=pattern, methods=parse_methods(methods)))


def _windows(rates: str, algorithm: str | None = None) -> tuple[Window, ...]:
    windows = parse_options({"algorithm": algorithm} if algorithm else {}, "the rule").windows(rates)
    if not windows:
        raise Problem("{rates!r} limits nothing: write for example 10/m", rates=rates)
    return windows


def _enforced(rule: Rule) -> Plan:
    """A rule as if it were enforced: if it is enforced for some clients, only for these."""
    return Plan(current.Rulebook([replace(rule, mode="enforce")], alone=True))


SHOWN = 100  # clients


@site_functions.unreported()
def backtest(log: Log, plan: Plan, with_curves: bool = False) -> Result:
    """What the plan's rules would have done with the log's requests. `with_curves`: also what other limits of a plan of one rule
    would have done. Raises LogError."""
    return _Backtest(log, plan).run(with_curves)


class _Backtest:
    def __init__(self, log: Log, plan: Plan) -> None:
        self._log, self._plan, self._rule = log, plan, plan.rule
        self._decidable = Decidable()
        self._places = Places()
        self._asking = Asking(plan.book, plan.doors, self._decidable)
        self._moments = Moments(log)
        courses = 2 if self._moments.whole_seconds else 1  # one for each of the times of a `Moment`
        self._courses = [Course() for _ in range(courses)]
        self._total, self._by_rule = Tally(courses), defaultdict[str, Tally](lambda: Tally(courses))
        self._clients, self._seen = Clients(courses), Seen(self._moments.whole_seconds)
        self._decides_alone = _decides_alone(plan.rule)
        self._checks: dict[str, Check] = {}  # of each client, where one check decides alone

    def run(self, with_curves: bool) -> Result:
        for moment in self._moments:
            self._seen.add(moment.entry)
            self._take(moment)
        for client, check in self._checks.items():
            for number, times_ms in enumerate(self._clients.times_ms(client)):
                self._total.refuse(number, client, check.enforce, sum(refusals(check, times_ms)))
        total = self._total.numbers(self._clients.total, len(self._clients))
        if self._log.is_unordered:
            reason = Note("unordered", {"count": f"{self._log.out_of_order:,}", "requests": f"{self._log.read:,}"})
            nobody_knows = Numbers(
                total.requests, total.clients, Bounds(0, total.requests), Bounds(0, 0), Bounds(0, total.clients)
            )
            return Result(self._log, self._seen, nobody_knows, reason=reason)
        return Result(
            self._log,
            self._seen,
            total,
            [*self._rules()],
            [
                Caught(
                    client,
                    self._places.addresses.name_in(client),
                    len(self._clients.kinds(client)),
                    refused,
                    self._clients.sample(client),
                )
                for client, refused in self._total.most_refused(SHOWN).items()
            ],
            [*self._notes()],
            [*self._periods(self._rule)] if with_curves and self._rule is not None and self._seen.requests else (),
        )

    def _take(self, moment: Moment) -> None:
        request = self._places.of(moment.entry)
        with site_functions.explained(request):
            stages = self._asking.stages(request)
        if self._decides_alone and stages and not stages[0].question.settled:
            [check] = stages[0].question.checks
            self._checks.setdefault(check.identity, check)
            self._clients.add(check.identity, moment.times_ms, moment.entry)
        elif stages:
            self._decide(moment, request, stages)

    def _decide(self, moment: Moment, request: Place, stages: Sequence[Stage]) -> None:
        """Decide a request, after those before it."""
        when = zip(self._courses, moment.times_ms, strict=True)
        judged = [course.judge(stages, at_ms, moment.entry.status) for course, at_ms in when]
        who = self._add(judged[0][0], request, moment)
        for number, (parts, refused) in enumerate(judged):
            if refused or any(part.outcome == "would_refuse" for part in parts):
                self._total.refuse(number, who, refused)
                for part in () if self._rule is not None else parts:
                    if part.outcome in ("refused", "would_refuse"):
                        self._by_rule[part.rule].refuse(number, _identity(part, request), part.outcome == "refused")

    def _add(self, parts: Collection[RuleDecision], request: Place, moment: Moment) -> str:
        """Count the request for its client, which is returned, and for each rule that it matched."""
        if self._rule is not None:
            who = next((_identity(part, request) for part in parts), "") or ip(request)
        else:
            who = user_or_ip(request)
            for part in parts:
                self._by_rule[part.rule].add(_identity(part, request))
        self._clients.add(who, moment.times_ms, moment.entry)
        return who

    def _rules(self) -> Iterator[OfRule]:
        """Each rule, also one that no request matched."""
        if self._rule is not None:
            yield OfRule(self._rule.name, self._rule, self._total.numbers(self._clients.total, len(self._clients)))
        else:
            rules = self._decidable.rules() | self._plan.book.by_name
            for name, tally in (dict.fromkeys(rules, Tally(len(self._courses))) | self._by_rule).items():
                yield OfRule(name, rules.get(name), tally.numbers(tally.requests, len(tally.clients)))

    def _periods(self, rule: Rule) -> Iterator[OfPeriod]:
        """Of several limits for one period the lowest."""
        span_ms = round(1000 * (self._seen.last_s - self._seen.first_s))
        limits = {each.period_ms: each.limit for each in sorted(rule.windows, key=lambda each: each.limit, reverse=True)}
        for period_ms, limit in sorted(limits.items()):
            clients = [*self._clients.peaks(period_ms, rule.cost, lambda status: self._decidable.counts(rule, status))]
            suggested = suggest(clients, period_ms, span_ms, self._seen.whole_seconds)
            also = [limit, suggested.limit] if suggested.limit is not None else [limit]
            curve = curve_of(clients, period_ms, rule.cost, also)
            yield OfPeriod(
                limit,
                curve,
                suggested,
                [
                    Busy(each, self._places.addresses.name_in(each.client), self._clients.sample(each.client))
                    for each in curve.highest
                ],
            )

    def _notes(self) -> Iterator[Note]:
        yield Note("people")
        yield from self._decidable.notes(self._seen.has_statuses)
        yield from self._seen.notes()
        if self._log.out_of_order:
            yield Note("late", {"count": self._log.out_of_order})
        if self._rule is not None and self._seen.requests and not self._clients.total + self._decidable.missing.total():
            yield Note("unmet", {"rule": self._rule.name})


def _identity(part: RuleDecision, request: Place) -> str:
    """Whom a rule has counted; the address where it has counted nobody."""
    return part.check.identity if part.check is not None else ip(request)


def _decides_alone(rule: Rule | None) -> bool:
    """Whether one check decides each request that matches the rule. Not if answers count, nor if code names the rule at views,
    where it may cost more, or leave the decision to the view."""
    return rule is not None and not code_rates.is_used(rule.name) and (rule.count_when is None or rule.count_when.login_failed)
