"""The answer to a refused request: 429 as a page, as text or as problem+json, whichever the client prefers."""

import json
import logging

from asgiref.sync import sync_to_async
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.templatetags.static import static

from ratewindow.headers import retry_after_s
from ratewindow.limiter.types import Decision

logger = logging.getLogger("ratewindow.refusals")

# Text comes first: it is what a client gets that has no preference.
_TYPES = ("text/plain", "text/html", "application/problem+json", "application/json")
_OURS = ("store", "function")  # reasons of a refusal that no client has deserved
_PROBLEM_TYPES = "https://iana.org/assignments/http-problem-types"


def refusal(request: HttpRequest, decision: Decision) -> HttpResponse:
    """429 Too Many Requests with an exact Retry-After, unless waiting does not help; 503 where we are to blame."""
    log_refusal(decision)
    wait_s, preferred, status = retry_after_s(decision), _preferred(request), status_of(decision)
    away = status == 503
    if preferred == "text/html":
        told = {
            "decision": decision,
            "away": away,
            "title": "The service is busy" if away else "Too many requests",
            "retry_after_s": wait_s,
            "wait": _in_words(wait_s),
            "stylesheet": _stylesheet(),
        }
        page = render_to_string("ratewindow/429.html", told, request)
        response = HttpResponse(page, status=status)
    elif preferred == "text/plain":
        response = HttpResponse(f"{_sentence(wait_s, away)}\n", status=status, content_type="text/plain; charset=utf-8")
    else:
        problem = _unable(decision, wait_s) if away else _problem(decision, wait_s)
        response = HttpResponse(json.dumps(problem), status=status, content_type="application/problem+json")
    if wait_s is not None:
        response["Retry-After"] = str(wait_s)
    response["Cache-Control"] = "no-store"
    return response


def status_of(decision: Decision) -> int:
    """The status of the answer to a refused request."""
    return 503 if decision.reason in _OURS else 429


def log_refusal(decision: Decision) -> None:
    """One line for each refused request, with the code that its answer carries."""
    logger.info("refused %s by rule %s: %s", decision.id, decision.rule, decision.reason)


async def arefusal(request: HttpRequest, decision: Decision) -> HttpResponse:
    """`refusal` on the event loop; a page goes to a thread, since the site's context processors may ask the database."""
    if _preferred(request) == "text/html":
        return await sync_to_async(refusal)(request, decision)
    return refusal(request, decision)


def _preferred(request: HttpRequest) -> str:
    try:
        return request.get_preferred_type(_TYPES) or "text/plain"
    except (TypeError, ValueError):  # Django trips over some parameters, such as q*=unknown'en'1
        return "text/plain"


def _stylesheet() -> str:
    """The page's stylesheet, or nothing: a site without static files, or that has not collected ours, has its page."""
    try:
        return static("ratewindow/429.css")
    except (ImproperlyConfigured, ValueError):
        return ""


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


def _sentence(wait_s: int | None, away: bool = False) -> str:
    if away:
        return f"The service is busy. Try again in {_in_seconds(wait_s or 1)}."
    if wait_s is None:
        return "Too many requests. Waiting does not help."
    return f"Too many requests. Try again in {_in_seconds(wait_s)}."


def _problem(decision: Decision, wait_s: int | None) -> dict[str, object]:
    """Problem details of RFC 9457, with the member that the rate limit headers draft defines."""
    violated = [
        part.rule if len(part.windows) == 1 else f"{part.rule}:{answer.window.text}"
        for part in decision.decisions
        if not part.allowed
        for answer in part.windows
        if answer.wait_ms
    ]
    return {
        "type": f"{_PROBLEM_TYPES}#{'abnormal-usage-detected' if decision.reason == 'penalty' else 'quota-exceeded'}",
        "title": "Too many requests",
        "status": 429,
        "detail": _sentence(wait_s),
        "violated-policies": violated or [decision.rule],
        "code": decision.id,
    }


def _unable(decision: Decision, wait_s: int | None) -> dict[str, object]:
    """Nobody asked too often: the limit could not be looked at."""
    return {
        "type": f"{_PROBLEM_TYPES}#temporary-reduced-capacity",
        "title": "The service is busy",
        "status": 503,
        "detail": _sentence(wait_s, away=True),
        "code": decision.id,
    }
