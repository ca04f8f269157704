"""The page of a refused visitor: the site's handler, its templates, or ours, and what happens when they are wrong."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template import engines
from django.template.response import TemplateResponse
from django.test import RequestFactory, override_settings

import ratewindow
from ratewindow import RateLimited
from ratewindow.conf import site_functions
from ratewindow.limiter.types import Decision, RuleDecision
from ratewindow.middleware import RateWindowMiddleware
from ratewindow.models import RateRule
from ratewindow.request.refusal import refusal
from ratewindow.rulebook import current
from testproject import urls
from tests.support.doors import behind_middleware, decorated, get, plain

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])

REFUSED = RuleDecision(allowed=False, retry_after=41.2, rule="login", reason="limit", id="k7f2q", outcome="refused")
AWAY = RuleDecision(allowed=False, retry_after=2.0, rule="login", reason="store", id="k7f2q", outcome="refused")
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.fixture(autouse=True)
def _nothing_is_failing() -> Iterator[None]:
    yield
    site_functions.failing.forget()


@pytest.fixture
def handler429(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Gives the URLconf a handler."""
    return lambda handler: monkeypatch.setattr(urls, "handler429", handler, raising=False)


@pytest.fixture
def template(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Gives the site templates of its own, found before those of apps."""
    (tmp_path / "ratewindow").mkdir()
    with override_settings(TEMPLATES=[{**settings.TEMPLATES[0], "DIRS": [str(tmp_path)]}]):
        yield lambda name, text: (_found_anew(), (tmp_path / name).write_text(text))


def _found_anew() -> None:
    """Django remembers which templates there are, and which there are not."""
    for engine in engines.all():
        for loader in engine.engine.template_loaders:  # type: ignore[attr-defined]
            loader.reset()


def refuse(decision: Decision = REFUSED, accept: str = BROWSER, **changed: Any) -> HttpResponse:
    made = replace(decision, made_by=current.held().by_name.get(decision.rule))
    return refusal(RequestFactory().get("/", headers={"accept": accept}), made)  # type: ignore[return-value]


def own(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"own page for {request.ratewindow.rule}")  # type: ignore[attr-defined]


async def aown(request: HttpRequest) -> HttpResponse:
    return own(request)


def with_exception(request: HttpRequest, exception: Exception) -> HttpResponse:
    return HttpResponse(f"own page for {exception.decision.rule}")  # type: ignore[attr-defined]


def name_of(handler: Any) -> str:
    return getattr(handler, "__name__", handler)  # type: ignore[no-any-return]


def by_template(request: HttpRequest) -> TemplateResponse:
    return TemplateResponse(request, "ratewindow/429.html", {"title": "own page for login"})


@pytest.mark.parametrize("accept", [BROWSER, "*/*", "", "text/html"])
@pytest.mark.parametrize("handler", [own, aown, with_exception, by_template, f"{__name__}.own"], ids=name_of)
def test_the_handler_of_the_urlconf_answers(handler429: Any, handler: Any, accept: str) -> None:
    handler429(handler)
    response = refuse(accept=accept)
    assert response.status_code == 429
    assert "own page for login" in response.content.decode()
    assert (response["Retry-After"], response["Cache-Control"]) == ("42", "no-store")


@is_async
@pytest.mark.parametrize("handler", [own, aown], ids=["sync handler", "async handler"])
def test_it_finds_the_decision_at_the_request_through_the_doors(is_async: bool, handler429: Any, handler: Any) -> None:
    handler429(handler)
    view = decorated(is_async, "search", "1/m")
    get(view)
    response = get(view, headers={"accept": BROWSER})
    assert (response.status_code, response.content) == (429, b"own page for search")
    assert response["RateLimit"].startswith('"search";r=0')


@pytest.mark.parametrize(
    ("accept", "sent"), [("application/json", "application/problem+json"), ("text/plain", "text/plain; charset=utf-8")]
)
def test_a_client_that_asks_for_something_else_gets_that(handler429: Any, accept: str, sent: str) -> None:
    handler429(own)
    assert refuse(accept=accept)["Content-Type"] == sent


def test_the_urlconf_is_the_one_of_the_request() -> None:
    request = RequestFactory().get("/", headers={"accept": BROWSER})
    request.urlconf = "tests.support.own_urls"  # type: ignore[attr-defined]
    assert refusal(request, REFUSED).content == b"a page of another URLconf"  # type: ignore[attr-defined]


def test_its_own_status_and_headers_stay_and_the_usual_ones_become_the_rules(handler429: Any) -> None:
    RateRule.objects.define("login", "5/m", mode="enforce", response_status=403)

    def moved(request: HttpRequest) -> HttpResponse:
        return HttpResponseRedirect("/slow-down/", headers={"Retry-After": "99", "Cache-Control": "private"})

    handler429(moved)
    response = refuse()
    assert (response.status_code, response["Retry-After"], response["Cache-Control"]) == (302, "99", "private")
    for status in (200, 429):
        handler429(lambda request, status=status: HttpResponse("own", status=status))
        assert refuse().status_code == 403
    handler429(lambda request: HttpResponse("own", status=503))
    assert refuse().status_code == 503


def broken(request: HttpRequest) -> HttpResponse:
    raise ZeroDivisionError("the site's own")


@pytest.mark.parametrize(
    "handler",
    [
        broken,
        lambda request: None,
        lambda request: "text",
        "no.such.module",
        42,
        lambda request: TemplateResponse(request, "no/such.html"),
        lambda request: render(request, "no/such.html"),
    ],
    ids=["raises", "None", "text", "no module", "no function", "unrendered", "no template"],
)
@is_async
def test_a_handler_that_is_wrong_makes_no_500_and_one_line_in_the_log(
    is_async: bool, handler429: Any, handler: Any, caplog: pytest.LogCaptureFixture
) -> None:
    handler429(handler)
    view = decorated(is_async, "login", "1/m")
    get(view)
    told = [get(view, headers={"accept": BROWSER}) for _ in range(3)]
    assert {each.status_code for each in told} == {429}
    assert told[0].content.startswith(b"Too many requests. Try again in ")
    assert int(told[0]["Retry-After"]) >= 1
    assert [each.levelname for each in caplog.records if each.name == "ratewindow"] == ["ERROR"]
    assert "refusal page" in caplog.text
    handler429(own)
    assert get(view, headers={"accept": BROWSER}).content == b"own page for login"


@is_async
def test_a_template_that_is_wrong_makes_no_500_either(is_async: bool, template: Any, caplog: pytest.LogCaptureFixture) -> None:
    template("ratewindow/429.html", "{% nonsense %}")
    view = decorated(is_async, "login", "1/m")
    get(view)
    response = get(view, headers={"accept": BROWSER})
    assert (response.status_code, response["Content-Type"]) == (429, "text/plain; charset=utf-8")
    assert "TemplateSyntaxError" in caplog.text


def test_the_order_of_templates_is_the_sites_for_us_then_its_429_then_ours(template: Any) -> None:
    assert b"Too many requests" in refuse().content
    template("429.html", "the site's 429 for {{ decision.rule }}, {{ retry_after_s }} s, {{ status }}")
    assert refuse().content == b"the site's 429 for login, 42 s, 429"
    template("ratewindow/429.html", "the site's page for {{ decision.rule }}: {{ message }}{{ detail }} {{ wait }}")
    assert refuse().content == b"the site's page for login: Too many requests. Try again in 42 seconds. 42 seconds"


def test_a_site_may_build_on_our_page(template: Any) -> None:
    template("429.html", '{% extends "ratewindow/429.html" %}{% block words %}<p>Patience.</p>{% endblock %}')
    page = refuse().content.decode()
    assert "<p>Patience.</p>" in page
    assert "k7f2q" in page


def test_without_templates_of_apps_the_sites_own_is_found_and_else_there_is_text(tmp_path: Path) -> None:
    bare = {"BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": [str(tmp_path)], "APP_DIRS": False}
    with override_settings(TEMPLATES=[bare]):
        assert refuse().content == b"Too many requests. Try again in 42 seconds.\n"
        _found_anew()
        (tmp_path / "429.html").write_text("bare")
        assert refuse().content == b"bare"
    with override_settings(TEMPLATES=[]):
        assert refuse().content == b"Too many requests. Try again in 42 seconds.\n"


def test_who_is_refused_because_we_cannot_count_sees_another_page(handler429: Any, template: Any) -> None:
    handler429(own)  # it is about limits
    template("429.html", "too many")
    page = refuse(AWAY)
    assert (page.status_code, page["Retry-After"]) == (503, "2")
    assert "This site cannot answer right now." in page.content.decode()
    assert "Please wait <strong>2 seconds</strong>" in page.content.decode()
    template("503.html", "busy: {{ title }}")
    assert refuse(AWAY).content == b"busy: The service is busy"
    template("ratewindow/503.html", "our busy page")
    assert refuse(AWAY).content == b"our busy page"


def test_after_it_the_request_has_what_can_be_charged_again(handler429: Any) -> None:
    handler429(own)
    request, view = RequestFactory().get("/", headers={"Accept": "text/html"}), decorated(False, "own", "0/m")
    assert view(request).content == b"own page for own"
    request.ratewindow.charge(1)  # type: ignore[attr-defined]


def test_of_an_exception_the_handler_finds_the_decision_that_was_raised(handler429: Any) -> None:
    handler429(own)
    RateRule.objects.define("mail", "0/m", mode="enforce")
    RateRule.objects.define("site", "9/m", mode="enforce", prefix="/")

    def view(request: HttpRequest) -> Any:
        try:
            ratewindow.hit("mail", "user:42", raise_exception=True)
        except RateLimited as error:
            answered = RateWindowMiddleware(plain(False)).process_exception(request, error)
        return answered

    response = get(behind_middleware(view), headers={"accept": BROWSER})
    assert response.content == b"own page for mail"
    assert response["RateLimit-Policy"] == '"site";q=9;w=60'


def test_the_page_may_ask_the_database_under_asgi_too(handler429: Any) -> None:
    def counting(request: HttpRequest) -> HttpResponse:
        return HttpResponse(f"{User.objects.count()} users")

    handler429(counting)
    view = decorated(True, "page", "1/m")
    get(view)
    assert get(view, headers={"accept": BROWSER}).content == b"0 users"


@override_settings(ROOT_URLCONF="no.such.urls")
def test_a_urlconf_that_cannot_be_imported_breaks_no_refusal() -> None:
    assert "k7f2q" in refuse().content.decode()
