"""The answer to a refused request: a page, text or problem+json, whichever the client prefers, and who else is told."""

import json
import logging
from collections.abc import Sequence
from typing import NamedTuple

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from ratewindow import site_functions
from ratewindow.limiter.types import Decision
from ratewindow.models import RateRule
from ratewindow.request import problem_json, refusal_page
from ratewindow.request.headers import retry_after_s
from ratewindow.rulebook import current
from ratewindow.signals import throttled

logger = logging.getLogger("ratewindow.refusals")

# Text comes first: it is what a client gets that has no preference, but for a page that the site's code makes.
_TYPES = ("text/plain", "text/html", "application/problem+json", "application/json")
_PAGE_FIRST = ("text/html", "text/plain", "application/problem+json", "application/json")


class _Told(NamedTuple):
    """What each form of the answer says."""

    decision: Decision
    status: int
    is_busy: bool  # it is about us, not about the client
    title: str
    message: str  # the rule's own
    wait_s: int | None

    @property
    def detail(self) -> str:
        return self.message or _sentence(self)


def refusal(request: HttpRequest, decision: Decision, barring: Sequence[Decision] = ()) -> HttpResponseBase:
    """The answer, with an exact Retry-After unless waiting does not help: 429 or what the rule says, 503 where we are to
    blame. `barring` are the decisions that the next request needs, too. What the site's own page does wrong is told to
    the log, and the client gets text."""
    log_refusal(decision, request)
    told, form = _told(decision, barring), _form(request, decision)
    try:
        response = _FORMS[form](request, told)
        if site_functions.failing and form in _BY_SITE:
            site_functions.worked("refusal page", form)
    except Exception as error:
        site_functions.failed(
            "refusal page", form, error, "who is refused gets plain text", [decision.rule] if decision.rule else []
        )
        response = _plain(told._replace(status=503 if told.is_busy else 429, message=""))
    if told.wait_s is not None:
        response.headers.setdefault("Retry-After", str(told.wait_s))
    response.headers.setdefault("Cache-Control", "no-store")
    leave_log_to_ours(response)
    return _without_body(response) if request.method == "HEAD" else response


async def arefusal(request: HttpRequest, decision: Decision, barring: Sequence[Decision] = ()) -> HttpResponseBase:
    """`refusal` on the event loop; a page goes to a thread, since the site's context processors may ask the database."""
    if _form(request, decision) in _BY_SITE:
        return await sync_to_async(refusal)(request, decision, barring)
    return refusal(request, decision, barring)


def status_of(decision: Decision) -> int:
    """The status of the answer to a refused request."""
    if decision.reason in problem_json.OURS:
        return 503
    rule = current.held().by_name.get(decision.rule)
    # A row in shadow has not refused: the rate in code beside it has.
    return rule.response_status if rule is not None and rule.mode == "enforce" else 429


def words_of(decision: Decision) -> str:
    """What a refused client should read where it is more than that it asked too often; else empty."""
    told = _told(decision)
    return told.detail if told.message or told.is_busy or decision.reason == "block" else ""


def log_refusal(decision: Decision, request: HttpRequest) -> None:
    """One line for each refused request, with the code that its answer carries; a formatter finds more in the record."""
    extra = {"request": request, "decision": decision}
    logger.info("refused %s by rule %s: %s", decision.id, decision.rule, decision.reason, extra=extra)


def leave_log_to_ours(response: HttpResponseBase) -> None:
    """Keep Django from logging each refusal as a warning of ``django.request``, or as an error: a flood is no news."""
    response._has_been_logged = True  # type: ignore[attr-defined]  # Django's own mark


def announce(request: HttpRequest, decision: Decision) -> None:
    """Tell whoever listens to `throttled` of a refused request; what a listener raises is logged by Django."""
    if throttled.has_listeners(RateRule):
        throttled.send_robust(RateRule, request=request, decision=decision)


async def aannounce(request: HttpRequest, decision: Decision) -> None:
    """`announce`, awaited."""
    if throttled.has_listeners(RateRule):
        await throttled.asend_robust(RateRule, request=request, decision=decision)


def _told(decision: Decision, barring: Sequence[Decision] = ()) -> _Told:
    is_busy, rule = decision.reason in problem_json.OURS, current.held().by_name.get(decision.rule)
    message = rule.message if rule is not None and rule.mode == "enforce" and not is_busy else ""
    title = "The service is busy" if is_busy else "Access is blocked" if decision.reason == "block" else "Too many requests"
    return _Told(decision, status_of(decision), is_busy, title, message, retry_after_s(decision, barring))


def _form(request: HttpRequest, decision: Decision) -> str:
    """Which form of the answer this client prefers; a page of the site's code comes before text, as its other errors."""
    by_code = decision.reason not in problem_json.OURS and refusal_page.handler429(request) is not None
    types = _PAGE_FIRST if by_code else _TYPES
    try:
        preferred = request.get_preferred_type(types) or types[0]
    except (TypeError, ValueError):  # Django trips over some parameters, such as q*=unknown'en'1
        preferred = types[0]
    if preferred == "text/html":
        return "handler429" if by_code else "template"
    return "text" if preferred == "text/plain" else "problem"


def _by_handler(request: HttpRequest, told: _Told) -> HttpResponseBase:
    return refusal_page.by_handler(refusal_page.handler429(request), request, told.decision, told.status)


def _by_template(request: HttpRequest, told: _Told) -> HttpResponse:
    context = {
        **told._asdict(),
        "detail": told.detail,
        "retry_after_s": told.wait_s,
        "wait": _in_words(told.wait_s),
    }
    return HttpResponse(refusal_page.page(request, context, told.is_busy), status=told.status)


def _as_text(request: HttpRequest, told: _Told) -> HttpResponse:
    return _plain(told)


def _plain(told: _Told) -> HttpResponse:
    return HttpResponse(f"{told.detail}\n", status=told.status, content_type="text/plain; charset=utf-8")


def _as_problem(request: HttpRequest, told: _Told) -> HttpResponse:
    body = problem_json.problem(told.decision, told.status, told.title, told.detail)
    return HttpResponse(json.dumps(body), status=told.status, content_type="application/problem+json")


_FORMS = {"handler429": _by_handler, "template": _by_template, "text": _as_text, "problem": _as_problem}
_BY_SITE = ("handler429", "template")


def _without_body(response: HttpResponseBase) -> HttpResponseBase:
    """What HEAD gets: the header of the answer, with the length that its body would have."""
    if isinstance(response, HttpResponse):
        length = len(response.content)
        response.content = b""
        response.headers.setdefault("Content-Length", str(length))
    return response


def _in_words(wait_s: int | None) -> str:
    """``42 seconds``, or rounded up ``5 minutes``, ``3 hours``; nothing when waiting does not help."""
    if wait_s is None:
        return ""
    for unit_s, unit in ((3600, "hours"), (60, "minutes")):
        if wait_s > 2 * unit_s:
            return f"{-(-wait_s // unit_s)} {unit}"
    return _in_seconds(wait_s)


def _in_seconds(wait_s: int) -> str:
    return f"{wait_s} second{'' if wait_s == 1 else 's'}"


def _sentence(told: _Told) -> str:
    if told.wait_s is None:
        return f"{told.title}." if told.is_busy else f"{told.title}. Waiting does not help."
    return f"{told.title}. Try again in {_in_seconds(told.wait_s)}."
