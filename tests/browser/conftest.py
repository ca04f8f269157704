"""What a browser needs around it."""

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import modify_settings
from pytest_django.live_server_helper import LiveServer


@pytest.fixture(scope="session", autouse=True)
def _system_programs_on_path() -> Iterator[None]:
    """Debian's chromium begins as a shell script: it fails where PATH holds less than the usual programs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.pathsep.join(filter(None, (os.environ.get("PATH"), "/usr/bin", "/bin"))))
        yield


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """For this module only: while it is open an event loop runs in this thread, which Django is told to bear."""
    from tests.browser.chromium import ARGUMENTS, CHROMIUM, sync_api

    with pytest.MonkeyPatch.context() as patch, sync_api.sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(params=[(1280, "light"), (400, "dark")], ids=["wide-light", "phone-dark"])
def look(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Options of a page: each width and each theme once, since what a theme colours is as wide in the other."""
    width, scheme = request.param
    return {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}


_AT_WORK_S = 60.0  # more than any answer takes: a server that hangs fails the test
_at_work = threading.Condition()
_requests = [0]  # that the server has yet to answer


@pytest.fixture(scope="session")
def live_server() -> Iterator[LiveServer]:
    """The site under a strict policy. A server takes its middleware once, when it starts: a test cannot add any."""
    with modify_settings(MIDDLEWARE={"prepend": [f"{__name__}.{each.__name__}" for each in (counted, strict_policy)]}):
        server = LiveServer("localhost")
    yield server
    server.stop()


def strict_policy(get_response: Any) -> Any:
    """Middleware that allows files of the site alone, as Django's own does when configured so."""

    def middleware(request: Any) -> Any:
        response = get_response(request)
        response["Content-Security-Policy"] = (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
            "form-action 'self'; base-uri 'none'"
        )
        return response

    return middleware


def counted(get_response: Any) -> Any:
    """Middleware that knows how many requests are being answered: a page that is left does not wait for what it has asked."""

    def middleware(request: Any) -> Any:
        with _at_work:
            _requests[0] += 1
        try:
            return get_response(request)
        finally:
            with _at_work:
                _requests[0] -= 1
                _at_work.notify_all()

    return middleware


def _is_ours(message: Any) -> bool:
    """Not about the site's icon, which a rule on everything refuses."""
    return not message.location.get("url", "").endswith("/favicon.ico")


@pytest.fixture
def open_page(browser: Any, live_server: Any, admin_client: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address as an administrator; an error in the console, such as a violated policy, is one here."""
    from tests.browser.chromium import opened, until_answered

    scripted: list[Any] = []
    contexts: list[Any] = []
    said: list[str] = []

    def open_page(address: str = "", **options: Any) -> Any:
        page = opened(browser, live_server, admin_client, **options)
        contexts.append(page.context)
        if options.get("java_script_enabled", True):
            scripted.append(page)
        page.on("console", lambda message: message.type == "error" and _is_ours(message) and said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        if address:
            page.goto(address)
        return page

    yield open_page
    for page in scripted:
        page.evaluate("() => { window.fetch = () => new Promise(() => {}); }")  # it asks no more
        until_answered(page)
    for context in contexts:
        context.close()
    with _at_work:  # the database cannot be emptied while the server reads it
        assert _at_work.wait_for(lambda: not _requests[0], _AT_WORK_S)
    assert said == []
