"""The page of a rule in a real browser, under a strict policy: from shadow to enforce, its chart, and back from its form."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from ratewindow.counting.collecting import store_sums
from ratewindow.counting.sums import Sums
from ratewindow.models import RateRule
from tests.browser.chromium import CONTRAST, IN_A_BROWSER, click_to_leave, opened, sync_api, until_answered
from tests.support.rule_pages import ADD, LIST, look as look_at

GROUND = "(element) => getComputedStyle(element).backgroundColor"

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]


def test_a_rule_goes_from_shadow_to_enforce_and_back(open_page: Any, look: Any) -> None:
    rule = RateRule.objects.define("search", "5/m", path="/search/")[0]
    page = open_page(**look)
    box = page.locator("[aria-labelledby=rw-rollout]")

    def stands(words: str, mode: str) -> None:
        sync_api.expect(box.locator(".rw-mode")).to_have_text(words)
        rule.refresh_from_db()
        assert rule.mode == mode

    page.goto(look_at(rule))
    stands("Shadow", "shadow")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for each in box.locator(".rw-mode, p, .rw-button, label, .rw-rollout-since").all():
        assert each.evaluate(CONTRAST) >= 4.5, each.inner_text()
    box.get_by_label("Reason (optional)").press("Enter")  # presses none of the buttons
    stands("Shadow", "shadow")
    box.get_by_role("button", name="Enforce").click()
    stands("Enforce", "enforce")
    off = box.get_by_role("button", name="Off")
    assert off.evaluate(CONTRAST) >= 4.5
    assert off.evaluate(GROUND) == "rgb(186, 33, 33)"
    switch = page.locator(".rw-tabs .rw-harm")  # red, too, but not the loudest of the page
    assert switch.evaluate(CONTRAST) >= 4.5 and switch.evaluate(GROUND) == "rgba(0, 0, 0, 0)"
    box.get_by_role("button", name="Back to shadow").click()
    stands("Shadow", "shadow")


def test_its_chart_is_drawn_and_a_part_of_it_looked_at_closer(open_page: Any, look: Any) -> None:
    rule = RateRule.objects.define("search", "5/m", path="/search/")[0]
    start = timezone.now().replace(second=0, microsecond=0) - timedelta(hours=2)
    store_sums({(start, "search"): Sums(passed=41, would_refuse=9)})
    page = open_page(look_at(rule), **look)
    page.locator("#rw-chart canvas").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for each in page.locator(".rw-look :is(p, dt, dd span, summary, li):visible").all():
        assert each.evaluate(CONTRAST) >= 4.5, each.inner_text()
    page.locator(".rw-plot").press("Shift+Home")
    page.locator(".rw-plot").press("Enter")
    page.wait_for_url("**start=**")
    sync_api.expect(page.locator("dd strong").first).to_have_text("41")


def test_from_the_list_to_a_rule_to_its_form_and_back(open_page: Any) -> None:
    rule = RateRule.objects.define("search", "5/m", path="/search/")[0]
    page = open_page(LIST)
    page.get_by_role("link", name="search").click()
    page.get_by_role("link", name="Edit", exact=True).click()
    until_answered(page)
    page.locator(".breadcrumbs").get_by_role("link", name="search").click()
    click_to_leave(page, page.get_by_role("link", name="Edit", exact=True))
    page.fill("[name=windows-0-limit]", "7")
    until_answered(page)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("at most 7 in 1 minute").wait_for()
    assert page.url.endswith(look_at(rule))


def test_what_would_refuse_its_author_takes_a_tick(browser: Any, live_server: Any, admin_client: Any) -> None:
    rule = RateRule.objects.define("all", "0/m", applies_to="all")[0]
    page = opened(browser, live_server, admin_client, viewport={"width": 400, "height": 900})
    page.goto(look_at(rule))
    page.get_by_role("button", name="Enforce", exact=True).click()
    page.get_by_text("You would be refused in the admin").first.wait_for()
    page.get_by_role("button", name="Save anyway").click()  # the browser asks for the tick
    assert page.locator("input[type=checkbox]:invalid").count() == 1
    page.get_by_label("I know that I would be refused in the admin").check()
    page.get_by_role("button", name="Save anyway").click()
    page.get_by_text("Saved: all: Enforce.").wait_for()
    page.goto(reverse("admin:index"))
    assert "Too many requests" in page.content()
    page.goto(look_at(rule))  # the way back
    page.get_by_role("button", name="Back to shadow").click()
    page.locator(".rw-rollout .rw-mode", has_text="Shadow").wait_for()
    page.goto(reverse("admin:index"))
    assert "Too many requests" not in page.content()
    page.goto(ADD)
    assert page.locator("input.rw-save").evaluate_all("(all) => all.map((each) => each.value)") == [
        "Save in shadow",
        "Save and enforce",
    ]
    page.context.close()
