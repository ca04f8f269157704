"""The answer to a refused request: a page, text or problem+json, whichever the client prefers; the log line and signal of it.

Under an attack refused requests are all there is, so what does not change from one to the next is prepared or remembered.
"""

import json
import logging
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from ratewindow.conf import site_functions
from ratewindow.identity import privacy
from ratewindow.limiter.types import Decision
from ratewindow.models import RateRule
from ratewindow.request import problem_json, refusal_page
from ratewindow.request.headers import retry_after_s
from ratewindow.signals import throttled

logger = logging.getLogger("ratewindow.refusals")

# Text comes first, for clients without a preference, except before a page that the site's code makes.
_TYPES = ("text/plain", "text/html", "application/problem+json", "application/json")
_PAGE_FIRST = ("text/html", "text/plain", "application/problem+json", "application/json")
_LONGEST_REMEMBERED = 256  # characters of an Accept header: long ones are sent to fill the memory


class _Answer(NamedTuple):
    """What each form of the answer says."""

    decision: Decision
    status: int
    is_busy: bool  # it is about us, not about the client
    title: str
    message: str  # the rule's own
    wait_s: int | None

    @property
    def detail(self) -> str:
        return self.message or _sentence(self.title, self.is_busy, self.wait_s)


def refusal(request: HttpRequest, decision: Decision, blocking: Sequence[Decision] = ()) -> HttpResponseBase:
    """The answer, with an exact Retry-After unless waiting does not help: 429 or what the rule says, 503 if the fault is
    ours. `blocking` are the decisions that the next request needs, too. If the site's own page fails, that is logged, and
    the client gets text."""
    log_refusal(decision, request)
    answer, form = _answer(decision, blocking), _form(request, decision)
    try:
        response = _FORMS[form](request, answer)
        if site_functions.failing and form in _BY_SITE:
            site_functions.worked("refusal page", form)
    except Exception as error:
        rules = [decision.rule] if decision.rule else []
        site_functions.failed("refusal page", form, error, "refused clients get plain text", rules)
        response = _as_text(request, answer._replace(status=503 if answer.is_busy else 429, message=""))
    add_headers(response, answer.wait_s)
    leave_log_to_ours(response)
    return _without_body(response) if request.method == "HEAD" else response


async def arefusal(request: HttpRequest, decision: Decision, blocking: Sequence[Decision] = ()) -> HttpResponseBase:
    """`refusal` on the event loop; a page goes to a thread, since the site's context processors may ask the database."""
    if _form(request, decision) in _BY_SITE:
        return await sync_to_async(refusal)(request, decision, blocking)
    return refusal(request, decision, blocking)


def add_headers(response: HttpResponseBase, wait_s: int | None) -> None:
    """Add Retry-After, unless waiting does not help, and forbid to store the answer, unless the site's code has set them."""
    # As `response.headers.setdefault` does, without its checks of the values.
    store = response.headers._store
    if wait_s is not None:
        store.setdefault("retry-after", ("Retry-After", str(wait_s)))
    store.setdefault("cache-control", ("Cache-Control", "no-store"))


def status_of(decision: Decision) -> int:
    """The status of the answer to a refused request."""
    if decision.reason in problem_json.OURS:
        return 503
    rule = decision.made_by
    # A row in shadow has not refused: the rate in code beside it has.
    return rule.response_status if rule is not None and rule.mode == "enforce" else 429


def description_of(decision: Decision) -> str:
    """What a refused client should read if it is more than that it sent too many requests; else empty."""
    answer = _answer(decision)
    return answer.detail if answer.message or answer.is_busy or decision.reason == "block" else ""


def log_refusal(decision: Decision, request: HttpRequest) -> None:
    """One line for each refused request, with the code that its answer carries; a formatter finds more in the record."""
    if logger.isEnabledFor(logging.INFO):
        rule, check = decision.made_by, decision.check
        extra = {
            "request": request,
            "decision": decision,
            "rule": decision.rule,
            "reason": decision.reason,
            "code": decision.id,
            "key": rule.key if rule is not None else "",
            "identity": privacy.shown(check.identity) if check is not None and check.identity else "",
        }
        logger.info("refused %s by rule %s: %s", decision.id, decision.rule, decision.reason, extra=extra)


def leave_log_to_ours(response: HttpResponseBase) -> None:
    """Keep Django from logging each refusal as a warning of ``django.request``, or as an error: a flood is no news."""
    response._has_been_logged = True  # type: ignore[attr-defined]  # Django's own mark


def announce(request: HttpRequest, decision: Decision) -> None:
    """Send `throttled`; what a receiver raises is logged by Django."""
    if throttled.receivers:
        throttled.send_robust(RateRule, request=request, decision=decision)


async def aannounce(request: HttpRequest, decision: Decision) -> None:
    """`announce`, awaited."""
    if throttled.receivers:
        await throttled.asend_robust(RateRule, request=request, decision=decision)


