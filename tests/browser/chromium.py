"""Debian's chromium, and what a page in it is measured by."""

from pathlib import Path
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright here: the pages were not tried in a browser")

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

IN_A_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no {CHROMIUM} here: the pages were not tried in a browser"),
]

COLOURS = """() => {
    const canvas = document.querySelector("#rw-chart canvas");
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const found = new Map();
    for (let i = 0; i < data.length; i += 4)
        if (data[i + 3] == 255) {
            const colour = `rgb(${data[i]}, ${data[i + 1]}, ${data[i + 2]})`;
            found.set(colour, (found.get(colour) || 0) + 1);
        }
    return [...found].sort((a, b) => b[1] - a[1]).slice(0, 3).map((each) => each[0]).sort();
}"""
SWATCHES = """() => [...document.querySelectorAll(".rw-legend .rw-swatch")]
    .map((swatch) => getComputedStyle(swatch).backgroundColor).sort()"""

# What a text's colour and the first opaque background below it come to, by WCAG 2.
CONTRAST = """(element) => {
    const parse = (colour) => colour.match(/[0-9.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
        .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    let below = element;
    while (below.parentElement && (parse(getComputedStyle(below).backgroundColor)[3] ?? 1) === 0) below = below.parentElement;
    const pair = [parse(getComputedStyle(element).color), parse(getComputedStyle(below).backgroundColor)].map(light);
    return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
}"""


# How many questions a page's scripts have asked, and how many of them the server has yet to answer.
COUNT_QUESTIONS = """
    window.asked = window.unanswered = 0;
    const ask = window.fetch;
    window.fetch = (...question) => {
        window.asked++;
        window.unanswered++;
        return ask(...question).finally(() => window.unanswered--);
    };
"""


def until_answered(page: Any) -> None:
    """Wait for the answers to what scripts have asked: the next test would meet the server still at work."""
    page.wait_for_function("() => window.unanswered === 0")


def click_to_leave(page: Any, what: Any) -> None:
    """Click what leads to another page, and wait until that one has loaded.

    A script of Django's moves the focus to the first field of a new form when it arrives: what is typed meanwhile lands there.
    """
    with page.expect_navigation():
        what.click()


def opened(browser: Any, live_server: Any, admin_client: Any, **options: Any) -> Any:
    context = browser.new_context(base_url=live_server.url, **options)
    context.add_init_script(COUNT_QUESTIONS)
    context.add_cookies([{"name": "sessionid", "value": admin_client.cookies["sessionid"].value, "url": live_server.url}])
    return context.new_page()
