"""What a refused request is answered."""

import asyncio
import json
import logging
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.staticfiles.finders import find
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, RequestFactory, override_settings

import ratewindow
from ratewindow import RateLimited, ratelimit
from ratewindow.conf import site_functions
from ratewindow.limiter.types import Decision, RuleDecision, Window, WindowAnswer
from ratewindow.models import RateRule
from ratewindow.request.refusal import refusal
from ratewindow.rulebook import current, reading
from ratewindow.store import outage
from ratewindow.testing import Rule, override_rules
from tests.support.doors import answer, behind_middleware, decorated, get, plain

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])

REFUSED = RuleDecision(
    allowed=False,
    limit=5,
    remaining=0,
    retry_after=41.2,
    rule="login",
    reason="limit",
    id="k7f2q",
    outcome="refused",
    windows=(WindowAnswer(Window(5, 60_000), 0, 41_200, 41_200),),
)
FOR_EVER = RuleDecision(allowed=False, limit=0, remaining=0, rule="closed", reason="limit", id="k7f2q", outcome="refused")


def refuse(decision: Decision = REFUSED, **headers: str) -> HttpResponse:
    made = replace(decision, made_by=current.held().by_name.get(decision.rule))
    return refusal(RequestFactory().get("/", headers=headers), made)


@pytest.mark.parametrize(
    ("accept", "sent"),
    [
        (None, "text/plain; charset=utf-8"),
        ("", "text/plain; charset=utf-8"),
        ("*/*", "text/plain; charset=utf-8"),
        ("image/png", "text/plain; charset=utf-8"),
        ("nonsense", "text/plain; charset=utf-8"),
        ("text/html;q=nan, ;;;,", "text/html; charset=utf-8"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", "text/html; charset=utf-8"),
        ("text/*", "text/plain; charset=utf-8"),
        ("application/json", "application/problem+json"),
        ("application/problem+json", "application/problem+json"),
        ("application/json, text/javascript, */*; q=0.01", "application/problem+json"),
        ("text/html;q=0.5, application/json", "application/problem+json"),
        ("text/html, application/json;q=0.5", "text/html; charset=utf-8"),
        ("text/html;q=0, */*", "text/plain; charset=utf-8"),
    ],
)
def test_a_client_gets_what_it_prefers(accept: str | None, sent: str) -> None:
    response = refuse() if accept is None else refuse(Accept=accept)
    assert (response.status_code, response["Content-Type"]) == (429, sent)


@pytest.mark.parametrize("accept", ["text/html;q*=unknown'en'1", "text/html;q*=utf-8''1;q*0=1"])
def test_what_newer_versions_of_django_cannot_read_is_answered_all_the_same(accept: str) -> None:
    """They raise ValueError and TypeError, where Django 5.2.0 read text/html."""
    response = refuse(Accept=accept)
    assert response.status_code == 429 and response["Content-Type"].startswith("text/")


@pytest.mark.parametrize("accept", ["*/*", "text/html", "application/json"])
def test_every_form_says_when_to_come_back_and_is_not_stored(accept: str) -> None:
    response = refuse(Accept=accept)
    assert response["Retry-After"] == "42"
    assert response["Cache-Control"] == "no-store"
    assert "42" in response.content.decode()


@pytest.mark.parametrize("accept", ["*/*", "text/html", "application/json"])
def test_who_is_refused_for_ever_is_not_told_to_wait(accept: str) -> None:
    response = refuse(FOR_EVER, Accept=accept)
    assert response.status_code == 429
    assert "Retry-After" not in response


@pytest.mark.parametrize(("wait_s", "sent"), [(0.001, "1"), (1.0, "1"), (1.001, "2"), (59.0, "59"), (86400.0, "86400")])
def test_retry_after_is_a_whole_number_of_at_least_one_and_never_too_early(wait_s: float, sent: str) -> None:
    assert refuse(RuleDecision(allowed=False, retry_after=wait_s, rule="login"))["Retry-After"] == sent


def test_text_is_one_sentence() -> None:
    assert refuse().content == b"Too many requests. Try again in 42 seconds.\n"
    assert refuse(RuleDecision(allowed=False, retry_after=0.5)).content == b"Too many requests. Try again in 1 second.\n"
    assert refuse(FOR_EVER).content == b"Too many requests. Waiting does not help.\n"


def test_problem_json_names_type_policy_and_code() -> None:
    assert json.loads(refuse(Accept="application/json").content) == {
        "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
        "title": "Too many requests",
        "status": 429,
        "detail": "Too many requests. Try again in 42 seconds.",
        "violated-policies": ["login"],
        "code": "k7f2q",
    }


def test_the_policies_named_are_those_that_the_headers_name_and_only_the_violated_ones() -> None:
    view = decorated(False, "api", "2/m; 1/h")
    get(view)
    body = json.loads(get(view, headers={"Accept": "application/json"}).content)
    assert body["violated-policies"] == ["api:1/h"]


def test_the_page_shows_wait_and_code() -> None:
    page = refuse(Accept="text/html").content.decode()
    assert "42 seconds" in page
    assert "k7f2q" in page


def test_the_page_holds_under_a_strict_content_security_policy() -> None:
    page = refuse(Accept="text/html").content.decode().lower()
    for forbidden in ("<script", "<style", "style=", "onload=", "onclick=", "javascript:", "http://", "https://", "data:"):
        assert forbidden not in page


@pytest.mark.parametrize(
    ("wait_s", "words"),
    [
        (1, "1 second"),
        (2, "2 seconds"),
        (119, "119 seconds"),
        (121, "3 minutes"),
        (3600, "60 minutes"),
        (7201, "3 hours"),
        (86400, "24 hours"),
    ],
)
def test_the_page_tells_the_wait_in_words_and_never_too_short(wait_s: int, words: str) -> None:
    page = refuse(RuleDecision(allowed=False, retry_after=float(wait_s), rule="login"), Accept="text/html").content.decode()
    assert f"<strong>{words}</strong>" in page


def test_the_page_has_a_stylesheet() -> None:
    assert '<link rel="stylesheet" href="/static/ratewindow/429.css">' in refuse(Accept="text/html").content.decode()
    assert find("ratewindow/429.css")


@pytest.mark.parametrize(
    "changed",
    [
        {"STORAGES": {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"}}},
        {"STATIC_URL": None},
    ],
    ids=["not collected", "no static files"],
)
def test_the_page_does_not_fail_without_it(changed: dict[str, Any]) -> None:
    with override_settings(**changed):
        response = refuse(Accept="text/html")
    assert response.status_code == 429
    assert "k7f2q" in response.content.decode()


def test_the_log_names_code_and_rule_and_not_the_client(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "ratewindow.refusals"):
        refusal(RequestFactory().get("/secret/\r\nFORGED", REMOTE_ADDR="203.0.113.9"), REFUSED)
    assert caplog.messages == ["refused k7f2q by rule login: limit"]


def test_a_refusal_for_a_missing_key_has_a_code_too() -> None:
    RateRule.objects.define("keyed", "5/m", key="header:x-api-key", on_missing="refuse", mode="enforce")
    response = get(decorated(False, "keyed"), headers={"Accept": "application/json"})
    body = json.loads(response.content)
    assert response.status_code == 429
    assert len(body["code"]) == 5
    assert body["violated-policies"] == ["keyed"]
    assert "Retry-After" not in response


@is_async
def test_an_admitted_response_has_no_retry_after(is_async: bool) -> None:
    view = decorated(is_async, "admitted", "1/m")
    assert "Retry-After" not in get(view)
    assert "Retry-After" in get(view)


@is_async
def test_nor_has_one_that_was_over_the_limit_and_let_through(is_async: bool) -> None:
    view = decorated(is_async, "lenient", "1/m", block=False)
    get(view)
    response = get(view)
    assert response.status_code == 200
    assert "Retry-After" not in response


def test_an_exception_with_a_decision_is_answered_like_any_refusal() -> None:
    from ratewindow.middleware import RateWindowMiddleware

    middleware = RateWindowMiddleware(plain(False))
    response = middleware.process_exception(RequestFactory().get("/"), RateLimited(REFUSED))
    assert response is not None
    assert (response.status_code, response["Retry-After"]) == (429, "42")
    assert middleware.process_exception(RequestFactory().get("/"), ValueError()) is None


def count_users(request: HttpRequest) -> dict[str, Any]:
    """A site's context processor that asks the database."""
    return {"users": User.objects.count()}


@is_async
def test_the_page_may_ask_the_database_under_asgi_too(is_async: bool) -> None:
    templates = json.loads(json.dumps(settings.TEMPLATES))
    templates[0]["OPTIONS"]["context_processors"].append(f"{__name__}.count_users")
    with override_settings(TEMPLATES=templates):
        view = decorated(is_async, "page", "1/m")
        get(view)
        assert get(view, headers={"Accept": "text/html"}).status_code == 429


def test_a_refusal_is_not_decorated_by_the_view() -> None:
    called: list[int] = []

    @ratelimit("once", "1/m")
    def view(request: HttpRequest) -> HttpResponse:
        called.append(1)
        return HttpResponse("ok")

    for _ in range(3):
        answer(behind_middleware(view), RequestFactory().get("/"))
    assert called == [1]


def test_who_is_locked_out_is_told_of_abnormal_usage() -> None:
    refused = RuleDecision(allowed=False, rule="login", reason="penalty", retry_after=900.0, outcome="refused", id="abcde")
    response = refusal(RequestFactory().get("/", headers={"accept": "application/json"}), refused)
    assert json.loads(response.content)["type"].endswith("#abnormal-usage-detected")


@pytest.mark.parametrize("accept", ["text/html", "text/plain", "application/problem+json"])
def test_who_is_refused_because_the_store_is_away_is_not_to_blame(accept: str) -> None:
    away = RuleDecision(False, rule="api", reason="store", retry_after=2.0, id="abc23", outcome="refused")
    response = refuse(away, accept=accept)
    assert (response.status_code, response["Retry-After"], response["Cache-Control"]) == (503, "2", "no-store")
    said = response.content.decode()
    assert "Too many" not in said
    assert "2 seconds" in said
    if "json" in accept:
        assert json.loads(said)["type"] == "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"


@is_async
@pytest.mark.parametrize("status", [400, 403, 404, 429, 503])
def test_a_rule_says_the_status_of_its_refusals_and_the_headers_stay(is_async: bool, status: int) -> None:
    RateRule.objects.define("api", "1/m", mode="enforce", response_status=status)
    view = decorated(is_async, "api")
    get(view)
    for accept in ("*/*", "text/html", "application/json"):
        response = get(view, headers={"accept": accept})
        assert response.status_code == status
        assert int(response["Retry-After"]) >= 1
        assert response["RateLimit"].startswith('"api";r=0;t=')
    assert json.loads(response.content)["status"] == status


EVIL = '<script>alert(1)</script> "quoted" =1+1 \u202e\u0000 \U0001f680'


def test_a_rules_message_is_read_in_every_form_and_run_in_none() -> None:
    RateRule.objects.create(name="login", mode="enforce", message=EVIL)
    assert refuse().content.decode() == f"{EVIL}\n"
    assert json.loads(refuse(Accept="application/json").content)["detail"] == EVIL
    page = refuse(Accept="text/html").content.decode()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &quot;quoted&quot;" in page
    assert "You can try again in <strong>42 seconds</strong>." in page


def test_a_message_that_cannot_be_written_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with override_rules(Rule("login", "5/m")):
        rule = current.held().by_name["login"]
        monkeypatch.setitem(current.held().by_name, "login", replace(rule, message="\ud800"))
        assert refuse().content == refuse(Accept="text/html").content == b"Too many requests. Try again in 42 seconds.\n"
        assert json.loads(refuse(Accept="application/json").content)["detail"] == "\ud800"
    site_functions.failing.forget()


def test_the_rule_that_decides_says_status_and_message() -> None:
    RateRule.objects.define("minute", "1/m", prefix="/", mode="enforce", response_status=403, message="Not so fast.")
    RateRule.objects.define("hour", "2/h", prefix="/", mode="enforce", response_status=400, message="That is all.")
    site = behind_middleware(plain(False))
    get(site)
    told = get(site)
    assert (told.status_code, told.content) == (403, b"Not so fast.\n")
    assert ratewindow.hit("hour", "ip:127.0.0.1")
    outage.refusals.forget()
    told = get(site)  # which waits longer for the hour
    assert (told.status_code, told.content) == (400, b"That is all.\n")


def test_a_row_in_shadow_says_nothing_for_the_rate_in_code_beside_it() -> None:
    RateRule.objects.define("login", "9/m", response_status=403, message="Not so fast.")
    view = decorated(False, "login", "1/m")
    get(view)
    told = get(view)
    assert (told.status_code, told.content[:18]) == (429, b"Too many requests.")


def test_who_is_blocked_is_told_so() -> None:
    blocked = RuleDecision(allowed=False, rule="blocks", reason="block", outcome="refused", id="k7f2q")
    told = json.loads(refuse(blocked, Accept="application/json").content)
    assert told["type"].endswith("#abnormal-usage-detected")
    assert "violated-policies" not in told
    assert refuse(blocked).content == b"Access is blocked. Waiting does not help.\n"
    assert "waiting does not change that" in refuse(blocked, Accept="text/html").content.decode()


@pytest.mark.parametrize("name", ["a\r\nSet-Cookie: x=1", 'a"b', "a\x00b", "é", "A", ""])
def test_a_name_that_only_raw_sql_can_write_reaches_neither_header_nor_log(name: str, caplog: pytest.LogCaptureFixture) -> None:
    RateRule.objects.define("login", "0/m", prefix="/", mode="enforce")
    RateRule.objects.update(name=name)
    with caplog.at_level(logging.INFO, "ratewindow"):
        reading.reload()
        told = get(behind_middleware(plain(False)))
    assert not [value for _, value in told.items() if "\n" in value or "\r" in value or (name and name in value)]
    assert not [line for line in caplog.messages if "\n" in line or "\x00" in line]


@is_async
@pytest.mark.parametrize("path", ["/limited/", "/closed/"])
def test_a_refusal_is_no_warning_of_djangos_and_an_info_of_ours(
    is_async: bool, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    RateRule.objects.define("limited", "0/m", path="/limited/", mode="enforce")
    RateRule.objects.define("closed", "0/m", path="/closed/", mode="enforce", response_status=503)
    caplog.set_level(logging.INFO)
    response: Any = asyncio.run(AsyncClient().get(path)) if is_async else Client().get(path)  # type: ignore[arg-type]
    assert response.status_code in (429, 503)
    (record,) = [record for record in caplog.records if record.name in ("django.request", "ratewindow.refusals")]
    assert (record.name, record.levelname) == ("ratewindow.refusals", "INFO")
    assert (record.request.path, record.decision.rule) == (path, path.strip("/"))  # type: ignore[attr-defined]


@pytest.mark.parametrize(("anonymize", "identity"), [("secrets", "ip:203.0.113.9"), ("all", "ip:#")])
def test_the_log_has_stable_fields_and_the_identity_as_it_may_be_stored(
    anonymize: str, identity: str, caplog: pytest.LogCaptureFixture
) -> None:
    RateRule.objects.define("limited", "0/m", path="/limited/", mode="enforce", key="ip+method")
    caplog.set_level(logging.INFO)
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": anonymize}):
        code = Client().get("/limited/", REMOTE_ADDR="203.0.113.9", headers={"accept": "application/json"}).json()["code"]
    (record,) = [record for record in caplog.records if record.name == "ratewindow.refusals"]
    fields = {name: getattr(record, name) for name in ("rule", "reason", "code", "key")}
    assert fields == {"rule": "limited", "reason": "limit", "code": code, "key": "ip+method"}
    told = vars(record)["identity"]
    assert told.startswith(identity) and told.endswith(" + method:GET")
    assert ("203.0.113.9" in json.dumps(vars(record), default=str)) == (anonymize == "secrets")


def test_an_error_of_a_view_that_was_told_of_a_refusal_is_djangos_to_log() -> None:
    for status, marked in ((500, False), (429, True)):
        limited = ratelimit(rate="0/m", block=False)(lambda request, status=status: HttpResponse(status=status))
        assert hasattr(limited(RequestFactory().get("/")), "_has_been_logged") is marked
