"""Our pages under Unfold, Jazzmin and Grappelli in a real browser, light and dark, wide and narrow."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import ARGUMENTS, CHROMIUM, COLOURS, IN_A_BROWSER, SWATCHES, sync_api

for theme in ("unfold", "jazzmin", "grappelli"):
    pytest.importorskip(theme, reason=f"{theme} is not installed: the pages were not tried under it")

pytestmark = [*IN_A_BROWSER, pytest.mark.slow]

CHECKOUT = Path(__file__).resolve().parents[2]
OURS = "/admin/ratewindow"
REPORT, RULES = f"{OURS}/throttlestat/", f"{OURS}/raterule/"
PAGES = [
    REPORT,
    RULES,
    f"{OURS}/override/",
    f"{REPORT}state/",
    f"{REPORT}switch/",
    f"{OURS}/override/release/",
    f"{RULES}ready/",
    f"{RULES}1/",
    f"{RULES}explain/?path=/login/&address=203.0.113.9",
    f"{RULES}backtest/",
    f"{OURS}_history/edit/",
    f"{OURS}_history/edit/1/change/",
    f"{RULES}1/history/",
    f"{OURS}/override/1/history/",
    f"{OURS}_alerts/alertchannel/",
]
FORMS = [
    f"{RULES}1/change/",
    f"{RULES}add/",
    f"{OURS}/override/1/change/",
    f"{OURS}/override/add/",
    f"{OURS}_alerts/alertchannel/1/change/",
    f"{OURS}_alerts/alertchannel/add/",
    f"{OURS}/",
]

# Our texts that do not stand out from what is painted below them, by WCAG 2: each with its contrast.
FAINT = """() => {
    const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1});
    const context = canvas.getContext("2d", {willReadFrequently: true});
    const painted = (colours) => {
        for (const colour of ["white", ...colours]) { context.fillStyle = colour; context.fillRect(0, 0, 1, 1); }
        const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((c) => c / 255)
            .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const faint = [];
    const ours = ":is(.rw-tabs, .rw-report, .rw-in-code, .rw-banner, .rw-block-form, .rw-rollout, .rw-preview, .rw-test) *, " +
        ".rw-now, .rw-named-by, #result_list :is(.rw-mode, .rw-sentence, .rw-who, .rw-changes *, .rw-hour *, .rw-quick *), " +
        "#result_list :is(.field-raised_now, .field-raised_now *, .field-last_error)";
    for (const element of document.querySelectorAll(ours)) {
        const text = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).join("").trim();
        if (!text || !element.checkVisibility() || element.closest("option, script, canvas, .rw-tip")) continue;
        const grounds = [];
        for (let below = element; below; below = below.parentElement) grounds.unshift(getComputedStyle(below).backgroundColor);
        const pair = [painted(grounds), painted([...grounds, getComputedStyle(element).color])];
        const contrast = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
        const enough = parseFloat(getComputedStyle(element).fontSize) >= 24 ? 3 : 4.5;
        if (contrast < enough) faint.push(`${text.slice(0, 30)} (${element.className}): ${contrast.toFixed(2)}`);
    }
    return faint;
}"""


@pytest.fixture(scope="module", params=["unfold", "unfold_own", "jazzmin", "grappelli"])
def site(request: Any, program_environment: dict[str, str], tmp_path_factory: Any) -> Iterator[dict[str, str]]:
    """The demo's site under one theme, in a process of its own, with rules, blocks and an hour of counts."""
    environment = {
        **program_environment,
        "DJANGO_SETTINGS_MODULE": f"tests.sites.{request.param}",
        "TESTPROJECT_DATABASE": str(tmp_path_factory.mktemp(request.param) / "db.sqlite3"),
    }
    command = [sys.executable, "-m", "tests.sites.serve"]
    serving = subprocess.Popen(command, cwd=CHECKOUT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert serving.stdin is not None and serving.stdout is not None
    try:
        yield {"theme": request.param, **json.loads(serving.stdout.readline())}
    finally:
        serving.stdin.close()
        serving.wait(timeout=60)
        serving.stdout.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Any, site: dict[str, str], look: dict[str, Any]) -> Iterator[Any]:
    """Of a superuser; an error in the console is one here."""
    context = browser.new_context(**look)
    context.add_cookies([{"name": "sessionid", "value": site["sessionid"], "url": site["url"]}])
    page, said = context.new_page(), list[str]()
    page.on("console", lambda message: message.type == "error" and said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error.stack)))
    yield page
    context.close()
    assert said == []


def test_each_page_is_there_legible_and_as_wide_as_the_window(page: Any, site: dict[str, str]) -> None:
    for path in PAGES + FORMS:
        assert page.goto(site["url"] + path, wait_until="load").status == 200, path
        assert page.evaluate(FAINT) == [], path
        if site["theme"] != "grappelli" or path != f"{OURS}/":  # its index is wider than a phone, for any app
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_each_list_has_a_button_that_adds(page: Any, site: dict[str, str]) -> None:
    for path in (RULES, f"{OURS}/override/", f"{OURS}_alerts/alertchannel/"):
        page.goto(site["url"] + path, wait_until="load")
        assert page.locator(f"a[href^='{path}add/']:visible").count() > 0, path


def test_the_chart_draws_three_colours_that_can_be_told_apart(page: Any, site: dict[str, str]) -> None:
    page.goto(site["url"] + REPORT, wait_until="load")
    page.wait_for_function(f"() => ({COLOURS})().length === 3")
    assert page.evaluate(COLOURS) == page.evaluate(SWATCHES)
    ground = page.evaluate("getComputedStyle(document.querySelector('.rw-plot').closest('body')).backgroundColor")
    assert len({*page.evaluate(COLOURS), ground}) == 4


def test_a_rule_that_refuses_its_author_is_asked_about(page: Any, site: dict[str, str]) -> None:
    page.goto(f"{site['url']}{RULES}add/", wait_until="load")
    token = page.locator("input[name=csrfmiddlewaretoken]").first.input_value()
    sent = {
        "csrfmiddlewaretoken": token,
        "name": "all",
        "_enforce": "Save and enforce",
        "applies_to": "all",
        "key": "ip",
        "on_missing": "ip",
        "cost": "1",
        "count_when": "always",
        "response_status": "429",
        "enforce_percent": "100",
        "windows-TOTAL_FORMS": "1",
        "windows-INITIAL_FORMS": "0",
        "windows-0-limit": "5",
        "windows-0-period": "1m",
        "windows-0-algorithm": "sliding_window",
    }
    page.evaluate(
        """(sent) => {
            const form = Object.assign(document.createElement("form"), {method: "post"});
            for (const [name, value] of Object.entries(sent))
                form.append(Object.assign(document.createElement("input"), {name, value}));
            document.body.append(form);
            form.submit();
        }""",
        sent,
    )
    page.get_by_text("I know that I would be refused in the admin").wait_for()
    assert "Rule all matches /admin/" in page.locator(".rw-summary").inner_text()
    assert page.evaluate(FAINT) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".rw-confirm input[type=submit]").click()  # the browser asks for the tick
    assert page.locator(".rw-confirm input[type=checkbox]:invalid").count() == 1
