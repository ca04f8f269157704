"""The report in a real browser: drawn under a strict content security policy, in both themes, on a phone."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from ratewindow.models import ThrottleStat
from tests.browser.chromium import COLOURS, IN_A_BROWSER, STRICT_POLICY, SWATCHES

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def open_report(browser, live_server, admin_client, settings):
    """Opens the report as an administrator; an error in the console, such as a violated policy, is one here."""
    settings.MIDDLEWARE = [STRICT_POLICY, *settings.MIDDLEWARE]
    contexts, said = [], []

    def open_page(**options):
        context = browser.new_context(**options)
        contexts.append(context)
        context.add_cookies([{"name": "sessionid", "value": admin_client.cookies["sessionid"].value, "url": live_server.url}])
        page = context.new_page()
        page.on("console", lambda message: message.type == "error" and said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(live_server.url + reverse("admin:ratewindow_report"), wait_until="load")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


@pytest.fixture
def an_hour(transactional_db):
    now = timezone.now().replace(second=0, microsecond=0)
    for ago in range(1, 50):
        ThrottleStat.objects.create(
            rule="login", resolution="minute", start=now - timedelta(minutes=ago), passed=100, refused=50, would_refuse=10
        )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_chart_is_drawn_in_the_colours_of_the_theme(open_report, an_hour, scheme):
    page = open_report(color_scheme=scheme)
    page.wait_for_function(f"({COLOURS})().length === 3")
    assert page.evaluate(COLOURS) == page.evaluate(SWATCHES)


def test_the_theme_button_recolours_the_chart(open_report, an_hour):
    page = open_report(color_scheme="light")
    page.wait_for_function(f"({COLOURS})().length === 3")
    before = page.evaluate(COLOURS)
    page.locator("#header .theme-toggle").click()  # from auto, in the light, to dark
    page.wait_for_function(f"(before) => JSON.stringify(({COLOURS})()) !== before", arg=page.evaluate("JSON.stringify", before))
    assert page.evaluate(COLOURS) == page.evaluate(SWATCHES)


def test_pointing_at_a_bar_tells_its_numbers(open_report, an_hour):
    page = open_report(viewport={"width": 1280, "height": 1200})
    page.locator(".u-over").hover()
    assert page.locator(".rw-tip").inner_text().split("\n")[1:] == ["Refused", "50", "Would refuse", "10", "Passed", "100"]


def test_a_part_of_the_bars_can_be_taken_out(open_report, an_hour):
    page = open_report()
    button = page.get_by_role("button", name="Passed")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    passed = page.locator(".rw-key.rw-passed .rw-swatch").evaluate("(swatch) => getComputedStyle(swatch).backgroundColor")
    page.wait_for_function(f"(colour) => !({COLOURS})().includes(colour)", arg=passed)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_of_it_without_scrolling_sideways(open_report, an_hour, scheme):
    page = open_report(viewport={"width": 400, "height": 800}, color_scheme=scheme)
    page.locator(".rw-as-table summary").click()
    page.locator(".rw-dates summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_without_javascript_the_tables_say_it_all(open_report, an_hour):
    page = open_report(java_script_enabled=False)
    assert page.locator("#rw-chart").is_hidden()
    page.locator(".rw-as-table summary").click()
    assert page.locator(".rw-as-table tbody tr").count() == 61
    assert page.locator(".rw-rules tbody tr").is_visible()
