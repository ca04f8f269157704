"""The door of logins: which rules apply to an attempt, and what they decide.

A known device has rules of its own, so that strangers cannot lock the owner of an account out. Once it has used these up, it is
a stranger. A stranger who is refused is looked at once more: the account may lately have logged in from that address, which is
then counted as a device.
"""

import math
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from asgiref.sync import sync_to_async
from django.http import HttpRequest

from ratewindow.contrib.logins.attempt import Attempt, is_forgiven
from ratewindow.contrib.logins.targets import EVERY, KNOWN, STRANGERS
from ratewindow.limiter.types import Decision, What
from ratewindow.request import decide, visit
from ratewindow.request.doors import Door
from ratewindow.request.guard import Passage
from ratewindow.request.prepare import waited
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rule import Rule


class LoginDoor(Door):
    """The door for the rules that apply to every login, and to those of one kind: of strangers, or from known devices.

    Rules that count failures charge a stranger before the password is checked, and refund a right one: however many try at once,
    no more than the limit are checked. They charge a known device after, so that its own requests do not refuse each other; and
    a stranger where no guard stands around the request, since nobody could refund. No rule refuses an attempt that is forgiven; a
    block does.
    """

    def __init__(self, kind: str, is_guarded: bool = False, is_forgiven: bool = False) -> None:
        self._kind, self._holds, self._is_forgiven = kind, is_guarded and kind == STRANGERS, is_forgiven

    def rules(self, book: Rulebook, request: HttpRequest) -> list[Rule]:
        rules = (rule for kind in (EVERY, self._kind) for rule in book.of_rooms.get(kind, ()))
        return [
            replace(rule, hold=self._holds and rule.count_when is not None, mode="shadow" if self._is_forgiven else rule.mode)
            for rule in rules
            if rule.meets_method(request.method)
        ]


class Answer(NamedTuple):
    """What is decided for an attempt by one of these doors, and what it was counted as: a device, or empty."""

    passage: Passage
    decision: Decision
    counted_as: str


def decide_login(attempt: Attempt, book: Rulebook, request: HttpRequest, what: What = "hit") -> decide.Steps[Answer]:
    """What the rules decide for whoever tries: of several refusals the one with the shortest wait. Its passage is the outermost
    where no guard stands around the request."""
    device, ask = attempt.counted_as, partial(_ask, attempt, book, request, what, visit.of(request).is_open)
    refusals: list[Answer] = []
    for each in dict.fromkeys((device, "")):
        answer: Answer = yield from ask(each)
        if answer.decision.allowed or answer.decision.reason not in ("limit", "penalty"):
            return answer
        refusals.append(answer)
    if not device and not waited(answer.decision) and (yield attempt.is_trusted, sync_to_async(attempt.is_trusted)):
        answer = yield from ask(attempt.address)
        if answer.decision.allowed:
            return answer
        refusals.append(answer)
    best = min(refusals, key=lambda each: math.inf if each.decision.retry_after is None else each.decision.retry_after)
    attempt.counted_as = best.counted_as
    return best


def _ask(
    attempt: Attempt, book: Rulebook, request: HttpRequest, what: What, is_guarded: bool, device: str
) -> decide.Steps[Answer]:
    """Ask the rules for this device, or for strangers. Each attempt of a request is decided anew, by rules that may have decided
    one before."""
    door = LoginDoor(KNOWN if device else STRANGERS, is_guarded=is_guarded, is_forgiven=is_forgiven(request))
    passage = Passage(request, door)
    passage.outermost, attempt.counted_as = not is_guarded, device
    attempt.make_current()
    if not passage.prepare(book, again={key for rule in door.rules(book, request) for key in rule.decision_keys}):
        return Answer(passage, Decision(), device)
    yield _nothing, passage.load
    decision: Decision = yield decide.decide, decide.adecide, passage.question(), what
    attempt.learn(decision)
    return Answer(passage, decision, device)


def _nothing() -> None:
    """In a thread there is nothing to load ahead: identities query as they are read."""
