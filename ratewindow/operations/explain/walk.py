"""A request on its way through its doors, as the guards there would judge it, but for the charges: they only peek."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from asgiref.sync import async_to_sync
from django.http import HttpRequest

from ratewindow.limiter.types import Check, Decision
from ratewindow.request import admin_pages, decide
from ratewindow.request.doors import Door
from ratewindow.request.guard import Passage
from ratewindow.request.overrides import judge
from ratewindow.request.prepare import Question
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rule import Rule

Change = Callable[[Sequence[Rule]], Sequence[Rule]]


@dataclass(frozen=True)
class Stage:
    """One door: the rules that hold there, those among them that are asked about, and what they decide."""

    door: Door
    rules: Sequence[Rule]  # as rows and code have them
    asked: Sequence[Rule]  # without those that the client is exempt from, and with other rates
    decision: Decision
    own: Sequence[Decision]  # each rule's as if it were alone and in shadow: with its numbers whoever refuses
    stays_open: bool = False  # a page of ours, for staff who correct rules there


@dataclass(frozen=True)
class Walk:
    """The doors that were passed, in this order; the last one may have refused."""

    stages: Sequence[Stage]
    refused: Decision | None = None
    left_to_view: Sequence[Decision] = ()  # refusals that the view may overrule: ``block=False``


def walk(request: HttpRequest, book: Rulebook, doors: Sequence[Door], change: Change = lambda rules: rules) -> Walk:
    """Walk until a door refuses. `change` replaces the rules of each door."""
    vars(request).pop("_ratewindow", None)
    stages: list[Stage] = []
    left_to_view: list[Decision] = []
    for door in doors:
        passage = Passage(request, door)
        stage = _stage(passage, book, change)
        if stage is None:
            continue
        stages.append(stage)
        if stage.decision.allowed or not door.block:
            passage.visit.add(stage.decision, door.block)
            left_to_view += [stage.decision] if not stage.decision.allowed else []
        elif not stage.stays_open:
            return Walk(stages, stage.decision, left_to_view)
    return Walk(stages, None, left_to_view)


def _stage(passage: Passage, book: Rulebook, change: Change) -> Stage | None:
    """What a guard would find and decide at this door; None if it has nothing to decide."""
    request = passage.seen
    if passage.door.awaited is not None:
        passage.door = async_to_sync(passage.door.awaited)(book, request)
    if not passage.prepare(book):
        return None
    rules = passage.rules = [*change(passage.rules)]
    async_to_sync(_load)(passage)
    question = passage.question()
    decision = decide.decide(question, "peek", passage.waited)
    rulings = passage.overrides.of_request(request) if passage.overrides is not None else []
    asked = judge(rulings, rules).rules
    stays_open = not decision.allowed and admin_pages.stays_open(passage.request)
    return Stage(passage.door, rules, asked, decision, _each_alone(question, decision), stays_open)


async def _load(passage: Passage) -> None:
    """Fetch what identities are made of where that must be awaited."""
    for rule in passage.rules:
        await rule.recipe.load(passage.seen)
    if passage.overrides is not None:
        await passage.overrides.load(passage.seen)


def _each_alone(question: Question, decision: Decision) -> Sequence[Decision]:
    """Of a refused request the limiter gives no numbers of rules in shadow, and of one that a block refuses none at all."""
    if not question.checks:
        return ()
    if decision.allowed:
        return [part for part in decision.decisions if part.check is not None]
    checks: list[Check] = [check._replace(enforce=False) for check in question.checks]
    return decide.decide(question._replace(checks=checks, settled=[]), "peek").decisions


def enforcing(rules: Sequence[Rule]) -> Sequence[Rule]:
    """The rules as they would hold if those in shadow were enforced, and for all clients: a row takes the place of a rate in
    code."""
    replaced = {rule.name for rule in rules if rule.is_beside}
    return [_enforced(rule) for rule in rules if rule.is_beside or rule.name not in replaced]


def _enforced(rule: Rule) -> Rule:
    return replace(rule, mode="enforce", enforce_percent=100, is_beside=False)
