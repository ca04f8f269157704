"""The answer to a refused request: a page, text or problem+json, whichever the client prefers; the log line and signal of it.

Problem details are those of RFC 9457, of the types that the rate limit headers' draft registers.

Under an attack refused requests are all there is, so what does not change from one to the next is prepared or remembered.
"""

import inspect
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from asgiref.sync import async_to_sync, iscoroutinefunction, sync_to_async
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template import TemplateDoesNotExist
from django.template.loader import get_template, select_template
from django.templatetags.static import static
from django.urls import get_resolver
from django.urls.utils import get_callable
from django.utils.translation import get_language, gettext as _

from ratewindow.conf import site_functions
from ratewindow.conf.in_words import wait
from ratewindow.exceptions import RateLimited
from ratewindow.identity import ip, privacy
from ratewindow.limiter.algorithms import DAY_MS, MOST_UNIT_MS
from ratewindow.limiter.penalties import as_growing
from ratewindow.limiter.types import Decision, Window
from ratewindow.models import RateRule
from ratewindow.request import decide, told_once, without_redis
from ratewindow.request.headers import retry_after_s
from ratewindow.request.open_to_staff import report_url
from ratewindow.request.prepare import Question
from ratewindow.request.told_once import Claim
from ratewindow.rules.rule import BLOCKS
from ratewindow.signals import throttled

logger = logging.getLogger("ratewindow.refusals")

# Text comes first, for clients without a preference, except before a page that the site's code makes.
_TYPES = ("text/plain", "text/html", "application/problem+json", "application/json")
_PAGE_FIRST = ("text/html", "text/plain", "application/problem+json", "application/json")
_PROBLEMS = {
    "store": "temporary-reduced-capacity",
    "penalty": "abnormal-usage-detected",
    "block": "abnormal-usage-detected",
}
A_DAY = Window(1, DAY_MS, "fixed_window")
_PACKAGED = str(Path(__file__).parents[1] / "templates")
_LONGEST_REMEMBERED = 256  # characters of an Accept header: long ones are sent to fill the memory


class Answer(NamedTuple):
    """What each form of the answer says."""

    decision: Decision
    status: int
    is_busy: bool  # it is about us, not about the client
    title: str
    message: str  # the rule's own
    wait_s: int | None

    @property
    def detail(self) -> str:
        """The sentence that a refused client reads."""
        return self.message or _sentence(self.title, self.is_busy, self.wait_s)


def refusal(request: HttpRequest, decision: Decision) -> HttpResponseBase:
    """The answer, with a Retry-After unless waiting does not help: 429 or what the rule says, 503 if the fault is
    ours. If the site's own page fails, that is logged, and the client gets text."""
    log_refusal(decision, request)
    answer, form = answer_to(decision), _form(request, decision)
    try:
        response = _FORMS[form](request, answer)
    except Exception as error:
        rules = [decision.rule] if decision.rule else []
        site_functions.failed("refusal page", form, error, "refused clients get plain text", rules)
        response = _as_text(request, answer._replace(status=503 if answer.is_busy else 429, message=""))
    add_headers(response, answer.wait_s)
    leave_log_to_ours(response)
    return response


async def arefusal(request: HttpRequest, decision: Decision) -> HttpResponseBase:
    """`refusal` on the event loop; a page goes to a thread, since the site's context processors may ask the database."""
    if _form(request, decision) in ("handler429", "template"):
        return await sync_to_async(refusal)(request, decision)
    return refusal(request, decision)


def add_headers(response: HttpResponseBase, wait_s: int | None) -> None:
    """Add Retry-After, unless waiting does not help, and forbid to store the answer, unless the site's code has set them."""
    # As `response.headers.setdefault` does, without its checks of the values.
    store = response.headers._store
    if wait_s is not None:
        store.setdefault("retry-after", ("Retry-After", str(wait_s)))
    store.setdefault("cache-control", ("Cache-Control", "no-store"))


def description_of(decision: Decision) -> str:
    """What a refused client should read if it is more than that it sent too many requests; else empty."""
    answer = answer_to(decision)
    return answer.detail if answer.message or answer.is_busy or decision.reason == "block" else ""


