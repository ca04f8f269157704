"""A backtest in a real browser: from an uploaded log, or what was recorded, to a rule that real requests meet."""

import json
from io import StringIO
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from django.core.management import call_command
from django.urls import reverse

from ratewindow.models import Evidence, RateRule
from ratewindow.reporting import counters
from tests.browser.chromium import CONTRAST, IN_A_BROWSER, sync_api
from tests.support.log_files import a_day
from tests.support.recorded_week import recorded_week
from tests.support.rule_pages import change

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]

PAGE = reverse("admin:ratewindow_backtest")


def upload(page: Any, rates: str = "30/m") -> None:
    page.get_by_label("A rule that does not exist yet").check()
    page.get_by_label("Limits", exact=True).fill(rates)
    page.get_by_label("Applies to").select_option("path")
    page.get_by_label("Path or route").fill("/login/")
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
    sync_api.expect(page.locator(".rw-summary")).to_contain_text("It would have refused nothing: it meets 2,290 requests")
    sync_api.expect(page.locator(".rw-curve-suggestion")).to_contain_text("Suggested: 8/h.")

    chosen, caught = page.get_by_label("Limit for 1 hour"), page.locator(".rw-curve-who tr[data-peak]:visible")
    sync_api.expect(chosen).to_have_value("8/h")
    sync_api.expect(caught).to_have_count(1)
    drag(page, 0.1)
    sync_api.expect(page.locator(".rw-curve-said")).to_contain_text("clients are caught")
    sync_api.expect(caught).to_have_count(200)
    drag(page, 0.7)
    sync_api.expect(chosen).to_have_value("20/h")
    sync_api.expect(caught).to_have_count(1)
    sync_api.expect(caught).to_contain_text("ip:203.0.113.9")
    sync_api.expect(caught).to_contain_text("401 ×40")
    page.get_by_role("slider", name="Limit").focus()
    page.keyboard.press("ArrowLeft")
    sync_api.expect(chosen).to_have_value("15/h")

    page.get_by_role("button", name="Make this a shadow rule").click()
    page.get_by_label("Name:").fill("made")
    page.get_by_role("button", name="Save in shadow").click()
    page.wait_for_url("**/raterule/")
    rule = RateRule.objects.get(name="made")
    assert (rule.mode, rule.pattern, rule.windows.get().limit) == ("shadow", "/login/", 15)

    assert asked(live_server, 25) == [200] * 25  # all within its hour
    counters.flush()
    call_command("ratewindow", "collect", stdout=StringIO())
    page.goto(change(rule))
    box = page.locator("[aria-labelledby=rw-rollout]")
    sync_api.expect(box).to_contain_text("it met 25 requests and would have refused 10 of them (40 %). They came from 1 client")
    sync_api.expect(box.locator(".rw-evidence")).to_contain_text("chose 15/h on")
    sync_api.expect(box.locator(".rw-evidence")).to_contain_text("by a backtest of access.log")
    sync_api.expect(box.locator(".rw-evidence")).to_contain_text("Suggested was 8/h.")
    page.get_by_text("The curve of limits").click()
    sync_api.expect(page.locator(".rw-evidence .rw-curve-plot canvas")).to_be_visible()
    page.get_by_role("button", name="Enforce for all").click()
    sync_api.expect(page.locator(".messagelist")).to_contain_text("Now enforced")
    page.wait_for_load_state("load")
    assert RateRule.objects.get(name="made").mode == "enforce"
    assert asked(live_server, 2) == [429, 429]
    assert json.dumps(Evidence.objects.get().periods).count("203.0.113") == 0


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


def test_two_logs_stand_side_by_side(open_page: Any, look: Any) -> None:
    page = open_page(PAGE, **look)
    ordinary = [each for each in a_day() if not each.startswith("203.0.113.9")]
    other = {"name": "ordinary.log", "mimeType": "text/plain", "buffer": "\n".join(ordinary).encode()}
    page.get_by_label("Compare with another log").set_input_files(other)
    upload(page)
    sync_api.expect(page.get_by_role("heading", name="The other log: ordinary.log")).to_be_visible()
    sync_api.expect(page.locator(".rw-curve-legend .rw-curve-beside")).to_be_visible()
    sync_api.expect(page.locator(".rw-curve-nobody:visible")).to_have_count(1)  # 8 in a minute catch one client, of the first log
    readable(page)


def test_what_the_site_has_recorded_is_looked_at_in_the_place_of_a_log_and_tried(open_page: Any, look: Any) -> None:
    rule = RateRule.objects.define("search", "10/m", path="/search/", mode="enforce")[0]
    recorded_week(rule, refused=20)
    page = open_page(PAGE, **look)
    sync_api.expect(page.get_by_label("Recorded limit")).to_be_hidden()
    page.get_by_label("What this site has recorded of a rule").check()
    sync_api.expect(page.get_by_label("Access log", exact=True)).to_be_hidden()
    sync_api.expect(page.get_by_label("Never to be refused")).to_be_hidden()
    page.get_by_role("button", name="Backtest").click()
    page.wait_for_selector(".rw-curve-plot canvas")
    sync_api.expect(page.locator(".rw-summary")).to_contain_text("The limit refused 80 of them")
    readable(page)
    quiet(page)
    page.get_by_role("button", name="Try beside the live rule").click()
    sync_api.expect(page.locator(".messagelist")).to_contain_text("Tried in shadow")
    page.wait_for_load_state("load")
    rule.refresh_from_db()
    assert rule.candidate == "6/m" and rule.windows.get().limit == 10


def test_only_what_goes_with_the_choice_is_shown(open_page: Any) -> None:
    page = open_page(PAGE)
    sync_api.expect(page.get_by_label("Rule", exact=True)).to_be_visible()
    sync_api.expect(page.get_by_label("Applies to")).to_be_hidden()
    page.get_by_label("All rules of this site as they are").check()
    sync_api.expect(page.get_by_label("Limits", exact=True)).to_be_hidden()
    page.get_by_label("A rule that does not exist yet").check()
    sync_api.expect(page.get_by_label("Applies to")).to_be_visible()
    sync_api.expect(page.get_by_label("Path or route")).to_be_hidden()


def test_it_can_be_read_in_both_themes_and_on_a_phone(open_page: Any, look: Any) -> None:
    page = open_page(PAGE, **look)
    upload(page)
    readable(page)


def readable(page: Any) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for each in page.locator(".rw-backtest :is(p, label, summary, .help, a, legend, caption, button):visible").all():
        assert each.evaluate(CONTRAST) >= 4.5, each.inner_text()
