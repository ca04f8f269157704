"""What a rule amounts to, said while somebody types, in a real browser: under a strict policy, and on a phone."""

from typing import Any

import pytest
from django.urls import reverse

from ratewindow.models import RateRule
from tests.browser.chromium import CONTRAST, IN_A_BROWSER, sync_api

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]


def fill(page: Any, path: str) -> None:
    page.select_option("#id_applies_to", "path")
    page.fill("#id_pattern", path)
    page.fill("#id_windows-0-limit", "3")
    page.fill("#id_windows-0-period", "1m")


def test_it_is_said_while_somebody_types_and_nothing_is_saved(open_page: Any) -> None:
    page = open_page(reverse("admin:ratewindow_raterule_add"))
    said = page.locator(".rw-preview").first
    sync_api.expect(said).to_contain_text("as soon as the form is filled in")
    fill(page, "/login/")
    sync_api.expect(said).to_contain_text("Each address: at most 3 in 1 minute, on /login/.")
    sync_api.expect(said).to_contain_text("routes: login.")
    page.fill("#id_windows-0-limit", "0")
    sync_api.expect(said.locator(".rw-preview-warnings")).to_contain_text("The limit of 0 in 1m refuses every request")
    assert said.get_attribute("aria-live") == "polite"
    assert not RateRule.objects.exists()


def test_on_a_phone_it_stands_at_the_end_again_and_can_be_read(open_page: Any) -> None:
    rule = RateRule.objects.define("login", "5/m", path=f"/{'y' * 200}/", key="ip+header:x-api-key", cost=9)[0]
    url = reverse("admin:ratewindow_raterule_change", args=[rule.pk])
    page = open_page(url, viewport={"width": 400, "height": 900}, color_scheme="dark")
    above, below = page.locator(".rw-preview").all()
    assert below.is_visible() and below.inner_text() == above.inner_text()
    assert below.bounding_box()["y"] < page.locator(".submit-row").bounding_box()["y"]
    page.fill("#id_cost", "2") if page.locator("#id_cost").is_visible() else page.fill("#id_windows-0-limit", "99")
    sync_api.expect(below).not_to_contain_text("refuses every request")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for each in page.locator(".rw-preview p").all():
        assert each.evaluate(CONTRAST) >= 4.5