def log_refusal(decision: Decision, request: HttpRequest) -> None:
    """One line for each refused request, with the code that its answer carries; a formatter finds more in the record."""
    if logger.isEnabledFor(logging.INFO):
        rule = getattr(decision.deciding, "made_by", None)
        check = decision.deciding.check if decision.deciding is not None else None
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
        first = told_once.first(_claim(request, decision), _decide_here if _is_alone(decision) else decide.decide)
        throttled.send_robust(RateRule, request=request, decision=decision, first=first)


async def aannounce(request: HttpRequest, decision: Decision) -> None:
    """`announce`, awaited."""
    if throttled.receivers:
        claim = _claim(request, decision)
        first = told_once.first(claim, _decide_here) if _is_alone(decision) else await told_once.afirst(claim, decide.adecide)
        await throttled.asend_robust(RateRule, request=request, decision=decision, first=first)


def _is_alone(decision: Decision) -> bool:
    """Whether this process has decided without the store, which it does not ask again."""
    return decision.deciding is not None and decision.deciding.cause != ""


def _decide_here(question: Question) -> Decision:
    return Decision.of(without_redis.count_here(question.checks, "hit"))


def _claim(request: HttpRequest, decision: Decision) -> Claim:
    """The claim to be the first refusal of the client by this rule: in a fixed window that refuses, or since two periods of
    another one had none; or as long as a penalty lasts at most, and for a block a day, if that is longer."""
    part = decision.deciding
    rule, check = (None, None) if part is None else (part.made_by, part.check)
    own = (rule is not None and rule.windows) or (A_DAY,)
    window = next((each for each in own if each.text == decision.window), own[0])
    if window.algorithm != "fixed_window":  # one period passes between the refusals of a client that is refused once in each
        window = Window(1, min(2 * window.period_ms, MOST_UNIT_MS), "sliding_log")
    is_block = decision.reason == "block"
    client = ip(request) if check is None else check.identity
    lasts_ms = DAY_MS * is_block if check is None else as_growing(check.penalty_ms).steps_ms[-1]
    if lasts_ms > window.period_ms:
        window = Window(1, lasts_ms, "fixed_window")
    return told_once.claim(decision.rule or BLOCKS, own[0], window, f"block: {client}" if is_block else f"throttled: {client}")


def answer_to(decision: Decision) -> Answer:
    """The answer to a refused request."""
    is_busy, rule = decision.reason == "store", getattr(decision.deciding, "made_by", None)
    if is_busy:  # not the client's fault
        return Answer(decision, 503, is_busy, _("The service is busy"), "", retry_after_s(decision))
    title = _("Access is blocked") if decision.reason == "block" else _("Too many requests")
    # A row in shadow has not refused: the rate in code beside it has.
    status, message = (rule.response_status, rule.message) if rule is not None and rule.mode == "enforce" else (429, "")
    return Answer(decision, status, is_busy, title, message, retry_after_s(decision))


def _form(request: HttpRequest, decision: Decision) -> str:
    """Which form of the answer this client prefers; a page of the site's code comes before text, as its other errors."""
    by_code = decision.reason != "store" and handler429(request) is not None
    accept = request.META.get("HTTP_ACCEPT", "*/*")
    if accept == "*/*" and request.content_type == "application/json":
        accept = "application/problem+json"  # a program that prefers nothing is answered as it has asked
    return (_preferred if len(accept) <= _LONGEST_REMEMBERED else _preferred.__wrapped__)(accept, by_code)


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


def handler429(request: HttpRequest) -> Any:
    """The root URLconf's `handler429`, a function or the path of one; None without it."""
    try:
        return getattr(get_resolver(getattr(request, "urlconf", None)).urlconf_module, "handler429", None)
    except Exception:  # a URLconf that cannot be imported, which Django reports for requests that pass
        return None


def _by_handler(request: HttpRequest, answer: Answer) -> HttpResponseBase:
    """The response of the site's handler, which finds the decision at `request.ratewindow`. One with the status 200 or 429 gets
    the rule's."""
    handler = get_callable(handler429(request))
    seen = vars(request).get("ratewindow")
    request.ratewindow = answer.decision  # type: ignore[attr-defined]  # of an exception, another than the request's
    call = async_to_sync(handler) if iscoroutinefunction(handler) else handler
    exceptions = {"exception": RateLimited(answer.decision)} if _takes_exception(handler) else {}
    try:
        response: Any = call(request, **exceptions)
        if not getattr(response, "is_rendered", True):
            response.render()  # a middleware's answer is rendered by nobody else
    finally:
        request.ratewindow = seen  # type: ignore[attr-defined]  # it can be charged, by a middleware outside
    if response.status_code in (200, 429):
        response.status_code = answer.status
    return cast("HttpResponseBase", response)


