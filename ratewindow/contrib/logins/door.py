"""The door of logins: which rules apply to an attempt, and what they decide.

A known device has rules of its own, so that strangers cannot lock the owner of an account out. Once it has used these up, it is
a stranger. A stranger who is refused is looked at once more: the account may lately have logged in from that address.
"""

import math
from dataclasses import replace
from functools import partial

from asgiref.sync import sync_to_async
from django.http import HttpRequest

from ratewindow.contrib.logins.attempt import Attempt, is_forgiven
from ratewindow.contrib.logins.targets import EVERY, KNOWN, STRANGERS
from ratewindow.limiter.types import Decision
from ratewindow.request import decide, visit
from ratewindow.request.decide import Steps
from ratewindow.request.doors import Awaited
from ratewindow.request.guard import Passage
from ratewindow.request.prepare import Cost, waited
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rule import Rule


class LoginDoor:
    """The door for the rules that apply to every login, and to those of one kind: of strangers, or from known devices.

    Rules that count failures charge a stranger before the password is checked, and refund a right one: however many try at once,
    no more than the limit are checked. They charge a known device after, so that its own requests do not refuse each other; and
    a stranger where no guard stands around the request, since nobody could refund. A request that is forgiven is refused by none.
    """

    cost: Cost = 1
    block = True
    at_view = False
    awaited: Awaited | None = None

    def __init__(self, kind: str, is_guarded: bool = False, is_forgiven: bool = False) -> None:
        self._kind, self._holds, self._is_forgiven = kind, is_guarded and kind == STRANGERS, is_forgiven

    def rules(self, book: Rulebook, request: HttpRequest) -> list[Rule]:
        rules = (rule for kind in (EVERY, self._kind) for rule in book.of_rooms.get(kind, ()))
        return [self._here(rule) for rule in rules if rule.meets_method(request.method)]

    def _here(self, rule: Rule) -> Rule:
        hold = self._holds and rule.count_when is not None
        return replace(rule, hold=hold, mode="shadow" if self._is_forgiven else rule.mode)


def decided(attempt: Attempt, book: Rulebook, request: HttpRequest) -> Steps[tuple[Passage, Decision]]:
    """What the rules decide for whoever tries: of several refusals the one with the shortest wait. The passage is the outermost
    where no guard stands around the request."""
    device, is_guarded = attempt.device, visit.of(request).is_open
    door = partial(LoginDoor, is_guarded=is_guarded, is_forgiven=is_forgiven(request))
    refusals: list[Decision] = []
    for kind in (KNOWN, STRANGERS) if device else (STRANGERS,):
        attempt.device = device if kind == KNOWN else ""
        passage, decision = yield from _asked(attempt, door(kind), book, request)
        passage.outermost = not is_guarded
        if decision.allowed or decision.reason not in ("limit", "penalty"):
            return passage, decision
        refusals.append(decision)
    if not device and not waited(decision) and (yield attempt.is_trusted, sync_to_async(attempt.is_trusted)):
        attempt.device = attempt.address
        _, again = yield from _asked(attempt, door(KNOWN), book, request)
        if again.allowed:
            return passage, again
        attempt.device = ""
        refusals.append(again)
    return passage, min(refusals, key=lambda each: math.inf if each.retry_after is None else each.retry_after)


def _asked(attempt: Attempt, door: LoginDoor, book: Rulebook, request: HttpRequest) -> Steps[tuple[Passage, Decision]]:
    """Each attempt of a request is decided anew, by rules that may have decided one before."""
    passage = Passage(request, door)
    attempt.concern()
    if not passage.prepare(book, again={key for rule in door.rules(book, request) for key in rule.decision_keys}):
        return passage, Decision()
    yield _nothing, passage.load
    decision: Decision = yield decide.decide, decide.adecide, passage.question()
    return passage, decision


def _nothing() -> None:
    """In a thread identities load what they need themselves."""
