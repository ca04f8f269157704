"""Rules that count by the answer: what was only checked before the view is charged after it if `count_when` says so, and
what was held before the view is refunded if not. With `forgive` a success also deletes what was counted before.

A login has failed or succeeded during a request if Django's signal says so: with the request, or without one in its context.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.http import Http404
from django.http.multipartparser import MultiPartParserError

from ratewindow.exceptions import RateLimited
from ratewindow.limiter.types import Decision, Flag, Refunds, RuleDecision
from ratewindow.request import without_redis
from ratewindow.request.decide import Steps
from ratewindow.request.late_charges import charge, forgive, show
from ratewindow.request.visit import Visit

_in_context: ContextVar[Visit | None] = ContextVar("ratewindow_waiting", default=None)


class Login(Protocol):
    """One login during a request, of which there may be several: rules about logins count each by its own end."""

    counts: bool  # as a failed one
    user: Any  # who has logged in, else None

    def flag(self) -> Flag | None:
        """The key to set if it has not failed: in one call with its refund."""

    def flagged(self) -> None:
        """Called once that key is set."""


class Waiting(NamedTuple):
    part: RuleDecision
    is_held: bool  # the rule has charged the request before the view
    attempt: Login | None = None


def defer(visit: Visit, decision: Decision, attempt: Login | None = None) -> None:
    """Remember which rules of this decision count the request only by its answer, or by how the attempt ends."""
    if those := [*waiting(decision, attempt)]:
        visit.deferred = [*(visit.deferred or ()), *those]
        if attempt is None:
            _in_context.set(visit)


def waiting(decision: Decision, attempt: Login | None = None) -> Iterator[Waiting]:
    """The rules of this decision that wait for the answer."""
    for part in decision.parts:
        rule = part.made_by
        if rule is not None and rule.count_when is not None and part.check is not None:
            only_looked = part.check.only_looks or not part.windows
            if only_looked or part.here or max(answer.charged_at_ms for answer in part.windows) >= 0:
                yield Waiting(part, not only_looked, attempt)


def due(
    waiting: Iterable[Waiting], status: int | None, login_failed: bool = False, is_left: bool = False
) -> tuple[list[RuleDecision], Refunds]:
    """What to charge and to refund of requests that passed, since a refused one costs nothing. If the view was left before its
    end, what was held stays charged: what it still does, in a thread, may count. What was counted in this process, without Redis,
    is refunded here."""
    charges: list[RuleDecision] = []
    refunds: Refunds = []
    for part, held, attempt in waiting:
        count_when = part.made_by.count_when if part.made_by is not None and part.counts else None
        counts = count_when is not None and count_when.counts(status, login_failed if attempt is None else attempt.counts)
        if counts and not held:
            charges.append(part)
        elif held and not counts and not is_left and part.counts and part.check is not None:
            without_redis.refund_here(part)
            refunds = [*refunds, *part.refunds(part.check.cost, with_others=False)]
    return charges, refunds


def fail(visit: Visit, attempt: Login) -> Steps[None]:
    """Charge at once what counts an attempt that has failed, and keep what has: no refusal later in the request refunds it."""
    ended: list[Waiting] = []
    others: list[Waiting] = []
    for each in visit.deferred or ():
        rule = each.part.made_by
        (ended if each.attempt is attempt and rule.count_when.login_failed else others).append(each)
    visit.deferred = others or None
    for each in ended:
        each.part.by_code = True
    yield from _charge(visit, [each.part for each in ended if not each.is_held and each.part.counts])


def _charge(visit: Visit, parts: list[RuleDecision]) -> Steps[None]:
    if parts:
        decision = yield from charge(parts, visit.decision)
        # Code may have asked for a rule by name meanwhile: then its decision stands for the rule, and shows what is left.
        now = {(part.rule, part.mode): part for part in visit.decision.parts}
        show([now.get((part.rule, part.mode), part) for part in parts], decision)


def count(visit: Visit, status: int | None, is_left: bool = False) -> Steps[None]:
    """Charge what an answer of this status makes count, and refund what it does not; None if there is no answer."""
    those, visit.deferred = visit.deferred, None
    if _in_context.get() is visit:
        _in_context.set(None)
    charges, refunds = due(those, status, visit.login_failed, is_left)
    yield from _charge(visit, charges)
    attempts = (each.attempt for each in those if each.attempt is not None)
    attempt, flag = next(((each, flag) for each in attempts if (flag := each.flag())), (None, None))
    if (refunds or flag) and (yield from visit.refund_uncounted(refunds, flag)) and attempt is not None:
        attempt.flagged()
    if forgiven := [each.part for each in those if _forgives(each, visit, status)]:
        yield from forgive(forgiven, visit.decision)
    visit.review()


def _forgives(waiting: Waiting, visit: Visit, status: int | None) -> bool:
    """Whether the request is a success that the rule has let pass. That no login has failed is none: none may have been tried."""
    rule, attempt = waiting.part.made_by, waiting.attempt
    if not rule.forgive or waiting.part.outcome != "passed" or status is None:
        return False
    if rule.count_when.login_failed:
        return visit.logged_in and not visit.login_failed if attempt is None else attempt.user is not None
    return status < 400 and not rule.count_when.counts(status, False)


def count_error(visit: Visit, error: BaseException) -> Steps[None]:
    """`count` for a view that raised this: an Exception, or what ends its task because the client has gone."""
    return count(visit, status_of(error), is_left=not isinstance(error, Exception))


_STATUSES: dict[Any, int] = {Http404: 404, PermissionDenied: 403, (SuspiciousOperation, BadRequest, MultiPartParserError): 400}


def status_of(error: BaseException) -> int | None:
    """What Django answers when a view raises this; None if nobody is there to be answered, or a limit refuses."""
    other = 500 if isinstance(error, Exception) and not isinstance(error, RateLimited) else None
    return next((status for kinds, status in _STATUSES.items() if isinstance(error, kinds)), other)


def _login_ended(sender: Any, signal: Any, request: Any = None, **_: Any) -> None:
    """The request may be the one that REST framework wraps around Django's, or another than that of our guard."""
    ended = "login_failed" if signal is user_login_failed else "logged_in"
    if (visit := _in_context.get()) is not None:
        setattr(visit, ended, True)
    request = getattr(request, "_request", request)
    with suppress(AttributeError):  # some senders give none, or what is not a request
        if not hasattr(request, "_ratewindow"):
            request._ratewindow = Visit()  # for a guard that the request is still to meet
        setattr(request._ratewindow, ended, True)


def connect() -> None:
    """Listen for logins that fail or succeed; called once, when Django starts."""
    for signal in (user_login_failed, user_logged_in):
        signal.connect(_login_ended, dispatch_uid="ratewindow.request.count_by_answer")
