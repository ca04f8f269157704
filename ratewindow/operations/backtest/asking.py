"""What the store is asked about a request of a log, at each of its doors: by the same steps as a guard takes there."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ratewindow import conf
from ratewindow.operations.backtest.as_request import Place
from ratewindow.operations.backtest.known import Known
from ratewindow.operations.backtest.notes import Note
from ratewindow.operations.backtest.plan import Plan
from ratewindow.request.doors import Door, PathDoor
from ratewindow.request.overrides import judge
from ratewindow.request.prepare import NOTHING, Question, ask
from ratewindow.rules.rule import Rule


class Stage(NamedTuple):
    """One door: what is asked there, and whether it refuses; else the view decides."""

    question: Question
    blocks: bool = True


class _Doors(NamedTuple):
    """The doors of one method and path, with the rules that hold by path."""

    by_path: Sequence[Rule]
    others: Sequence[Door]  # further in
    has_path_door: bool


class Asking:
    """Asks about the requests of a log by the rules of a plan."""

    def __init__(self, plan: Plan, known: Known) -> None:
        self._plan, self._book, self._known = plan, plan.book, known
        self._settings = replace(conf.current(), scope=None)
        self._overrides = plan.book.overrides if plan.has_overrides else None
        self._notes: dict[tuple[str, str], Note] = {}

    def stages(self, request: Place) -> Sequence[Stage]:
        """The doors at which something decides the request."""
        doors: _Doors = request.doors or self._doors(request)
        if self._overrides is None and not doors.others:
            question = ask(request, doors.by_path, 1, self._settings) if doors.by_path else NOTHING
            return (Stage(question),) if question.checks or question.settled else ()
        return [*self._stages(request, doors)]

    def notes(self) -> list[Note]:
        """What of the site the log cannot be asked by."""
        said = [("hidden", self._plan.is_site and not self._plan.has_overrides), ("scope", conf.current().scope is not None)]
        return [*self._notes.values(), *(Note(kind) for kind, is_so in said if is_so)]

    def _doors(self, request: Place) -> _Doors:
        found = self._plan.doors(request)
        others = [door for door in found if not isinstance(door, PathDoor)]
        has_path_door = len(others) < len(found)
        by_path = self._known.of(self._book.match(request)) if has_path_door else []
        doors = request.doors = _Doors(by_path, others, has_path_door)
        return doors

    def _stages(self, request: Place, doors: _Doors) -> Iterator[Stage]:
        met: set[tuple[str, str]] = set()
        for door in ((None,) if doors.has_path_door else ()) + (*doors.others,):
            rules = doors.by_path if door is None else self._rules_at(door, request)
            question = self._question(request, [rule for rule in rules if met.isdisjoint(rule.decision_keys)], door)
            if question.checks or question.settled:
                met |= {(check.rule, "enforce" if check.enforce else "shadow") for check in question.checks}
                met |= {(each.rule, each.mode) for each in question.settled}
                yield Stage(question, door is None or door.block)

    def _rules_at(self, door: Door, request: Place) -> list[Rule]:
        """The rules at a view. Of those whose rate must be awaited nothing is known."""
        name = str(getattr(door, "name", ""))
        if door.awaited is not None:
            self._notes["rate", name] = Note("rate", {"rule": name})
            return []
        found = [*door.rules(self._book, request)]
        if found and not isinstance(door.cost, int):
            self._notes["cost", name] = Note("cost", {"rule": name})
        return self._known.of(found)

    def _question(self, request: Place, rules: Sequence[Rule], door: Door | None) -> Question:
        if self._overrides is not None:
            verdict = judge(self._overrides.of_request(request), rules)
            if verdict.settled:
                return Question([], verdict.settled, ())
            rules = verdict.rules
        cost = door.cost if door is not None and isinstance(door.cost, int) else 1
        return ask(request, rules, cost, self._settings)
