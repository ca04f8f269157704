"""The tutorial, followed to the letter: its files are written, its commands typed, its buttons clicked."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import IN_A_BROWSER
from tests.support.tutorial_reader import CHECKOUT, Reader

PAGE = (CHECKOUT / "docs" / "tutorial.md").read_text(encoding="utf-8")

pytestmark = [*IN_A_BROWSER, pytest.mark.slow]


class Steps:
    """What the tutorial's numbered lists do in a browser, by the words that stand there. The names are those of its marks."""

    def __init__(self, page: Any) -> None:
        self._page = page

    def _click(self, text: str, kind: str = "") -> None:
        what = self._page.locator(kind) if kind else self._page
        with self._page.expect_navigation():
            what.get_by_text(text, exact=True).first.click()

    def _sees(self, text: str) -> None:
        assert text in re.sub(r"\s+", " ", self._page.inner_text("body"))

    def login(self, site: str) -> None:
        self._page.goto(f"{site}/accounts/login/")
        self._page.fill("[name=username]", "ann")
        self._page.fill("[name=password]", "tea-and-scones")
        self._click("Log in")
        self._sees("coffee,30")

    def change(self, site: str) -> None:
        self._page.goto(f"{site}/admin/")
        self._click("Rules")
        self._sees("1 refused")  # the sixth guess
        self._click("Edit here")
        self._page.fill("[name=windows-0-limit]", "8")
        self._click("Save and enforce")

    def shadow(self, site: str) -> None:
        self._click("Rules")
        self._click("Add rule")
        self._page.fill("[name=name]", "export")
        self._page.select_option("[name=applies_to]", label="One path")
        self._page.fill("[name=pattern]", "/export/")
        self._page.select_option("[name=key]", label="Each user")
        self._page.fill("[name=windows-0-limit]", "3")
        self._page.fill("[name=windows-0-period]", "1h")
        self._click("Save in shadow")
        for _ in range(5):
            assert self._page.goto(f"{site}/export/").status == 200
        self._page.goto(f"{site}/admin/ratewindow/raterule/")
        self._click("export")
        self._sees("Passed 5 100 % of 5")
        self._sees("Would refuse 2 of those passed")
        self._click("Enforce")
        self._page.goto(f"{site}/export/")
        self._sees("Too many requests")

    def explain(self, site: str) -> None:
        code = self._page.locator("code").inner_text()
        self._click("Open the report of rate limits")
        self._click("Explain")
        self._page.fill("[name=code]", code)
        self._click("Explain", "form.rw-choose")
        self._sees(f"{code}: refused at")
        self._sees("export")

    def block(self, site: str) -> None:
        self._click("Report")
        self._sees("Who is refused")
        self._click("Blocks")
        form = self._page.locator(".rw-block-form")
        form.get_by_label("Who").fill("header:user-agent:GreedyBot/1.0")
        form.get_by_label("Action").select_option("Block: refuse requests")
        form.get_by_label("Reason").fill("takes everything")
        self._click("Save", ".rw-block-form")
        self._sees("End now")


def test_the_tutorial_does_what_it_says(browser: Any, tmp_path: Path) -> None:
    """With what is installed here, in the place of what its reader installs."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO_", "RATEWINDOW_"))}
    programs = f"{Path(sys.executable).parent}{os.pathsep}{own['PATH']}"
    here = {"PATH": programs, "PYTHONPATH": str(CHECKOUT), "TMPDIR": str(tmp_path)}
    with browser.new_page() as page:
        Reader(tmp_path, {**own, **here}, Steps(page)).follow(PAGE)
