"""A backtest in a real browser: from an uploaded log to a rule that real requests meet."""

import re
from io import StringIO
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from django.core.management import call_command
from django.urls import reverse

from ratewindow.counting.counters import counters
from ratewindow.models import RateRule
from tests.browser.chromium import CONTRAST, IN_A_BROWSER, sync_api
from tests.support.log_files import a_day
from tests.support.rule_pages import look

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]

PAGE = reverse("admin:ratewindow_backtest")


def upload(page: Any, rates: str = "30/m") -> None:
    page.get_by_label("Limits", exact=True).fill(rates)
    page.get_by_label("Path", exact=True).fill("/login/")
    log = {"name": "access.log", "mimeType": "text/plain", "buffer": "\n".join(a_day()).encode()}
    page.get_by_label("Access log", exact=True).set_input_files(log)
    page.get_by_role("button", name="Backtest").click()
    page.wait_for_selector(".rw-curve-plot canvas")


def asked(live_server: Any, times: int) -> list[int]:
    """The statuses of that many requests of one visitor, sent to the site."""
    found = []
    for _ in range(times):
        try:
            with urlopen(f"{live_server.url}/login/") as answer:
                found.append(answer.status)
        except HTTPError as refused:
            found.append(refused.code)
            refused.close()
    return found


def test_from_a_log_to_an_enforced_rule(open_page: Any, live_server: Any) -> None:
    page = open_page(PAGE)
    quiet(page)
    upload(page, rates="60/h")
    sync_api.expect(page.locator(".rw-summary")).to_contain_text("It would have refused nothing: it matches 2,290 requests")
    sync_api.expect(page.locator(".rw-curve-suggestion")).to_contain_text("Suggested: 8/h.")

    chosen, caught = page.get_by_label("Limit for 1 hour"), page.locator(".rw-curve-who tr[data-peak]:visible")
    sync_api.expect(chosen).to_have_value("8")
    sync_api.expect(caught).to_have_count(1)
    drag(page, 0.1)
    sync_api.expect(page.locator(".rw-curve-said")).to_contain_text("clients are caught")
    sync_api.expect(caught).to_have_count(200)
    drag(page, 0.7)
    sync_api.expect(chosen).to_have_value("20")
    sync_api.expect(caught).to_have_count(1)
    sync_api.expect(caught).to_contain_text("ip:203.0.113.9")
    sync_api.expect(caught).to_contain_text("401 ×40")
    page.get_by_role("slider", name="Limit").focus()
    page.keyboard.press("ArrowLeft")
    sync_api.expect(chosen).to_have_value("10")

    page.get_by_role("button", name="Make this a shadow rule").click()
    page.get_by_label("Name:").fill("made")
    page.get_by_role("button", name="Save in shadow").click()
    page.wait_for_url(re.compile(r"/raterule/\d+/$"))
    rule = RateRule.objects.get(name="made")
    assert (rule.mode, rule.pattern, rule.windows.get().limit) == ("shadow", "/login/", 10)

    assert asked(live_server, 25) == [200] * 25  # all within its hour
    counters.flush()
    call_command("ratewindow", "collect", stdout=StringIO())
    page.goto(look(rule))
    sync_api.expect(page.locator(".rw-passed dd strong")).to_have_text("25")
    sync_api.expect(page.locator(".rw-would dd strong")).to_have_text("15")
    page.get_by_role("button", name="Enforce", exact=True).click()
    sync_api.expect(page.locator(".messagelist")).to_contain_text("made: Enforce")
    page.wait_for_load_state("load")
    assert RateRule.objects.get(name="made").mode == "enforce"
    assert asked(live_server, 2) == [429, 429]


def quiet(page: Any) -> None:
    """What scripts ask while somebody types reads rows, which an edit would lock in this database in memory."""
    page.route("**/preview/", lambda route: route.fulfill(body=""))
    page.route("**/validate/", lambda route: route.fulfill(json={"errors": {}}))


def drag(page: Any, place: float) -> None:
    """Drag the line of the limit from the middle of the chart to a place of its width, 0 to 1."""
    chart = page.locator(".rw-curve-plot .u-over").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, height)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * place, height, steps=4)
    page.mouse.up()


def test_it_can_be_read_in_both_themes_and_on_a_phone(open_page: Any, look: Any) -> None:
    page = open_page(PAGE, **look)
    upload(page)
    readable(page)


def readable(page: Any) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for each in page.locator(".rw-backtest :is(p, label, summary, .help, a, legend, caption, button):visible").all():
        assert each.evaluate(CONTRAST) >= 4.5, each.inner_text()
