"""Explain in a real browser: from the code of a refused visitor to its release; in both themes, on a phone, by keyboard."""

import json
from typing import Any

import pytest
from django.urls import reverse

from ratewindow.models import Override
from tests.browser.chromium import CONTRAST, IN_A_BROWSER, sync_api
from tests.support.rule_pages import define

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]

EXPLAIN = reverse("admin:ratewindow_explain")


def make() -> None:
    define("login", "2/h; 20/d", path="/search/", mode="enforce")
    define("search.try", "1/h", path="/search/")
    define("api", "100/h", prefix="/api/", mode="enforce")
    define("export", "10/h", mode="enforce")
    define("some", "100/h", path="/search/", mode="enforce", enforce_percent=10, key="user", cost=2)
    Override.objects.rate("ip:203.0.113.0/24", "1000/h", rule="api", reason="a partner")


def visit(live_server: Any, browser: Any, count: int = 1) -> Any:
    """What a visitor gets who is not staff."""
    with_cookies = browser.new_context()
    responses = [
        with_cookies.request.get(f"{live_server.url}/search/", headers={"Accept": "application/problem+json"})
        for _ in range(count)
    ]
    found = [(each.status, each.text()) for each in responses]
    with_cookies.close()
    return found


def test_it_can_be_read_in_both_themes_and_on_a_phone(browser: Any, live_server: Any, open_page: Any, look: Any) -> None:
    make()
    visit(live_server, browser, 3)
    page = open_page(**look)
    code = json.loads(visit(live_server, browser)[0][1])["code"]
    for query in ("", f"?code={code}", "?code=x", "?by=request", "?path=/search/&address=127.0.0.1", "?path=x&headers=y"):
        page.goto(EXPLAIN + query)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), query
        for each in page.locator(".rw-explain :is(p, td, th, li, label, summary, .help, a, .rw-mode)").all():
            if each.is_visible():
                assert each.evaluate(CONTRAST) >= 4.5, each.inner_text()


def test_a_refused_visitor_is_found_by_the_code_released_by_click_and_admitted(
    browser: Any, live_server: Any, open_page: Any
) -> None:
    make()
    told = visit(live_server, browser, 3)
    assert [status for status, _ in told] == [200, 200, 429]
    page = open_page(EXPLAIN)
    page.get_by_label("Code").fill(json.loads(told[2][1])["code"])
    page.keyboard.press("Enter")
    sync_api.expect(page.get_by_role("heading", name="refused at")).to_be_visible()
    page.get_by_role("link", name="What is answered now").click()
    sync_api.expect(page.locator(".rw-summary")).to_contain_text("REFUSED by login: its limit is reached.")
    page.get_by_role("link", name="Release…").click()
    page.get_by_label("Reason").fill("knows us")
    page.get_by_role("button", name="Release").click()
    sync_api.expect(page.locator(".messagelist")).to_contain_text("its counts under login deleted")
    assert [status for status, _ in visit(live_server, browser)] == [200]


def test_a_request_is_typed_by_keyboard_alone(open_page: Any) -> None:
    make()
    page = open_page(EXPLAIN)
    page.get_by_label("Code").focus()
    page.keyboard.press("Shift+Tab")  # to the tab beside
    page.keyboard.press("Enter")
    page.get_by_label("Method").focus()
    page.keyboard.press("P")  # POST
    for text in ("/search/", "203.0.113.9"):
        page.keyboard.press("Tab")
        page.keyboard.type(text)
    page.keyboard.press("Enter")
    sync_api.expect(page.get_by_role("status")).to_contain_text("PASSES: no rule refuses it.")
    sync_api.expect(page.get_by_role("heading", name="POST /search/")).to_be_visible()
