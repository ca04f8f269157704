"""Rules that count by the answer: what was only checked before the view is charged after it if `count_when` says so, and
what was held before the view is refunded if not.

A login has failed during a request if Django's signal says so: with the request, or without one in its context. If it
fails later than that, while a body is streamed or after a client has gone, it is charged at that moment.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, NamedTuple

from django.contrib.auth.signals import user_login_failed
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.http import Http404
from django.http.multipartparser import MultiPartParserError

from ratewindow.exceptions import RateLimited
from ratewindow.limiter.types import Check, Decision
from ratewindow.request import charge_later, decide
from ratewindow.request.steps import Steps, run
from ratewindow.request.visit import Visit

_in_context: ContextVar["_Deferred | None"] = ContextVar("ratewindow_waiting", default=None)


class _Undecided(NamedTuple):
    part: Decision
    held: bool  # charged before the view


class Due(NamedTuple):
    """What an answer makes of the rules that waited for it."""

    charges: list[Decision]
    refunds: list[tuple[Check, Sequence[int | None]]]


class _Deferred:
    """The rules of one request that wait for its answer."""

    def __init__(self, login_failed: bool) -> None:
        self.login_failed = login_failed
        self.outer = _in_context.get()  # tests send requests from views
        self._answered = False
        self._undecided: list[_Undecided] = []
        self._lock = threading.Lock()  # a client that has gone leaves its view behind in a thread

    def add(self, part: Decision, held: bool) -> None:
        self._undecided.append(_Undecided(part, held))

    def answered(self, status: int | None) -> Due:
        """What this answer makes count, or not: of requests that passed, since a refused one costs nothing."""
        with self._lock:
            self._answered = True
            return self._due(status)

    def failed(self) -> list[Decision]:
        """A login has failed. What that makes count, if the answer is out already."""
        with self._lock:
            self.login_failed = True
            return self._due(None).charges if self._answered else []

    def _due(self, status: int | None) -> Due:
        due, left = Due([], []), []
        for each in self._undecided:
            part, count_when = each.part, each.part.made_by.count_when
            counts = count_when is not None and count_when.counts(status, self.login_failed)
            if part.outcome != "passed":
                left.append(each)
            elif counts and not each.held:
                due.charges.append(part)
            elif not counts:
                if each.held and part.check is not None:
                    due.refunds.extend(part.refunds(part.check.cost, with_later=False))
                left.append(each._replace(held=False))  # a login may fail later
        self._undecided = left
        return due


def defer(visit: Visit, decision: Decision) -> None:
    """Remember which rules of this decision count the request only by its answer."""
    for part, held in _waiting(decision):
        if visit.deferred is None:
            visit.deferred = _Deferred(visit.login_failed)
            _in_context.set(visit.deferred)
        visit.deferred.add(part, held)


def due(decision: Decision, status: int) -> Due:
    """What an answer of this status, which is known by now, makes of a decision."""
    deferred = _Deferred(login_failed=False)
    for part, held in _waiting(decision):
        deferred.add(part, held)
    return deferred.answered(status)


def _waiting(decision: Decision) -> Iterator[tuple[Decision, bool]]:
    """The rules that wait for the answer, and whether each has charged the request."""
    for part in decision.decisions:
        rule = part.made_by
        if rule is not None and rule.count_when is not None and (held := _is_held(part)) is not None:
            yield part, held


def _is_held(part: Decision) -> bool | None:
    """Whether the rule has charged the request; None if nothing waits for the answer: what was counted in this process,
    without Redis, stays counted."""
    if part.check is None:
        return None
    if part.check.only_looks or not part.windows:
        return False
    return True if max(answer.charged_at_ms for answer in part.windows) >= 0 else None


def count(visit: Visit, status: int | None) -> Steps[None]:
    """Charge what an answer of this status makes count, and refund what it does not; None if there is no answer."""
    deferred: _Deferred = visit.deferred
    if _in_context.get() is deferred:
        _in_context.set(deferred.outer)
    charges, refunds = deferred.answered(status)
    if charges:
        decision = yield from charge_later.charge(charges, visit.waited)
        # Code may have asked for a rule by name meanwhile: then its decision stands for the rule, and shows what is left.
        now = {(part.rule, part.mode): part for part in visit.decision.decisions}
        charge_later.show([now.get((part.rule, part.mode), part) for part in charges], decision)
        visit.review()
    if refunds:
        unanswered = yield from charge_later.refund(refunds, visit.waited, forget=False)
        if not unanswered.cause:
            charge_later.show_refunded(visit.decision.decisions, refunds)
            visit.review()


def status_of(error: BaseException) -> int | None:
    """What Django answers when a view raises this; None if nobody is there to be answered, or a limit refuses."""
    if isinstance(error, Http404):
        return 404
    if isinstance(error, PermissionDenied):
        return 403
    if isinstance(error, SuspiciousOperation | BadRequest | MultiPartParserError):
        return 400
    return 500 if isinstance(error, Exception) and not isinstance(error, RateLimited) else None


def _login_failed(sender: Any, request: Any = None, **_: Any) -> None:
    """The request may be the one that REST framework wraps around Django's, or another than that of our guard."""
    deferred = None
    if request is not None:
        request = getattr(request, "_request", request)
        visit = getattr(request, "_ratewindow", None)
        if visit is None:
            with suppress(AttributeError):  # some senders give what is not a request
                visit = request._ratewindow = Visit()  # for a guard that the request is still to meet
        if visit is not None:
            visit.login_failed, deferred = True, visit.deferred
    deferred = deferred or _in_context.get()
    if deferred is not None and (due := deferred.failed()):
        run(charge_later.charge(due, decide.waited(due)))


def connect() -> None:
    """Listen for logins that fail; called once, when Django starts."""
    user_login_failed.connect(_login_failed, dispatch_uid="ratewindow.request.count_by_answer")