def _answer(decision: Decision, blocking: Sequence[Decision] = ()) -> _Answer:
    is_busy, rule = decision.reason in problem_json.OURS, decision.made_by
    message = rule.message if rule is not None and rule.mode == "enforce" and not is_busy else ""
    if is_busy:
        title = _("The service is busy")
    else:
        title = _("Access is blocked") if decision.reason == "block" else _("Too many requests")
    return _Answer(decision, status_of(decision), is_busy, title, message, retry_after_s(decision, blocking))


def _form(request: HttpRequest, decision: Decision) -> str:
    """Which form of the answer this client prefers; a page of the site's code comes before text, as its other errors."""
    by_code = decision.reason not in problem_json.OURS and refusal_page.handler429(request) is not None
    accept = request.META.get("HTTP_ACCEPT", "*/*")
    preferred = _preferred if len(accept) <= _LONGEST_REMEMBERED else _preferred.__wrapped__
    return preferred(accept, by_code)


@lru_cache(maxsize=1024)
def _preferred(accept: str, by_code: bool) -> str:
    types, request = _PAGE_FIRST if by_code else _TYPES, HttpRequest()
    request.META["HTTP_ACCEPT"] = accept
    try:
        preferred = request.get_preferred_type(types) or types[0]
    except (TypeError, ValueError):  # Django fails on some parameters, such as q*=unknown'en'1
        preferred = types[0]
    if preferred == "text/html":
        return "handler429" if by_code else "template"
    return "text" if preferred == "text/plain" else "problem"


def _by_handler(request: HttpRequest, answer: _Answer) -> HttpResponseBase:
    return refusal_page.by_handler(refusal_page.handler429(request), request, answer.decision, answer.status)


def _by_template(request: HttpRequest, answer: _Answer) -> HttpResponse:
    context = {
        **answer._asdict(),
        "detail": answer.detail,
        "retry_after_s": answer.wait_s,
        "wait": _in_words(answer.wait_s),
    }
    return HttpResponse(refusal_page.page(request, context, answer.is_busy), status=answer.status)


def _as_text(request: HttpRequest, answer: _Answer) -> HttpResponse:
    body = _text_body(answer.message, answer.title, answer.is_busy, answer.wait_s, get_language())
    return HttpResponse(body, status=answer.status, content_type="text/plain; charset=utf-8")


@lru_cache(maxsize=1024)
def _text_body(message: str, title: str, is_busy: bool, wait_s: int | None, language: str | None) -> bytes:
    return f"{message or _sentence(title, is_busy, wait_s)}\n".encode()


def _as_problem(request: HttpRequest, answer: _Answer) -> HttpResponse:
    decision = answer.decision
    violated = tuple(problem_json.violated_policies(decision))
    before = _problem_body(decision.reason, answer.status, answer.title, answer.detail, violated)
    body = b"%b%b}" % (before, json.dumps(decision.id).encode())
    return HttpResponse(body, status=answer.status, content_type="application/problem+json")


@lru_cache(maxsize=1024)
def _problem_body(*of: Any) -> bytes:
    """The JSON object up to its last member, the code, which alone is another one for each request."""
    return json.dumps({**problem_json.problem(*of), "code": ""}).removesuffix('""}').encode()


_FORMS = {"handler429": _by_handler, "template": _by_template, "text": _as_text, "problem": _as_problem}
_BY_SITE = ("handler429", "template")


def _without_body(response: HttpResponseBase) -> HttpResponseBase:
    """The answer to HEAD: the headers, with the length that the body would have."""
    if isinstance(response, HttpResponse):
        length = len(response.content)
        response.content = b""
        response.headers.setdefault("Content-Length", str(length))
    return response


def _in_words(wait_s: int | None) -> str:
    """``42 seconds``, or rounded up ``5 minutes``, ``3 hours``; nothing when waiting does not help."""
    if wait_s is None:
        return ""
    if wait_s > 7200:
        hours = -(-wait_s // 3600)
        return ngettext("%(number)d hour", "%(number)d hours", hours) % {"number": hours}
    if wait_s > 120:
        minutes = -(-wait_s // 60)
        return ngettext("%(number)d minute", "%(number)d minutes", minutes) % {"number": minutes}
    return _in_seconds(wait_s)


def _in_seconds(wait_s: int) -> str:
    return ngettext("%(number)d second", "%(number)d seconds", wait_s) % {"number": wait_s}


def _sentence(title: str, is_busy: bool, wait_s: int | None) -> str:
    if wait_s is not None:
        return _("%(title)s. Try again in %(wait)s.") % {"title": title, "wait": _in_seconds(wait_s)}
    if is_busy:
        return _("%(title)s.") % {"title": title}
    return _("%(title)s. Waiting does not help.") % {"title": title}
