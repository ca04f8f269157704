"""How attempts end: what follows a failure, a login that succeeds, and the answer of a request, which may make a device known."""

from collections.abc import Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.http import HttpRequest, HttpResponseBase

from ratewindow import conf
from ratewindow.contrib.logins import attempt as attempts, devices, reset_links, steps
from ratewindow.contrib.logins.signals import MANY_FAILURES, suspicious_login
from ratewindow.contrib.logins.targets import CHANGES
from ratewindow.identity.typed_values import normalised
from ratewindow.limiter.types import Decision
from ratewindow.request import count_by_answer, refusal, visit
from ratewindow.request.decide import Steps, run
from ratewindow.request.headers import retry_after_s

_LOGGED_IN = "_ratewindow_logged_in"


def connect() -> None:
    """Know the requests, and how attempts end; called once, when Django starts."""
    visit.watch, visit.watch_answer = attempts.watch, _on_answer
    user_login_failed.connect(_on_failure, dispatch_uid="ratewindow.contrib.logins")
    user_logged_in.connect(_on_login, dispatch_uid="ratewindow.contrib.logins")


def _on_failure(sender: Any, credentials: Mapping[str, Any] | None = None, **_: Any) -> None:
    for attempt in attempts.failed(credentials or {}):
        if attempt.visit is not None:
            run(count_by_answer.fail(attempt.visit, attempt))


def _on_login(sender: Any, request: Any = None, user: Any = None, **_: Any) -> None:
    if user is None or (around := attempts.request_of(request)) is None:
        return
    setattr(around, _LOGGED_IN, user)
    name = normalised(user.get_username())
    attempt = next((each for each in reversed(attempts.noted(around)) if each.name == name), None)
    if attempt is not None and not attempt.device and attempt.failures >= MANY_FAILURES:
        suspicious_login.send_robust(type(user), user=user, request=around, failures=attempt.failures)


def _on_answer(request: HttpRequest, response: HttpResponseBase) -> Steps[None]:
    if not conf.current().enabled:
        return
    if refused := [each.refused for each in attempts.noted(request) if each.refused is not None]:
        _complete(request, response, refused[-1])
    user = getattr(request, _LOGGED_IN, None)
    if user is None and (match := request.resolver_match) is not None:
        if reset_links.view_for_links(match.func):
            user = yield reset_links.owner, sync_to_async(reset_links.owner), request, response
        elif devices.COOKIE in request.COOKIES and steps.is_step(CHANGES, request):
            user = yield _changed, sync_to_async(_changed), request, response
    if user is not None:
        devices.remember(response, request, normalised(user.get_username()), user)


def _complete(request: HttpRequest, response: HttpResponseBase, refused: Decision) -> None:
    """Log a refusal that a framework has answered, and say when to come back where it has not."""
    if not getattr(response, "_has_been_logged", False):
        refusal.log_refusal(refused, request)
    if response.status_code == 429:
        refusal.add_headers(response, retry_after_s(refused))


def _changed(request: HttpRequest, response: HttpResponseBase) -> Any:
    """The user whose password this request has changed, at a device that was known until then. A form that is shown again has
    failed."""
    if response.status_code != 302 and (response.status_code >= 300 or hasattr(response, "context_data")):
        return None
    user = getattr(request, "user", None)
    return user if user is not None and user.is_authenticated and devices.is_outdated(request, user) else None
