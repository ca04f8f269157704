"""How attempts end: what follows a failure, a login that succeeds, and the answer of a request, which may make a device known.

A device becomes known to an account by a login, by opening a valid link that resets the password, and by setting it.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.db.models.signals import post_save
from django.http import HttpRequest, HttpResponseBase

from ratewindow import conf
from ratewindow.contrib.logins import attempt as attempts, devices, steps
from ratewindow.contrib.logins.gate import is_watched
from ratewindow.contrib.logins.signals import MANY_FAILURES, suspicious_login
from ratewindow.contrib.logins.targets import CODES, RESETS
from ratewindow.limiter.types import Decision
from ratewindow.request import count_by_answer, refusal, visit, without_redis
from ratewindow.request.decide import Steps, run
from ratewindow.request.headers import retry_after_s

_OWNER = "_ratewindow_owner"  # the user whose account this request has proved to own
_LOGGED_IN = "_ratewindow_logged_in"


def connect() -> None:
    """Know the requests, and how attempts end; called once, when Django starts."""
    visit.watch, visit.watch_answer = attempts.watch, _on_answer
    user_login_failed.connect(_on_failure, dispatch_uid="ratewindow.contrib.logins")
    user_logged_in.connect(_on_login, dispatch_uid="ratewindow.contrib.logins")
    post_save.connect(_on_save, sender=settings.AUTH_USER_MODEL, dispatch_uid="ratewindow.contrib.logins")


def _on_failure(sender: Any, credentials: Mapping[str, Any] | None = None, **_: Any) -> None:
    for attempt in attempts.pop_failed(credentials or {}):
        if attempt.visit is not None:
            run(count_by_answer.fail(attempt.visit, attempt))


def _on_login(sender: Any, request: Any = None, user: Any = None, **_: Any) -> None:
    if user is not None and (around := attempts.request_of(request)) is not None:
        if not is_watched(user):
            attempts.mark_right(user)
        setattr(around, _OWNER, user)
        setattr(around, _LOGGED_IN, True)


def _on_save(sender: Any, instance: Any, created: bool = False, **_: Any) -> None:
    """Django keeps the password that was set until it is saved. Whoever sets that of another account, such as staff, is not its
    owner; nor is whoever signs up, or has a new password mailed: a cookie would tell whether somebody has that name."""
    if created or getattr(instance, "_password", None) is None or (around := attempts.request_of(None)) is None:
        return
    user = getattr(around, "user", None)
    is_anonymous = not getattr(user, "is_authenticated", False)
    if (is_anonymous or getattr(user, "pk", None) == instance.pk) and not steps.is_step(RESETS, around):
        setattr(around, _OWNER, instance)


def _on_answer(request: HttpRequest, response: HttpResponseBase) -> Steps[None]:
    if not conf.current().enabled:
        return
    tried = attempts.noted(request)
    if refused := [each.refused for each in tried if each.refused is not None]:
        _complete(request, response, refused[-1])
    for each in tried:
        if each.user is not None and not each.is_at_device and each.failures >= MANY_FAILURES:
            told = {"user": each.user, "request": request, "failures": each.failures}
            yield partial(suspicious_login.send_robust, **told), partial(suspicious_login.asend_robust, **told), type(each.user)
    if getattr(request, _LOGGED_IN, False) and response.status_code < 400 and not any(each.user for each in tried):
        yield from _refund_codes(visit.of(request))
    yield from _remember(request, response)


def _refund_codes(seen: visit.Visit) -> Steps[None]:
    """A code that logs somebody in, without a password, was right, and does not count."""
    parts = [part for part in seen.decision.parts if part.made_by is not None and part.made_by.applies_to == CODES]
    refunds = [each for part in parts if part.check is not None for each in part.refunds(part.check.cost, with_others=False)]
    for part in parts:
        without_redis.refund_here(part)
    if refunds:
        yield from seen.refund_uncounted(refunds)


def _remember(request: HttpRequest, response: HttpResponseBase) -> Steps[None]:
    """Make the device known to whoever has proved to own an account. Another site can make a browser post a form without the
    cookie, so such an answer sets none. It can also make it open links, so a link pushes out no other account."""
    owner, by_link = getattr(request, _OWNER, None), _owner_of_link(response)
    is_cross_site = request.headers.get("Sec-Fetch-Site") == "cross-site" and request.method == "POST"
    if (owner or by_link) is not None and not is_cross_site:
        yield devices.remember, sync_to_async(devices.remember), response, request, owner or by_link, owner is not None


def _owner_of_link(response: HttpResponseBase) -> Any:
    """Django's page for a link that resets a password says whether the link is valid, and its view whose it is."""
    context = getattr(response, "context_data", None) or {}
    return getattr(context.get("view"), "user", None) if context.get("validlink") else None


def _complete(request: HttpRequest, response: HttpResponseBase, refused: Decision) -> None:
    """Log a refusal that a framework has answered, and say when to come back where it has not."""
    if not getattr(response, "_has_been_logged", False):
        refusal.log_refusal(refused, request)
    if response.status_code == 429:
        refusal.add_headers(response, retry_after_s(refused))
