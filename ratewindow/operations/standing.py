"""How one client stands: what is counted for it under each rule, and the blocks, exemptions and other rates in force."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ratewindow.limiter.problem import Problem
from ratewindow.limiter.types import Decision, WindowAnswer
from ratewindow.models import Override
from ratewindow.operations import client_rules
from ratewindow.overrides import RATE
from ratewindow.overrides.subjects import Subject
from ratewindow.request import decide
from ratewindow.request.overrides import adapted
from ratewindow.request.prepare import ask_about
from ratewindow.rulebook import current
from ratewindow.rules.rule import Rule


class UnderRule(NamedTuple):
    """What one rule has counted for the client."""

    rule: Rule
    decision: Decision  # that a request which costs 1 would get now

    @property
    def is_counted(self) -> bool:
        return self.decision.reason == "penalty" or any(answer.reset_ms > 0 for answer in self.decision.windows)

    @property
    def windows(self) -> tuple[WindowAnswer, ...]:
        return self.decision.windows


@dataclass(frozen=True)
class Standing:
    """`rules` are those that have counted something, and `others` how many have not. Without Redis, `away` says why
    nothing is known of them."""

    overrides: Sequence[Override]
    rules: Sequence[UnderRule] = ()
    others: int = 0
    away: str = ""
    counts: bool = True  # whether this is a single client, which can have counts


def standing(identity: str, rule: str = "", with_overrides: bool = True) -> Standing:
    """How a client stands under one rule or all; without overrides by the limits that rules have for everybody.

    It charges nothing. ValueError names an invalid identity or an unknown rule.
    """
    subject = client_rules.subject_of(identity)
    who = client_rules.values_of(subject)
    book = current.rulebook() if with_overrides else current.rulebook().with_overrides(None)
    names = client_rules.names(book)
    if rule and rule not in names:
        raise Problem("there is no rule {rule!r}: manage.py ratewindow rules lists them", rule=rule)
    overrides = _overrides(book, subject, who, rule) if with_overrides else []
    if not who:
        return Standing(overrides, counts=False)
    found: dict[Any, UnderRule] = {}  # once, if a row and the rate in code that it replaces have the same counts
    for name in sorted({rule} if rule else names):
        for each in _under(book, name, who):
            if each.decision.cause:
                return Standing(overrides, away=each.decision.cause)
            left = tuple((answer.window, answer.remaining) for answer in each.windows)
            found.setdefault((name, each.decision.mode, left), each)
    counted = [each for each in found.values() if each.is_counted]
    return Standing(overrides, counted, len({each.rule.name for each in found.values()} - {each.rule.name for each in counted}))


def _under(book: current.Rulebook, name: str, who: tuple[str, ...]) -> Iterator[UnderRule]:
    """By the rate that holds for the client."""
    rulings = book.overrides.of_identity(who) if book.overrides is not None else []
    for rule in adapted([each for each in rulings if each.action == RATE], list(client_rules.named(book, name))):
        question = ask_about(who, rule, 1)
        for decision in decide.decide(question, "peek").decisions:
            yield UnderRule(rule, decision)


def _overrides(book: current.Rulebook, subject: Subject, who: tuple[str, ...], rule: str) -> list[Override]:
    """Those in force that hold for it: by its name, by a network or a group that it is in, or for everybody."""
    held = book.overrides.of_identity(who) if who and book.overrides is not None else []
    rows = Override.objects.in_force()
    named = Override.objects.get_queryset().naming(subject).values("pk")
    rows = rows.filter(pk__in=[each.pk for each in held]) | rows.filter(pk__in=named)
    return [each for each in rows.order_by("expires_at", "pk") if not rule or each.rule in ("", rule)]
