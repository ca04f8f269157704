"""Export, change and import in a real browser: both themes, a phone, the keyboard, a strict policy."""

import re
from pathlib import Path
from typing import Any

import pytest

from ratewindow.models import RateRule
from ratewindow.operations.documents.applying import apply
from tests.browser.chromium import CONTRAST, IN_A_BROWSER
from tests.support.document_pages import EXPORT, IMPORT, written
from tests.support.documents import BLOCK, LOGIN, OFF, SEARCH, document
from tests.support.rule_pages import LIST

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]


def test_an_export_is_changed_and_imported_with_its_preview(open_page: Any, tmp_path: Path) -> None:
    apply(document(rules=[LOGIN, SEARCH]))
    page = open_page(LIST)
    page.get_by_role("link", name="Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    file = tmp_path / "limits.yaml"
    download.value.save_as(file)
    file.write_text(file.read_text().replace("limit: 5,", "limit: 7,"))
    page.goto(LIST)
    page.get_by_role("link", name="Import", exact=True).click()
    page.get_by_label("File:", exact=True).set_input_files(file)
    page.get_by_role("button", name="Show what would change").click()
    change = page.locator(".rw-change")
    assert re.sub(r"\s+", " ", change.inner_text()).strip().endswith("Limit in 1m 5 7")
    page.get_by_label("Why").fill("more for the campaign")
    page.get_by_label("Why").press("Enter")
    page.get_by_text("Imported: 0 added, 1 changed, 0 removed.").wait_for()
    assert RateRule.objects.get(name="login").windows.first().limit == 7


def test_the_pages_can_be_read_in_both_themes_and_on_a_phone(open_page: Any, look: Any) -> None:
    apply(document(rules=[LOGIN, SEARCH]))
    page = open_page(**look)
    long = {**SEARCH, "name": "x" * 64, "description": "y" * 300, "pattern": f"/{'z' * 200}/"}
    content = document(rules=[{**LOGIN, "cost": 2, "message": "Later, please."}, long], overrides=[BLOCK], switch=OFF)
    for url in (EXPORT, IMPORT):
        page.goto(url)
        _is_readable(page)
    page.get_by_label("Or paste it here").fill("rules: [")
    page.get_by_role("button", name="Show what would change").click()
    page.locator(".errorlist").wait_for()
    _is_readable(page)
    page.get_by_label("Or paste it here").fill(written(content))
    page.get_by_label("Delete what the file does not have").check()
    page.get_by_role("button", name="Show what would change").click()
    page.locator(".rw-change").first.wait_for()
    _is_readable(page)


def _is_readable(page: Any) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.url
    for each in page.locator(".rw-document :is(p, th, td, h2, .rw-mode, li, label)").all():
        if each.is_visible() and each.inner_text().strip():
            assert each.evaluate(CONTRAST) >= 4.5, (page.url, each.inner_text())
