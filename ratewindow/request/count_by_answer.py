"""Rules that count by the answer: what `count_when` has only looked at before the view is charged here, after it, and
what it has held is refunded if the answer does not count.

A login has failed during a request if Django's signal says so: with the request, or without one in its context. Where it
fails later than that, while a body is streamed or after a client has gone, it is charged at that moment.
"""

import threading
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, NamedTuple

from django.contrib.auth.signals import user_login_failed
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest
from django.http.multipartparser import MultiPartParserError

from ratewindow.exceptions import RateLimited
from ratewindow.limiter.types import Check, Decision, Refunds
from ratewindow.request import charge_later, decide
from ratewindow.rules.rule import Rule

_asking: ContextVar["_Waiting | None"] = ContextVar("ratewindow_asking", default=None)


class _Undecided(NamedTuple):
    rule: Rule
    part: Decision
    held: bool  # charged before the view


class _Due(NamedTuple):
    """What an answer makes of the rules that waited for it."""

    charges: list[Decision]
    refunds: list[tuple[Check, Sequence[int | None]]]


class _Waiting:
    """The rules of one request that wait for its answer."""

    def __init__(self, login_failed: bool) -> None:
        self.login_failed = login_failed
        self.outer = _asking.get()  # tests send requests from views
        self._answered = False
        self._undecided: list[_Undecided] = []
        self._lock = threading.Lock()  # a client that has gone leaves its view behind in a thread

    def add(self, rule: Rule, part: Decision, held: bool) -> None:
        self._undecided.append(_Undecided(rule, part, held))

    def answered(self, status: int | None) -> _Due:
        """What this answer makes count, or not: of requests that passed, since a refused one costs nothing."""
        with self._lock:
            self._answered = True
            return self._due(status)

    def failed(self) -> list[Decision]:
        """A login has failed; what that makes count if the answer is out already."""
        with self._lock:
            self.login_failed = True
            return self._due(None).charges if self._answered else []

    def _due(self, status: int | None) -> _Due:
        due, left = _Due([], []), []
        for each in self._undecided:
            counts = each.rule.count_when is not None and each.rule.count_when.counts(status, self.login_failed)
            if each.part.outcome != "passed":
                left.append(each)
            elif counts and not each.held:
                due.charges.append(each.part)
            elif not counts:
                if each.held and each.part.check is not None:
                    due.refunds.extend(each.part.take_back(each.part.check.cost, with_later=False))
                left.append(each._replace(held=False))  # a login may fail later
        self._undecided = left
        return due


def wait(request: Any, rules: Sequence[Rule], decision: Decision) -> None:
    """Remember which of these rules count this request only by its answer."""
    by_name = {rule.name: rule for rule in rules if rule.count_when is not None}
    for part in decision.decisions:
        if part.rule in by_name and (held := _is_held(part)) is not None:
            if not hasattr(request, "_ratewindow_waiting"):
                request._ratewindow_waiting = _Waiting(hasattr(request, "_ratewindow_login_failed"))
                _asking.set(request._ratewindow_waiting)
            request._ratewindow_waiting.add(by_name[part.rule], part, held)


def _is_held(part: Decision) -> bool | None:
    """Whether the rule has charged the request; None where nothing waits for the answer: what was counted in this process,
    without Redis, stays counted."""
    if part.check is None:
        return None
    if part.check.only_looks or not part.windows:
        return False
    return True if max(answer.charged_at_ms for answer in part.windows) >= 0 else None


def count(request: HttpRequest, status: int | None) -> None:
    """Charge what an answer of this status makes count, and refund what it does not; None when there is none."""
    charges, refunds = _answered(request, status)
    if charges:
        _learn(request, charges, decide.decide(charge_later.question_of(charges), "charge", _vain(request)))
    if refunds and not charge_later.give_back(refunds, _vain(request), forget=False).cause:
        _show(request, refunds)


async def acount(request: HttpRequest, status: int | None) -> None:
    """`count`, awaited."""
    charges, refunds = _answered(request, status)
    if charges:
        _learn(request, charges, await decide.adecide(charge_later.question_of(charges), "charge", _vain(request)))
    if refunds and not (await charge_later.agive_back(refunds, _vain(request), forget=False)).cause:
        _show(request, refunds)


def _vain(request: Any) -> str:
    return decide.waited(request.ratewindow.decisions)


def _show(request: Any, refunds: Refunds) -> None:
    charge_later.show_given_back(request.ratewindow.decisions, refunds)
    charge_later.look_anew(request.ratewindow)


def _learn(request: Any, due: list[Decision], told: Decision) -> None:
    """Code may have asked for a rule by name meanwhile: then what it was told stands for the rule, and shows what is left."""
    charge_later.learn(due, told)
    now = {(part.rule, part.mode): part for part in request.ratewindow.decisions}
    charge_later.show([now.get((part.rule, part.mode), part) for part in due], told)
    charge_later.look_anew(request.ratewindow)


def status_of(error: BaseException) -> int | None:
    """What Django answers when a view raises this; None when nobody is there to be answered, or a limit refuses."""
    if isinstance(error, Http404):
        return 404
    if isinstance(error, PermissionDenied):
        return 403
    if isinstance(error, SuspiciousOperation | BadRequest | MultiPartParserError):
        return 400
    return 500 if isinstance(error, Exception) and not isinstance(error, RateLimited) else None


def _answered(request: HttpRequest, status: int | None) -> _Due:
    waiting: _Waiting | None = getattr(request, "_ratewindow_waiting", None)
    if waiting is None:
        return _Due([], [])
    if _asking.get() is waiting:
        _asking.set(waiting.outer)
    return waiting.answered(status)


def _login_failed(sender: Any, request: Any = None, **_: Any) -> None:
    """The request may be the one that REST framework wraps around Django's, or another than that of our guard."""
    waiting = None
    if request is not None:
        request = getattr(request, "_request", request)
        with suppress(AttributeError):  # some give what is no request
            request._ratewindow_login_failed = True  # for a guard that it is still to meet
        waiting = getattr(request, "_ratewindow_waiting", None)
    waiting = waiting or _asking.get()
    if waiting is not None and (due := waiting.failed()):
        charge_later.learn(due, decide.decide(charge_later.question_of(due), "charge", decide.waited(due)))


def connect() -> None:
    """Listen for logins that fail; called once, when Django starts."""
    user_login_failed.connect(_login_failed, dispatch_uid="ratewindow.request.count_by_answer")
