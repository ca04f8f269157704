"""Export, change and import in a real browser: both themes, a phone, the keyboard, a strict policy."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from ratewindow.models import RateRule
from ratewindow.operations.documents.applying import apply
from tests.browser.chromium import CONTRAST, IN_A_BROWSER, STRICT_POLICY, opened
from tests.support.document_pages import EXPORT, IMPORT, written
from tests.support.documents import BLOCK, LOGIN, OFF, SEARCH, document
from tests.support.rule_pages import LIST

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]


def test_an_export_is_changed_and_imported_with_its_preview(
    browser: Any, live_server: Any, admin_client: Any, tmp_path: Path
) -> None:
    apply(document(rules=[LOGIN, SEARCH]))
    violations: list[str] = []
    with override_settings(MIDDLEWARE=[STRICT_POLICY, *settings.MIDDLEWARE]):
        page = opened(browser, live_server, admin_client, viewport={"width": 1280, "height": 900})
        page.on("console", lambda message: violations.append(message.text) if "Content" in message.text else None)
        page.goto(live_server.url + LIST)
        page.get_by_role("link", name="Export", exact=True).click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download").click()
        file = tmp_path / "limits.yaml"
        download.value.save_as(file)
        file.write_text(file.read_text().replace("limit: 5,", "limit: 7,"))
        page.goto(live_server.url + LIST)
        page.get_by_role("link", name="Import", exact=True).click()
        page.get_by_label("File:", exact=True).set_input_files(file)
        page.get_by_role("button", name="Show what would change").click()
        change = page.locator(".rw-change")
        assert re.sub(r"\s+", " ", change.inner_text()).strip().endswith("Limit in 1m 5 7")
        page.get_by_label("Why").fill("more for the campaign")
        page.get_by_label("Why").press("Enter")
        page.get_by_text("Imported: 0 added, 1 changed, 0 removed.").wait_for()
        page.context.close()
    assert RateRule.objects.get(name="login").windows.first().limit == 7
    assert violations == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_the_pages_can_be_read_in_both_themes_and_on_a_phone(
    browser: Any, live_server: Any, admin_client: Any, scheme: str, width: int, request: pytest.FixtureRequest
) -> None:
    apply(document(rules=[LOGIN, SEARCH]))
    page = opened(browser, live_server, admin_client, color_scheme=scheme, viewport={"width": width, "height": 900})
    long = {**SEARCH, "name": "x" * 64, "description": "y" * 300, "pattern": f"/{'z' * 200}/"}
    content = document(rules=[{**LOGIN, "cost": 2, "message": "Later, please."}, long], overrides=[BLOCK], switch=OFF)
    for url in (EXPORT, IMPORT):
        page.goto(live_server.url + url, wait_until="load")
        _is_readable(page, f"{url.split('/')[-2]}-{scheme}-{width}")
    page.get_by_label("Or paste it here").fill("rules: [")
    page.get_by_role("button", name="Show what would change").click()
    _is_readable(page, f"wrong-{scheme}-{width}")
    page.get_by_label("Or paste it here").fill(written(content))
    page.get_by_label("Delete what the file does not have").check()
    page.get_by_role("button", name="Show what would change").click()
    page.locator(".rw-change").first.wait_for()
    _is_readable(page, f"preview-{scheme}-{width}")
    page.context.close()


def _is_readable(page: Any, name: str) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    for each in page.locator(".rw-document :is(p, th, td, h2, .rw-mode, li, label)").all():
        if each.is_visible() and each.inner_text().strip():
            assert each.evaluate(CONTRAST) >= 4.5, (name, each.inner_text())
