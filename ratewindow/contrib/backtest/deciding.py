"""How `run` decides one request of a log: by the steps of a site's middleware and by the limiter, in memory, at its time."""

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import NamedTuple

from django.http import HttpRequest

from ratewindow import conf
from ratewindow.contrib.backtest.clients import fullest
from ratewindow.contrib.backtest.requests import Place
from ratewindow.contrib.backtest.result import ON_MISSING, Note
from ratewindow.identity.recipe import Recipe, canonical
from ratewindow.limiter.memory import MemoryStore
from ratewindow.limiter.types import Check, RuleDecision
from ratewindow.request import count_by_answer, decide
from ratewindow.request.doors import Door, PathDoor
from ratewindow.request.late_charges import question_of
from ratewindow.request.prepare import Question, ask, judge
from ratewindow.request.visit import Visit
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rule import Rule

ALWAYS = frozenset(("ip", "global", "method"))
IN_LOGS = ALWAYS | {"user", "user_or_ip", "route", "path"}
NAMED_IN_LOGS = frozenset(("header", "cookie", "query"))


class Decidable:
    """The rules that a log's requests match, each adapted once, and how many requests lack its key."""

    def __init__(self) -> None:
        self._adapted: dict[int, tuple[Rule, Rule]] = {}  # by the id of the rule, which is kept, so that no other has it
        self.missing: Counter[str] = Counter()  # by rule
        self._had: set[str] = set()  # the rules whose key some request had
        self.left_out: set[str] = set()  # the rules that a view names whose rate must be awaited

    def of(self, rules: Iterable[Rule]) -> list[Rule]:
        """The rules as the log can decide them."""
        return [self._of(rule) for rule in rules]

    def _of(self, rule: Rule) -> Rule:
        return (self._adapted.get(id(rule)) or self._adapt(rule))[1]

    def rules(self) -> dict[str, Rule]:
        """The rules that requests matched, as rows and code have them."""
        return {rule.name: rule for rule, _ in self._adapted.values()}

    def notes(self, has_statuses: bool) -> Iterator[Note]:
        """What the numbers of each rule do not say."""
        yield from (Note("rate", {"rule": name}) for name in sorted(self.left_out))
        for rule, _ in self._adapted.values():
            if self.missing[rule.name] and rule.name not in self._had:
                yield Note("missing", {"rule": rule.name, "key": rule.key, "holds": ON_MISSING[rule.on_missing]})
            if rule.count_when is not None and rule.count_when.login_failed:
                yield Note("login_failed", {"rule": rule.name})
            elif rule.count_when is not None and not has_statuses:
                yield Note("no_status", {"rule": rule.name})

    def counts(self, rule: Rule, status: int) -> bool:
        """Whether the rule counts a request that was answered with this status, as far as the log says it."""
        condition = self._of(rule).count_when
        return condition is None or condition.counts(status, login_failed=False)

    def _adapt(self, rule: Rule) -> tuple[Rule, Rule]:
        counts_failures = rule.count_when is not None and rule.count_when.login_failed
        own = replace(rule, limits_from="")  # no log says what code gave a client
        adapted = replace(own, count_when=None, hold=False) if counts_failures else own
        vars(adapted)["recipe"] = self._recipe(rule)
        return self._adapted.setdefault(id(rule), (rule, adapted))

    def _recipe(self, rule: Rule) -> Recipe:
        """The rule's own, which counts requests without it; with a part that no log has, nobody has it."""
        usual, name = rule.recipe, rule.name
        if ALWAYS.issuperset(parts_of(rule.key)) or rule.key == "user_or_ip":
            return usual
        # The body, the session, and what a function of the site makes of a request, no log has.
        never = any(part not in IN_LOGS and part.partition(":")[0] not in NAMED_IN_LOGS for part in parts_of(rule.key))

        def identity(request: HttpRequest) -> str | None:
            value = None if never else usual.identity(request)
            if value is None:
                self.missing[name] += 1
            else:
                self._had.add(name)
            return value

        return Recipe(usual.text, (identity,))


