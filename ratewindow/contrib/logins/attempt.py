"""Attempts to log in: who is tried by whom in which request, until it is known how each ends.

Django's ``authenticate()`` asks the gate before any other backend, says by a signal that all have failed, and sets ``backend`` of
the user if one has not. An attempt of which it says neither, since a backend has raised an exception, counts as a failure. Where
nobody can see that ``backend`` is set, one that has not failed was right.
"""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from itertools import chain, islice
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
sees_success = True  # not with a user model that has a `backend` of its own


class Attempt:
    """A name that is tried in a request, and its accounts: nearly always one or none. Those of several differ in case alone.

    `counted_as` is the known device, or the trusted address, by which it is counted; empty for a stranger. An address is trusted
    for one account alone, or for a name without any, unless `is_shared`: by more accounts than are told apart.
    """

    def __init__(
        self, request: HttpRequest, name: str, device: str, accounts: Sequence[Any] = (), is_shared: bool = False
    ) -> None:
        self.request, self.name, self.counted_as, self.accounts, self.address = request, name, device, accounts, ip(request)
        self.failures = 0  # that were counted of this name before
        self.counts = sees_success  # unless the password was right, or none was checked
        self.user: Any = None  # once the password was right
        self.refused: Decision | None = None
        self.visit: Visit | None = None  # once it has passed
        is_one = len(accounts) <= 1 and not is_shared
        self.trust = trust.flag_of(accounts[0] if accounts else None, name, self.address) if is_one else None

    @property
    def is_at_device(self) -> bool:
        """Whether it comes from a known device; a trusted address is none."""
        return self.counted_as not in ("", self.address)

    def make_current(self) -> None:
        """Let the keys of rules be about this attempt, which others may run beside."""
        _current.set(self)

    def learn(self, decision: Decision) -> None:
        """Learn how many failures of this name were counted before."""
        parts = (part for part in decision.parts if part.made_by is not None and part.made_by.key == NAME_KEY)
        self.failures = max((_used(part) for part in parts), default=self.failures)

    def defer(self, visit: Visit, decision: Decision) -> None:
        """Let it go on, and charge or refund it when it is known how it ends. What counts every attempt stays charged, whatever
        refuses later in the request."""
        self.visit = visit
        visit.add(decision)
        for part in decision.parts:
            part.by_code = part.by_code or part.made_by.count_when is None
        count_by_answer.defer(visit, decision, self)

    def flag(self) -> Flag | None:
        """The key that says that the address is trusted, if it is to be set. A browser that is a known device needs no trust."""
        if self.trust is None or self.user is None or self.is_at_device or trust.is_fresh(self.trust):
            return None
        return self.trust

    def flagged(self) -> None:
        if self.trust is not None:
            trust.remember(self.trust)

    def is_trusted(self) -> bool:
        """Whether the account has lately logged in from this address."""
        return self.trust is not None and trust.is_trusted(self.trust)


class Pending(NamedTuple):
    """One call of ``authenticate()`` that has not failed yet, with an attempt for each account that it may be about."""

    request: HttpRequest
    credentials: Mapping[str, Any]  # with an empty password
    attempts: Sequence[Attempt]


_request: ContextVar[HttpRequest | None] = ContextVar("ratewindow_login_request", default=None)
_current: ContextVar[Attempt | None] = ContextVar("ratewindow_login", default=None)
_pending: ContextVar[Sequence[Pending]] = ContextVar("ratewindow_logins", default=())


def _used(part: RuleDecision) -> int:
    held = part.check.cost if part.check is not None and part.counts and not part.check.only_looks else 0
    return max((answer.window.limit - answer.remaining - held for answer in part.windows), default=0)


def keep(request: HttpRequest, credentials: Mapping[str, Any], attempts: Sequence[Attempt]) -> None:
    """Keep the attempts of one call of ``authenticate()`` until it fails, or another request begins."""
    others = [each for each in _pending.get() if each.request is request]
    _pending.set((*others, Pending(request, credentials, attempts)))


def pop_failed(credentials: Mapping[str, Any]) -> Sequence[Attempt]:
    """The attempts of the call that has just failed: the last with these credentials, of which Django hides what is secret. It
    need not be the last of all, as a backend may have asked ``authenticate()`` about others meanwhile. A backend may also have
    set ``backend`` of a user before it has checked the password."""
    pending = _pending.get()
    failed = next((each for each in reversed(pending) if _are_the_same(each.credentials, credentials)), None)
    if failed is None:
        return ()
    _pending.set([each for each in pending if each is not failed])
    wrong: Sequence[Attempt] = failed.attempts
    for attempt in wrong:
        attempt.counts, attempt.user = True, None
    return wrong


def mark_right(user: Any) -> None:
    """The last call that may have been about this user has found its password right. Another account that it may have been about
    was guessed at all the same."""
    pending = [each for each in reversed(_pending.get()) if all(attempt.user is None for attempt in each.attempts)]
    of_user = (each for each in pending if any(_is_of(attempt, user) for attempt in each.attempts))
    unknown = (each for each in pending if [list(attempt.accounts) for attempt in each.attempts] == [[]])
    for call in islice(chain(of_user, unknown), 1):
        for attempt in call.attempts:
            if not attempt.accounts or _is_of(attempt, user):
                attempt.counts, attempt.user = False, user


def _is_of(attempt: Attempt, user: Any) -> bool:
    """A model may be the parent of that of users."""
    same = (account for account in attempt.accounts if isinstance(account, type(user)) or isinstance(user, type(account)))
    return any(account.pk == user.pk for account in same)


def _are_the_same(given: Mapping[str, Any], told: Mapping[str, Any]) -> bool:
    """By identity, too: not everything equals itself."""
    return given.keys() == told.keys() and all(
        value is given[name] or value == given[name] or _is_hidden(value) for name, value in told.items()
    )


def _is_hidden(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and not value.strip("*")


def note(attempt: Attempt) -> None:
    """Keep what the end of the request asks for."""
    vars(attempt.request).setdefault(_ATTEMPTS, []).append(attempt)


def noted(request: HttpRequest) -> Sequence[Attempt]:
    """The attempts of this request, in their order."""
    return [*vars(request).get(_ATTEMPTS, ())]


def attempt_of(request: HttpRequest) -> Attempt | None:
    """What the keys of a rule are about."""
    current = _current.get()
    return current if current is not None and current.request is original(request) else None


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
