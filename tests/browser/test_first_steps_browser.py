"""Ready rules in a real browser: read in both themes and on a phone."""

from typing import Any

import pytest
from django.urls import reverse

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
