"""Attempts to log in: who is tried by whom in which request, until it is known how each ends.

Django's ``authenticate()`` asks the gate before any other backend, says by a signal that all have failed, and says nothing of a
success. So an attempt that the gate lets pass is charged at once, and refunded at the end of the request unless it has failed.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from django.http import HttpRequest

from ratewindow.contrib.logins import trust
from ratewindow.identity import original
from ratewindow.identity.address import ip
from ratewindow.limiter.types import Decision, Flag, RuleDecision
from ratewindow.request import count_by_answer, visit
from ratewindow.request.visit import Visit

NAME_KEY = "login"  # the key that counts each name that is tried
_ATTEMPTS = "_ratewindow_logins"
_OUTER = "_ratewindow_outer"
_FORGIVEN = "_ratewindow_login_forgiven"


class Attempt:
    """A name that is tried in a request, and the primary key of its account, if there is one. `device` is the known device that
    tries it, or empty; an address that is trusted for the account is one.

    `is_sure` is false where something in the request has failed, or several names were given: the backend may use any.
    """

    def __init__(self, request: HttpRequest, name: str, device: str, account: Any = None) -> None:
        self.request, self.name, self.device, self.address = request, name, device, ip(request)
        self.failures = 0  # that were counted of this name before
        self.is_sure = True
        self.refused: Decision | None = None
        self.visit: Visit | None = None  # once it has passed
        self.trust = None if account is None else trust.flag_of(account, self.address)

    def concern(self) -> None:
        """Let the keys of rules be about this attempt, which others may run beside."""
        _concerned.set(self)

    def passed(self, visit: Visit, decision: Decision) -> None:
        """Wait for how it ends. What counts every attempt stays charged, whatever refuses later in the request."""
        self.visit = visit
        visit.add(decision)
        for part in decision.parts:
            part.by_code = part.by_code or part.made_by.count_when is None
        count_by_answer.defer(visit, decision, self)
        self.failures = max((_used(part) for part in decision.parts if part.made_by.key == NAME_KEY), default=0)

    def flag(self, status: int) -> Flag | None:
        """Trust the address for a while, since no failure was signalled and the answer is no error."""
        sets = self.trust is not None and status < 400 and self.is_sure and not trust.is_fresh(self.trust)
        return self.trust if sets else None

    def flagged(self) -> None:
        if self.trust is not None:
            trust.note(self.trust)

    def is_trusted(self) -> bool:
        """Whether the account has lately logged in from this address."""
        return self.trust is not None and trust.is_trusted(self.trust)


class Pending(NamedTuple):
    """One call of ``authenticate()`` that has not failed yet, with an attempt for each name that it was given."""

    request: HttpRequest
    credentials: Mapping[str, Any]  # without the password
    attempts: Sequence[Attempt]


_request: ContextVar[HttpRequest | None] = ContextVar("ratewindow_login_request", default=None)
_concerned: ContextVar[Attempt | None] = ContextVar("ratewindow_login", default=None)
_pending: ContextVar[Sequence[Pending]] = ContextVar("ratewindow_logins", default=())


def _used(part: RuleDecision) -> int:
    held = part.check.cost if part.check is not None and not part.check.only_looks else 0
    return max((answer.window.limit - answer.remaining - held for answer in part.windows), default=0)


def wait(request: HttpRequest, credentials: Mapping[str, Any], attempts: Sequence[Attempt]) -> None:
    """Wait for the failure of these attempts, or for the end of the request."""
    others = [each for each in _pending.get() if each.request is request]
    _pending.set((*others, Pending(request, credentials, attempts)))


def failed(credentials: Mapping[str, Any]) -> Iterator[Attempt]:
    """The attempts of the call that has just failed: the last with these credentials, of which Django hides what is secret. A
    backend may have asked ``authenticate()`` about others meanwhile."""
    pending = [*_pending.get()]
    for attempt in (attempt for each in pending for attempt in each.attempts):
        attempt.is_sure = False
    while pending and _are_the_same(pending[-1].credentials, credentials):
        yield from pending.pop().attempts
    _pending.set(pending)


def _are_the_same(given: Mapping[str, Any], told: Mapping[str, Any]) -> bool:
    return given.keys() == told.keys() and all(value == given[name] or _is_hidden(value) for name, value in told.items())


def _is_hidden(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and not value.strip("*")


def note(attempt: Attempt) -> None:
    """Keep what the end of the request asks for."""
    vars(attempt.request).setdefault(_ATTEMPTS, []).append(attempt)


def noted(request: HttpRequest) -> Sequence[Attempt]:
    """The attempts of this request, in their order."""
    found: Sequence[Attempt] = vars(request).get(_ATTEMPTS, ())
    return found


def attempt_of(request: HttpRequest) -> Attempt | None:
    """What the keys of a rule are about."""
    concerned = _concerned.get()
    return concerned if concerned is not None and concerned.request is original(request) else None


def watch(request: HttpRequest) -> None:
    """Know the request, whose view may call ``authenticate()`` without it; and the one around it, if a view has sent it."""
    outer = _request.get()
    if outer is not None and outer is not request and visit.of(outer).is_open:
        vars(request)[_OUTER] = outer
    _request.set(request)


def request_of(given: Any) -> HttpRequest | None:
    """The request that is going on, whatever is given; else the one that is given, if it is one of Django's or wraps it."""
    around = _request.get()
    while around is not None and not visit.of(around).is_open:
        around = vars(around).get(_OUTER)
    given = original(given)
    return around or (given if isinstance(given, HttpRequest) else None)


def forgive(request: HttpRequest) -> None:
    """Let the next login of this request pass whatever the limits say, since a captcha or a mailed link has shown who asks. A
    failure counts as far as the limits have room, and blocks hold."""
    setattr(original(request), _FORGIVEN, True)


def is_forgiven(request: HttpRequest) -> bool:
    return getattr(request, _FORGIVEN, False)


def end_forgiving(request: HttpRequest) -> None:
    """One captcha is one guess."""
    vars(request).pop(_FORGIVEN, None)