def parts_of(key: str) -> list[str]:
    return canonical(key).split("+")


class Stage(NamedTuple):
    """One door: what is asked there, and whether it refuses; else the view decides."""

    question: Question
    blocks: bool = True


class Asking:
    """Asks about the requests of a log by these rules, at the doors that each request passes."""

    def __init__(self, book: Rulebook, doors: Callable[[HttpRequest], Sequence[Door]], rules: Decidable) -> None:
        self._book, self._doors_of, self._decidable = book, doors, rules
        self._settings = replace(conf.current(), scope=None)

    def stages(self, request: Place) -> list[Stage]:
        """The doors at which something decides the request."""
        stages: list[Stage] = []
        met: set[tuple[str, str]] = set()
        for door, by_path in request.doors if request.doors is not None else self._doors(request):
            rules = self._rules_at(door, request) if by_path is None else by_path
            question = self._question(request, [rule for rule in rules if met.isdisjoint(rule.decision_keys)], door)
            if question.checks or question.settled:
                met |= {key for rule in question.rules for key in rule.decision_keys}
                met |= {(each.rule, each.mode) for each in question.settled}
                stages.append(Stage(question, door.block))
        return stages

    def _doors(self, request: Place) -> Sequence[tuple[Door, Sequence[Rule] | None]]:
        """The doors of one method and path, with the rules that hold there by path; None: others do."""
        request.doors = [
            (door, self._decidable.of(self._book.match(request)) if isinstance(door, PathDoor) else None)
            for door in self._doors_of(request)
        ]
        return request.doors

    def _rules_at(self, door: Door, request: Place) -> list[Rule]:
        """The rules at a view. Of those whose rate must be awaited nothing is known."""
        if door.awaited is not None:
            self._decidable.left_out.add(str(getattr(door, "name", "")))
            return []
        return self._decidable.of(door.rules(self._book, request))

    def _question(self, request: Place, rules: Sequence[Rule], door: Door) -> Question:
        if self._book.overrides is not None:
            verdict = judge(self._book.overrides.of_request(request), rules, request)
            if verdict.settled:
                return Question([], verdict.settled, ())
            rules = verdict.rules
        return ask(request, rules, door.cost if isinstance(door.cost, int) else 1, self._settings)


class Course:
    """The requests of a log at one of their times each, with a store of their own, one after the other."""

    def __init__(self) -> None:
        self._store = MemoryStore(sys.maxsize)

    def judge(self, stages: Sequence[Stage], now_ms: int, status: int) -> tuple[Collection[RuleDecision], bool]:
        """Decide a request that was answered with this status when it passed: one decision for each rule that it matched, and
        whether it was refused."""
        refused, visit = False, Visit()
        for question, blocks in stages:
            if question.settled:
                question = question._replace(settled=[*map(copy, question.settled)])  # deciding changes them
            decision = decide.at_time(question, self._store, now_ms)
            if decision.allowed or not blocks:
                visit.add(decision)
            else:
                self._store.refund(visit.refuse(), now_ms)
                visit.add(decision)
                refused = True
                break
        charges, refunds = count_by_answer.due(count_by_answer.waiting(visit.decision), status)
        if charges:
            self._store.run(question_of(charges).checks, "charge", now_ms)
        self._store.refund(refunds, now_ms)
        return visit.end(), refused


def refusals(check: Check, times_ms: Sequence[int]) -> list[bool]:
    """Whether each request of one client is refused, where one check alone decides all of them.

    Most clients never take so much that a limit could refuse them: in each algorithm a unit counts for less than two periods, and
    no bucket is ever empty that is asked in that time for no more than it holds.
    """
    if all(
        check.cost * fullest(times_ms, 2 * each.period_ms) <= min(each.limit, each.burst or each.limit) for each in check.windows
    ):
        return [False] * len(times_ms)
    store = MemoryStore(sys.maxsize)
    return [store.run([check], "hit", at_ms)[0].refuses for at_ms in times_ms]
