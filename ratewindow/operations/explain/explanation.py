"""An explanation as a value: what each rule makes of a request, in the order in which the request meets it, and the answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.http import HttpRequest

from ratewindow import conf
from ratewindow.conf import site_functions, time_zone
from ratewindow.identity.routes import match_of
from ratewindow.limiter.types import Decision, WindowAnswer
from ratewindow.models import Override
from ratewindow.operations.explain import not_met
from ratewindow.operations.explain.asked import Asked, request_of
from ratewindow.operations.explain.walk import Stage, Walk, enforcing, walk
from ratewindow.overrides import ALLOW, RATE, Ruling
from ratewindow.request.doors import Door, PathDoor, doors_of
from ratewindow.rulebook import current, kill_switch
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.kill_switch import Switch
from ratewindow.rules.rule import Rule


class Effect(StrEnum):
    """What a rule does to the request."""

    REFUSES = "refuses"
    WOULD_REFUSE = "would refuse"
    PASSES = "passes"
    EXEMPT = "exempt"
    BLOCKED = "blocked"
    NOT_COUNTED = "not counted"
    NOT_REACHED = "not reached"
    NOT_MET = "not met"


@dataclass(frozen=True)
class Line:
    """One rule. `decision` is its own, with its windows as they stand whoever refuses; None where it is not asked."""

    rule: Rule
    effect: Effect
    decision: Decision | None = None
    in_code: bool = False  # the rate is given by code
    at_view: bool = False  # a decorator or a throttle meets it, not the middleware
    asks_view: bool = False  # the view decides what a refusal means
    other_rate: Ruling | None = None
    reason: not_met.Reason | None = None

    @property
    def mode(self) -> str:
        return self.decision.mode if self.decision is not None else self.rule.mode

    @property
    def identity(self) -> str:
        return self.decision.check.identity if self.decision is not None and self.decision.check is not None else ""

    @property
    def windows(self) -> tuple[WindowAnswer, ...]:
        return self.decision.windows if self.decision is not None else ()


@dataclass(frozen=True)
class Explanation:
    """What the limits make of a request at one moment. Without `refused` and `stays_open` it passes."""

    asked: Asked
    method: str
    path: str
    route: str  # the pattern of the URLconf; empty: the path leads to no page
    at: datetime
    enabled: bool  # by the setting
    switch: Switch | None  # that has switched limits off
    overrides: Sequence[tuple[Ruling, Override | None]]
    lines: Sequence[Line]
    refused: Decision | None
    stays_open: bool  # a page of ours, for staff who correct rules there
    with_shadow: Decision | None  # the refusal if all rules that are met were enforced
    has_shadow: bool  # whether that is another question
    with_overrides: bool  # False: by the rules alone, for people who may not be told of blocks and exemptions
    away: str  # why Redis gave no answer

    @property
    def is_off(self) -> bool:
        return not self.enabled or self.switch is not None

    @property
    def passes(self) -> bool:
        return self.is_off or self.refused is None

    @property
    def exempts_from_all(self) -> bool:
        return any(ruling.action == ALLOW and not ruling.rule for ruling, _ in self.overrides)

    def met(self) -> Iterator[Line]:
        return (line for line in self.lines if line.effect != Effect.NOT_MET)


def explain(asked: Asked, find_users: bool = True, with_overrides: bool = True) -> Explanation:
    """Explain what would be answered now, or without overrides what the rules alone would answer.

    It counts nothing and changes no state. Raises ValueError for what is not a request.
    """
    with site_functions.unreported():
        request = request_of(asked, find_users)
        return _explained(asked, request, with_overrides)


def _explained(asked: Asked, request: HttpRequest, with_overrides: bool) -> Explanation:
    current.rulebook()  # waits for the first reading
    held, enabled = current.held(), conf.current().enabled  # also while limits are switched off
    book = held if with_overrides else held.with_overrides(None)
    doors = doors_of(request)
    walked = walk(request, book, doors)
    rulings = book.overrides.of_request(request) if book.overrides is not None else []
    lines = [*_met(walked, rulings, book), *_not_reached(walked, request, book, doors)] if enabled else []
    reasons = not_met.reasons(book, {line.rule.name for line in lines}, request, doors)
    lines += [Line(rule, Effect.NOT_MET, reason=reason) for rule, reason in reasons]
    has_shadow = any(line.mode == "shadow" for line in lines if line.effect != Effect.NOT_MET)
    match = match_of(request)
    return Explanation(
        asked=asked,
        method=request.method or "",
        path=request.path_info,
        route=f"/{match.route.removeprefix('^')}" if match is not None else "",
        at=time_zone.now(),
        enabled=enabled,
        switch=kill_switch.turned if kill_switch.off else None,
        overrides=_rows(rulings),
        lines=lines,
        refused=walked.refused,
        stays_open=any(stage.stays_open for stage in walked.stages),
        with_shadow=walk(request, book, doors, enforcing).refused if has_shadow else walked.refused,
        has_shadow=has_shadow,
        with_overrides=with_overrides,
        away=next((part.cause for stage in walked.stages for part in stage.decision.decisions if part.cause), ""),
    )


def _rows(rulings: Sequence[Ruling]) -> list[tuple[Ruling, Override | None]]:
    """The rows of overrides; this process may hold one that has just been deleted."""
    rows = Override.objects.in_bulk([ruling.pk for ruling in rulings]) if rulings else {}
    return [(ruling, rows.get(ruling.pk)) for ruling in rulings]


def _met(walked: Walk, rulings: Sequence[Ruling], book: Rulebook) -> Iterator[Line]:
    for stage in walked.stages:
        blocked = any(part.reason == "block" for part in stage.decision.decisions)
        rates = [ruling for ruling in rulings if ruling.action == RATE]
        for rule in stage.rules:
            decision = _own(stage, rule)
            asked = any(each.name == rule.name and each.is_beside == rule.is_beside for each in stage.asked)
            yield Line(
                rule,
                _effect(stage, rule, decision, asked, blocked),
                decision,
                in_code=_is_in_code(rule, book),
                at_view=not isinstance(stage.door, PathDoor),
                asks_view=not stage.door.block,
                other_rate=_newest(rates, rule.name) if asked else None,
            )


def _effect(stage: Stage, rule: Rule, decision: Decision | None, asked: bool, blocked: bool) -> Effect:
    if blocked:
        return Effect.BLOCKED
    if not asked:
        return Effect.EXEMPT
    if decision is None:
        return Effect.NOT_COUNTED
    if not decision.allowed:
        return Effect.REFUSES
    return Effect.WOULD_REFUSE if decision.outcome == "would_refuse" else Effect.PASSES


def _own(stage: Stage, rule: Rule) -> Decision | None:
    """The rule's own decision: as the request got it or, if that has no numbers since another rule refuses, alone."""
    judged = next((part for part in stage.decision.decisions if _is_by(part, rule)), None)
    alone = next((part for part in stage.own if _is_by(part, rule)), None)
    if judged is None or (judged.outcome == "other" and judged.mode == "shadow"):
        return alone or judged
    if judged.reason == "block":
        return None
    return judged


