"""Ready rules in a real browser: read in both themes and on a phone, and saved by keyboard."""

from typing import Any

import pytest
from django.urls import reverse

from ratewindow.models import RateRule
from tests.browser.chromium import CONTRAST, IN_A_BROWSER, STRICT_POLICY, opened

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]

LIST = reverse("admin:ratewindow_raterule_changelist")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_they_can_be_read_in_both_themes_and_on_a_phone(
    browser: Any, live_server: Any, admin_client: Any, scheme: str, width: int
) -> None:
    page = opened(browser, live_server, admin_client, color_scheme=scheme, viewport={"width": width, "height": 900})
    for url in (LIST, reverse("admin:ratewindow_raterule_ready")):
        page.goto(live_server.url + url, wait_until="load")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), url
        for each in page.locator(".rw-ready :is(h3, p, strong, .rw-sentence, .rw-button)").all():
            assert each.evaluate(CONTRAST) >= 4.5, each.inner_text()
    page.context.close()


def test_one_is_saved_in_shadow_by_keyboard_from_the_empty_list(
    browser: Any, live_server: Any, admin_client: Any, settings: Any
) -> None:
    settings.MIDDLEWARE = [STRICT_POLICY, *settings.MIDDLEWARE]
    page = opened(browser, live_server, admin_client)
    said: list[str] = []
    page.on("console", lambda message: message.type == "error" and said.append(message.text))
    page.goto(live_server.url + LIST, wait_until="load")
    button = page.get_by_role("button", name="Save in shadow: login", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".messagelist .success")
    assert RateRule.objects.get().mode == "shadow"
    assert page.get_by_text("Rule login applies there.").is_visible()
    assert said == []
    page.context.close()
