"""Ready rules in a real browser: read in both themes and on a phone, and saved by keyboard."""

from typing import Any

import pytest
from django.urls import reverse

from ratewindow.models import RateRule
from tests.browser.chromium import CONTRAST, IN_A_BROWSER

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]

LIST = reverse("admin:ratewindow_raterule_changelist")


def test_they_can_be_read_in_both_themes_and_on_a_phone(open_page: Any, look: Any) -> None:
    page = open_page(**look)
    for url in (LIST, reverse("admin:ratewindow_raterule_ready")):
        page.goto(url)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), url
        for each in page.locator(".rw-ready :is(h3, p, strong, .help, .rw-sentence, .rw-button)").all():
            assert each.evaluate(CONTRAST) >= 4.5, each.inner_text()


def test_one_is_saved_in_shadow_by_keyboard_from_the_empty_list(open_page: Any) -> None:
    page = open_page(LIST)
    button = page.get_by_role("button", name="Save in shadow: search", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".messagelist .success")
    assert RateRule.objects.get().mode == "shadow"
    page.get_by_text("Rule search applies there.").wait_for()


def test_all_three_of_a_login_are_saved_by_one_button(open_page: Any) -> None:
    page = open_page(LIST)
    page.get_by_role("button", name="Save all 3 in shadow: login, login.address, login.name", exact=True).click()
    page.wait_for_selector(".messagelist .success")
    assert set(RateRule.objects.values_list("name", "mode")) == {(f"login{part}", "shadow") for part in ("", ".address", ".name")}