def _is_by(part: Decision, rule: Rule) -> bool:
    made_by = part.made_by
    return part.rule == rule.name and made_by is not None and made_by.is_beside == rule.is_beside


def _newest(rates: Sequence[Ruling], name: str) -> Ruling | None:
    """The other rate that holds for a rule: the newest that names it, else the newest for all."""
    named = [ruling for ruling in rates if ruling.rule == name] or [ruling for ruling in rates if not ruling.rule]
    return max(named, key=lambda ruling: ruling.pk, default=None)


def _is_in_code(rule: Rule, book: Rulebook) -> bool:
    row = book.by_name.get(rule.name)
    return row is None or (rule is not row and not rule.is_beside)


def _not_reached(walked: Walk, request: HttpRequest, book: Rulebook, doors: Sequence[Door]) -> Iterator[Line]:
    """The rules of the doors behind the one that refuses."""
    if walked.refused is None:
        return
    passed = [stage.door for stage in walked.stages]
    behind = doors[doors.index(passed[-1]) + 1 :] if passed[-1] in doors else ()
    known = {rule.name for stage in walked.stages for rule in stage.rules}
    for door in behind:
        for rule in door.rules(book, request) if door.awaited is None else ():
            if rule.name not in known:
                yield Line(rule, Effect.NOT_REACHED, in_code=_is_in_code(rule, book), at_view=True)


__all__ = ["Asked", "Effect", "Explanation", "Line", "explain"]