@lru_cache(maxsize=32)
def _takes_exception(handler: Callable[..., Any]) -> bool:
    """Whether it requires an exception, as Django's own handlers and those of django-ratelimit do."""
    parameter = inspect.signature(handler).parameters.get("exception")
    return parameter is not None and parameter.default is parameter.empty


def _by_template(request: HttpRequest, answer: Answer) -> HttpResponse:
    context = {
        **answer._asdict(),
        "detail": answer.detail,
        "retry_after_s": answer.wait_s,
        "wait": "" if answer.wait_s is None else wait(answer.wait_s),
        "stylesheet": _stylesheet(),
        "report_url": report_url(request, answer.decision),
    }
    page = _template("503.html" if answer.is_busy else "429.html").render(context, request)
    return HttpResponse(page, status=answer.status)


def _template(name: str) -> Any:
    """The site's ``ratewindow/429.html``, else its ``429.html``, else ours."""
    with suppress(TemplateDoesNotExist):
        template = get_template(f"ratewindow/{name}")
        if not str(getattr(getattr(template, "origin", None), "name", "")).startswith(_PACKAGED):
            return template
    return select_template([name, f"ratewindow/{name}"])


def _stylesheet() -> str:
    """The URL of our page's stylesheet, or nothing for a site without static files, or that has not collected ours."""
    try:
        return static("ratewindow/429.css")
    except (ImproperlyConfigured, ValueError):
        return ""


def _as_text(request: HttpRequest, answer: Answer) -> HttpResponse:
    body = _text_body(answer.message, answer.title, answer.is_busy, answer.wait_s, get_language())
    return HttpResponse(body, status=answer.status, content_type="text/plain; charset=utf-8")


@lru_cache(maxsize=1024)
def _text_body(message: str, title: str, is_busy: bool, wait_s: int | None, language: str | None) -> bytes:
    return f"{message or _sentence(title, is_busy, wait_s)}\n".encode()


def _as_problem(request: HttpRequest, answer: Answer) -> HttpResponse:
    decision = answer.decision
    before = _problem_body(decision.reason, answer.status, answer.title, answer.detail, tuple(_violated_policies(decision)))
    body = b"%b%b}" % (before, json.dumps(decision.id).encode())
    return HttpResponse(body, status=answer.status, content_type="application/problem+json")


@lru_cache(maxsize=1024)
def _problem_body(reason: str, status: int, title: str, detail: str, violated: tuple[str, ...]) -> bytes:
    """The JSON object up to its last member, the code, which is ours, for support, and alone another one for each request."""
    problem = f"https://iana.org/assignments/http-problem-types#{_PROBLEMS.get(reason, 'quota-exceeded')}"
    members: dict[str, Any] = {"type": problem, "title": title, "status": status, "detail": detail}
    if violated and reason not in ("store", "block"):  # else no policy is violated
        members["violated-policies"] = violated
    return json.dumps({**members, "code": ""}).removesuffix('""}').encode()


def _violated_policies(decision: Decision) -> list[str]:
    """The names, as in the headers, of what refused: of a rule with several windows, those that are full."""
    named = [
        part.rule if len(part.windows) == 1 else f"{part.rule}:{answer.window.text}"
        for part in decision.parts
        if not part.allowed
        for answer in part.windows
        if answer.refuses
    ]
    return named or ([decision.rule] if decision.rule else [])


_FORMS = {"handler429": _by_handler, "template": _by_template, "text": _as_text, "problem": _as_problem}


def _sentence(title: str, is_busy: bool, wait_s: int | None) -> str:
    if wait_s is not None:
        return _("%(title)s. Try again in %(wait)s.") % {"title": title, "wait": wait(wait_s)}
    return (_("%(title)s.") if is_busy else _("%(title)s. Waiting does not help.")) % {"title": title}
