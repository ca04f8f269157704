"""Rules as a log can decide them: what it cannot say of a request is missing there, and is said beside the result."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from django.http import HttpRequest

from ratewindow import conf
from ratewindow.identity.recipe import Recipe, canonical
from ratewindow.limiter.algorithms import algorithm
from ratewindow.limiter.types import Window
from ratewindow.operations.backtest.notes import ON_MISSING, Note
from ratewindow.rules.rule import Rule

ALWAYS = frozenset(("ip", "global", "method"))
BY_USER = frozenset(("user", "user_or_ip"))
IN_LOGS = ALWAYS | BY_USER | {"route", "path"}
NAMED_IN_LOGS = frozenset(("header", "cookie", "query"))


class Known:
    """The rules that a log's requests meet, each adapted once, and how many requests lack its key."""

    def __init__(self) -> None:
        self._adapted: dict[int, tuple[Rule, Rule]] = {}  # by the id of the rule, which is kept, so that no other has it
        self._windows: dict[str, Window] = {}  # by the part of their keys that the states of a window share
        self._locks: set[str] = set()
        self.missing: Counter[str] = Counter()  # by rule
        self._had: set[str] = set()  # the rules whose key some request had
        self.counts_by_answer = False

    def of(self, rules: Iterable[Rule]) -> list[Rule]:
        """The rules as the log can decide them."""
        return [self._of(rule) for rule in rules]

    def _of(self, rule: Rule) -> Rule:
        return (self._adapted.get(id(rule)) or self._adapt(rule))[1]

    def rules(self) -> dict[str, Rule]:
        """The rules that requests met, as rows and code have them."""
        return {rule.name: rule for rule, _ in self._adapted.values()}

    def notes(self, requests: Counter[str], has_users: bool, has_statuses: bool) -> Iterator[Note]:
        """What the numbers of each rule, which so many requests met, do not say."""
        for rule, _ in self._adapted.values():
            if not requests[rule.name] + self.missing[rule.name]:
                continue
            holds = ON_MISSING[rule.on_missing]
            if unknown := unknowable(rule.key):
                yield Note("unknowable", {"rule": rule.name, "key": unknown, "holds": holds})
            elif not has_users and not BY_USER.isdisjoint(parts_of(rule.key)):
                yield Note("nobody", {"rule": rule.name})
            elif self.missing[rule.name] and rule.name not in self._had:
                yield Note("nowhere", {"rule": rule.name, "key": rule.key, "holds": holds})
            if rule.count_when is not None and rule.count_when.login_failed:
                yield Note("login_failed", {"rule": rule.name})
            elif rule.count_when is not None and not has_statuses:
                yield Note("no_status", {"rule": rule.name})

    def counts(self, rule: Rule, status: int) -> bool:
        """Whether the rule counts a request that was answered with this status, as far as the log says it."""
        condition = self._of(rule).count_when
        return condition is None or condition.counts(status, login_failed=False)

    def is_over(self, key: str, state: Any, now_ms: int) -> bool:
        """Whether a state of the store counts no longer."""
        name = key.partition("{")[0].removeprefix(conf.current().key_prefix)
        if name in self._locks:
            start_ms, lasts_ms = state
            return bool(start_ms + lasts_ms <= now_ms)
        window = self._windows.get(name)
        return window is not None and algorithm(window.algorithm).reading(window, state, now_ms).empty

    def _adapt(self, rule: Rule) -> tuple[Rule, Rule]:
        adapted = replace(rule, lease=1)
        if rule.count_when is not None and rule.count_when.login_failed:
            adapted = replace(adapted, count_when=None, hold=False)
        vars(adapted)["recipe"] = self._recipe(rule)
        self.counts_by_answer = self.counts_by_answer or adapted.count_when is not None
        self._windows.update(zip(adapted.state_names, adapted.windows, strict=True))
        self._locks.add(adapted.lock_name)
        found = self._adapted[id(rule)] = (rule, adapted)
        return found

    def _recipe(self, rule: Rule) -> Recipe:
        """The rule's own, which counts requests without it; with a part that no log has, nobody has it."""
        usual, name = rule.recipe, rule.name
        if ALWAYS.issuperset(parts_of(rule.key)) or rule.key == "user_or_ip":
            return usual
        never = bool(unknowable(rule.key))

        def identity(request: HttpRequest) -> str | None:
            found = None if never else usual.identity(request)
            if found is None:
                self.missing[name] += 1
            else:
                self._had.add(name)
            return found

        return Recipe(usual.text, (identity,))


def parts_of(key: str) -> list[str]:
    return canonical(key).split("+")


def unknowable(key: str) -> str:
    """The parts of a key that no log has: of the body, of the session, and what a function of the site makes of a request."""
    return "+".join(part for part in parts_of(key) if part not in IN_LOGS and part.partition(":")[0] not in NAMED_IN_LOGS)


def headers_of(keys: Iterable[str]) -> set[str]:
    """The headers that these keys read, in lower case."""
    parts = [part.partition(":") for key in keys for part in parts_of(key)]
    return {name for kind, _, name in parts if kind == "header"} | {"cookie" for kind, _, _ in parts if kind == "cookie"}
