"""The history in a real browser: read in both themes and on a phone, and an edit undone from it."""

from typing import Any

import pytest
from django.urls import reverse

from ratewindow.contrib.history.models import Edit
from ratewindow.models import Override, RateRule, origin
from ratewindow.operations.clients import release
from tests.browser.chromium import CONTRAST, IN_A_BROWSER, click_to_leave, sync_api

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]

ALL = reverse("admin:ratewindow_history_edit_changelist")


def make() -> RateRule:
    """Edits of every kind, the last of them of the rule ``login``."""
    RateRule.objects.define("y" * 64, "5/s", path=f"/{'x' * 200}/", key="ip+header:x-api-key")
    block = Override.objects.block("ip:203.0.113.0/24", duration="2h", reason="password guessing", source="admin")
    release("user:42")
    block.delete()
    fields = {"path": "/login/", "key": "ip+post:username", "methods": "POST"}
    RateRule.objects.define("login", "5/m; 20/h", mode="enforce", **fields)
    with origin.edits("admin", by="ada", reason="a campaign brings many at once"):
        rule, _ = RateRule.objects.define("login", "20/m; 100/h", overwrite=True, mode="shadow", **fields)
    return rule


def test_it_can_be_read_in_both_themes_and_on_a_phone(open_page: Any, look: Any) -> None:
    rule = make()
    edit = Edit.objects.order_by("-at")[0]
    page = open_page(**look)
    urls = {
        "all": ALL,
        "rule": reverse("admin:ratewindow_raterule_history", args=[rule.pk]),
        "edit": reverse("admin:ratewindow_history_edit_change", args=[edit.pk]),
    }
    for url in urls.values():
        page.goto(url)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), url
        for each in page.locator(".rw-mode, .rw-sentence, .rw-who, .rw-changes :is(dt, del, ins)").all():
            assert each.evaluate(CONTRAST) >= 4.5, (url, each.inner_html())


def test_an_edit_is_undone_from_the_history_of_its_rule(open_page: Any) -> None:
    rule = make()
    page = open_page(reverse("admin:ratewindow_raterule_look", args=[rule.pk]))
    page.locator(".object-tools a", has_text="History").click()
    click_to_leave(page, page.get_by_role("link", name="Restore…").first)
    sync_api.expect(page.locator("#content-main")).to_contain_text("Limit in 1m")
    page.get_by_label("Reason").fill("the campaign is over")
    page.get_by_role("button", name="Restore").click()
    sync_api.expect(page.locator(".messagelist")).to_contain_text("Restored: Rule login.")
    rule.refresh_from_db()
    assert rule.mode == "enforce" and [window.limit for window in rule.windows.all()] == [5, 20]
    click_to_leave(page, page.get_by_role("link", name="Undo…"))
    page.get_by_label("Reason").fill("it is not")
    page.get_by_role("button", name="Restore").click()
    sync_api.expect(page.locator(".messagelist")).to_contain_text("Restored: Rule login.")
    rule.refresh_from_db()
    assert rule.mode == "shadow" and [window.limit for window in rule.windows.all()] == [20, 100]
