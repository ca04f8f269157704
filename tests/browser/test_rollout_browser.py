"""From shadow to enforce in a real browser: the box of a rule, under a strict policy."""

from typing import Any

import pytest
from django.urls import reverse

from ratewindow.models import RateRule
from tests.browser.chromium import CONTRAST, IN_A_BROWSER, opened, sync_api
from tests.support.rule_pages import ADD, change

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]


def test_a_rule_goes_from_shadow_to_enforce_and_back(open_page: Any, look: Any) -> None:
    rule = RateRule.objects.define("search", "5/m", path="/search/")[0]
    page = open_page(**look)
    box = page.locator("[aria-labelledby=rw-rollout]")

    def stands(words: str, mode: str) -> None:
        sync_api.expect(box.locator(".rw-mode")).to_have_text(words)
        page.wait_for_load_state("networkidle")  # the preview reads rows, which an edit would lock in this database in memory
        rule.refresh_from_db()
        assert rule.mode == mode

    page.goto(change(rule))
    stands("Shadow", "shadow")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for each in box.locator(".rw-mode, p, .rw-button, label, .rw-rollout-since").all():
        assert each.evaluate(CONTRAST) >= 4.5, each.inner_text()
    box.get_by_label("Reason (optional)").press("Enter")  # presses none of the buttons
    stands("Shadow", "shadow")
    box.get_by_role("button", name="Enforce").click()
    stands("Enforce", "enforce")
    box.get_by_role("button", name="Back to shadow").click()
    stands("Shadow", "shadow")


def test_what_would_refuse_its_author_takes_a_tick(browser: Any, live_server: Any, admin_client: Any) -> None:
    rule = RateRule.objects.define("all", "0/m", applies_to="all")[0]
    page = opened(browser, live_server, admin_client, viewport={"width": 400, "height": 900})
    page.goto(change(rule))
    page.get_by_role("button", name="Enforce", exact=True).click()
    page.get_by_text("You would be refused in the admin").first.wait_for()
    page.get_by_role("button", name="Save anyway").click()  # the browser asks for the tick
    assert page.locator("input[type=checkbox]:invalid").count() == 1
    page.get_by_label("I know that I would be refused in the admin").check()
    page.get_by_role("button", name="Save anyway").click()
    page.get_by_text("Saved: all: Enforce.").wait_for()
    page.goto(reverse("admin:index"))
    assert "Too many requests" in page.content()
    page.goto(change(rule))  # the way back
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
