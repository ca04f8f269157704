"""The rules and the page of a refused visitor in a real browser: both themes, a phone, a strict policy."""

import re
from typing import Any

import pytest
from django.urls import reverse

from ratewindow.models import RateRule
from tests.browser.chromium import CONTRAST, IN_A_BROWSER, sync_api

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]


def test_the_rules_can_be_read_in_both_themes_and_on_a_phone(open_page: Any, look: Any) -> None:
    for mode in ("enforce", "shadow", "off"):
        RateRule.objects.define(f"{mode}-{'x' * 50}", "5/m; 20/h", path=f"/{'y' * 200}/", key="ip+header:x-api-key", mode=mode)
    page = open_page(**look)
    rule = RateRule.objects.order_by("name")[0]
    for name, arguments in (("changelist", []), ("look", [rule.pk]), ("change", [rule.pk])):
        url = reverse(f"admin:ratewindow_raterule_{name}", args=arguments)
        page.goto(url)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), url
        for each in page.locator(".rw-mode, .rw-sentence, .rw-tabs a").all():
            assert each.evaluate(CONTRAST) >= 4.5


def test_filters_are_folded_above_the_list_until_one_is_active(open_page: Any, look: Any) -> None:
    RateRule.objects.define("login", "5/m", path="/login/")
    page = open_page(reverse("admin:ratewindow_raterule_changelist"), **look)
    shadow, fold = page.get_by_role("link", name="Shadow: counts"), page.locator(".rw-filters > summary")
    assert not shadow.is_visible()
    if look["viewport"]["width"] >= 1280:  # the list is as wide as the page
        assert page.locator("#result_list").bounding_box()["width"] > 0.95 * page.locator("#content").bounding_box()["width"] - 80
    fold.click()
    assert fold.bounding_box()["y"] < shadow.bounding_box()["y"] < page.locator("#result_list").bounding_box()["y"]
    for each in (fold, shadow):
        assert each.evaluate(CONTRAST) >= 4.5
    shadow.click()
    page.wait_for_url("**mode__exact=shadow")
    assert shadow.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_a_phone_a_rule_takes_its_whole_width_and_no_limit_is_cut(open_page: Any) -> None:
    rule = RateRule.objects.define("login", "5/m; 20/h", path="/login/", key="ip+post:username", mode="enforce")[0]
    page = open_page(reverse("admin:ratewindow_raterule_changelist"), viewport={"width": 390, "height": 900})
    row = page.locator("#result_list tbody tr")
    mode, name, sentence = (row.locator(each).bounding_box() for each in (".rw-mode", "strong", ".rw-sentence"))
    assert mode["y"] < name["y"] + name["height"] and name["y"] < mode["y"] + mode["height"]  # one line
    assert sentence["y"] >= mode["y"] + mode["height"] and sentence["x"] <= mode["x"] and sentence["width"] > 300
    page.goto(reverse("admin:ratewindow_raterule_change", args=[rule.pk]))
    for field in page.locator("#windows-group :is(input, select):visible").all():
        box = field.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert page.locator("#windows-group").bounding_box()["y"] < page.get_by_text("Counting", exact=True).bounding_box()["y"]


LONG = "Too many wrong passwords. " + "w" * 270


@pytest.mark.parametrize(
    ("rule", "away", "status", "title"),
    [
        ({}, False, 429, "Too many requests"),
        ({"message": LONG, "response_status": 403}, False, 403, "Too many requests"),
        ({"on_error": "refuse"}, True, 503, "The service is busy"),
    ],
    ids=["limit", "message", "away"],
)
def test_a_refused_visitor_sees_a_styled_page_under_a_strict_policy(
    browser: Any, live_server: Any, settings: Any, look: Any, rule: Any, away: bool, status: int, title: str
) -> None:
    RateRule.objects.define("closed", "0/m", path="/search/", mode="enforce", **rule)
    if away:
        settings.RATEWINDOW = {**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}
    context = browser.new_context(**look)
    page = context.new_page()
    said: list[str] = []
    fetched: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: fetched.append(request.resource_type))
    answer = page.goto(live_server.url + "/search/", wait_until="load")
    assert answer.status == status
    assert "script-src 'self'; style-src 'self'" in answer.headers["content-security-policy"]
    assert fetched == ["document", "stylesheet"]  # it needs nothing else to be allowed
    sync_api.expect(page.get_by_role("heading", level=1)).to_have_text(title)
    assert re.fullmatch(r"[2-9a-z]{5}", page.locator("code").inner_text())
    assert page.locator("main").evaluate("(main) => getComputedStyle(main).borderRadius") == "12px"  # the stylesheet came
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for each in page.locator("h1, p, small, code").all():
        assert each.evaluate(CONTRAST) >= 4.5
    assert [text for text in said if str(status) not in text] == []
    context.close()
