"""A backtest in a real browser: a log is uploaded, the limit chosen by keyboard, and the rule made of it enforced."""

import json
from typing import Any

import pytest
from django.urls import reverse

from ratewindow.models import Evidence, RateRule
from tests.browser.chromium import CONTRAST, IN_A_BROWSER, sync_api
from tests.support.log_files import a_day

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]

PAGE = reverse("admin:ratewindow_backtest")


def upload(page: Any, rates: str = "30/m") -> None:
    page.get_by_label("A rule that does not exist yet").check()
    page.get_by_label("Limits", exact=True).fill(rates)
    page.get_by_label("Applies to").select_option("path")
    page.get_by_label("Path or route").fill("/login/")
    log = {"name": "access.log", "mimeType": "text/plain", "buffer": "\n".join(a_day()).encode()}
    page.get_by_label("Access log").set_input_files(log)
    page.get_by_role("button", name="Backtest").click()
    page.wait_for_selector(".rw-curve-plot canvas")


def test_from_a_log_to_an_enforced_rule(open_page: Any) -> None:
    page = open_page(PAGE)
    upload(page)
    sync_api.expect(page.locator(".rw-summary")).to_contain_text("It would have refused 10 of the 2,290 requests")
    sync_api.expect(page.locator(".rw-curve-suggestion")).to_contain_text("Suggested: 8/m.")
    page.get_by_role("slider", name="Limit").focus()
    page.keyboard.press("ArrowRight")
    sync_api.expect(page.get_by_label("Limit for 1 minute")).to_have_value("9/m")
    page.get_by_role("button", name="Make this a shadow rule").click()
    page.get_by_label("Name:").fill("made")
    page.get_by_role("button", name="Save in shadow").click()
    page.wait_for_url("**/raterule/")
    rule = RateRule.objects.get(name="made")
    assert (rule.mode, rule.pattern, rule.windows.get().limit) == ("shadow", "/login/", 9)
    page.get_by_role("link", name="made").first.click()
    sync_api.expect(page.locator(".rw-rollout .rw-evidence")).to_contain_text("chose 9/m on")
    page.get_by_text("The curve of limits").click()
    sync_api.expect(page.locator(".rw-evidence .rw-curve-plot canvas")).to_be_visible()
    page.get_by_role("button", name="Enforce for all").click()
    sync_api.expect(page.locator(".messagelist")).to_contain_text("Now enforced")
    assert RateRule.objects.get(name="made").mode == "enforce"
    assert json.dumps(Evidence.objects.get().periods).count("203.0.113") == 0


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
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for each in page.locator(".rw-backtest :is(p, label, summary, .help, a, legend, caption):visible").all():
        assert each.evaluate(CONTRAST) >= 4.5, each.inner_text()
