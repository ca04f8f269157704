"""The report in a real browser: drawn under a strict content security policy, in both themes, on a phone."""

import json
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.urls import reverse
from django.utils import timezone

from ratewindow.counting.sums import Sums
from ratewindow.models import Override, ThrottleStat
from tests.browser.chromium import COLOURS, IN_A_BROWSER, SWATCHES, click_to_leave
from tests.support.made_attack import attack
from tests.support.rule_pages import count

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def open_report(open_page):
    def open_report(fast=False, **options):
        page = open_page(**options)
        if fast:  # the time between two questions of the page, a hundredth
            page.add_init_script("const wait = window.setTimeout; window.setTimeout = (f, ms) => wait(f, ms / 100);")
        page.goto(reverse("admin:ratewindow_report"))
        return page

    return open_report


@pytest.fixture
def an_hour(transactional_db):
    now = timezone.now().replace(second=0, microsecond=0)
    for ago in range(1, 50):
        ThrottleStat.objects.create(
            rule="login", resolution="minute", start=now - timedelta(minutes=ago), passed=100, refused=50, would_refuse=10
        )


def test_the_chart_is_drawn_in_the_colours_of_the_theme(open_report, an_hour):
    page = open_report(color_scheme="dark")  # the next test has it light, too
    page.wait_for_function(f"() => ({COLOURS})().length === 3")
    assert page.evaluate(COLOURS) == page.evaluate(SWATCHES)


def test_the_theme_button_recolours_the_chart(open_report, an_hour):
    page = open_report(color_scheme="light")
    page.wait_for_function(f"() => ({COLOURS})().length === 3")
    before = page.evaluate(COLOURS)
    assert before == page.evaluate(SWATCHES)
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


def test_the_picture_the_table_and_the_figures_have_the_same_numbers(open_report, an_hour):
    page = open_report()
    drawn = json.loads(page.locator("#rw-chart-data").text_content())
    page.locator("#rw-as-table summary").click()
    cells = [line.locator("td").all_inner_texts() for line in page.locator("#rw-as-table tbody tr").all()]
    table = [[int(cell.replace(",", "")) for cell in line] for line in reversed(cells)]
    assert [[line[0], line[1], line[3]] for line in table] == [
        list(each) for each in zip(drawn["passed"], drawn["refused"], drawn["would_refuse"], strict=True)
    ]
    figures = [int(each.replace(",", "")) for each in page.locator(".rw-figure strong").all_inner_texts()]
    assert figures[:3] == [sum(line[0] for line in table), sum(line[1] for line in table), sum(line[3] for line in table)]
    page.locator(".u-over").hover()
    tip = page.locator(".rw-tip").inner_text().split("\n")
    at = drawn["long"].index(tip[0])
    assert [tip[2], tip[4], tip[6]] == [str(drawn[name][at]) for name in ("refused", "would_refuse", "passed")]


def shown(page):
    """The query string of the report, and the labels of its bars."""
    page.wait_for_load_state()
    return dict(parse_qsl(urlsplit(page.url).query)), json.loads(page.locator("#rw-chart-data").text_content())


def test_dragging_over_bars_opens_their_time_alone_at_an_address_of_its_own(open_report, an_hour):
    page = open_report(viewport={"width": 1280, "height": 1200})
    _, before = shown(page)
    box = page.locator(".u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60, steps=5)
    with page.expect_navigation():
        page.mouse.up()
    query, after = shown(page)
    assert set(query) == {"start", "end"}
    assert 10 < len(after["from"]) < 20 and set(after["from"]) < set(before["from"])


def test_keys_choose_bars_say_their_numbers_and_zoom(open_report, an_hour):
    page = open_report(viewport={"width": 1280, "height": 1200})
    _, before = shown(page)
    page.locator(".rw-plot").focus()
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    for _ in range(4):
        page.keyboard.press("Shift+ArrowLeft")
    said = page.locator(".rw-chart [role=status]").inner_text()
    assert said.startswith("Refused 250, Would refuse 50, Passed 500. ")
    page.keyboard.press("Escape")
    assert page.locator(".rw-chart [role=status]").inner_text() == ""
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert shown(page)[1]["from"] == before["from"][-15:-10]


def test_it_keeps_up_with_what_happens_until_it_is_stopped(open_report, an_hour):
    page = open_report(fast=True)
    page.locator("#rw-as-table summary").click()
    count(login=Sums(refused=77_000))
    page.wait_for_function("() => document.querySelector('.rw-figure.rw-refused strong').innerText.startsWith('79,')")
    assert page.locator("#rw-as-table").get_attribute("open") is not None
    assert page.evaluate("document.activeElement.matches('#rw-as-table > summary')")
    assert page.locator("#rw-said").inner_text().startswith("login has refused 7")
    assert page.locator(".rw-chart canvas").count() == 1
    page.locator("#rw-live").click()
    assert page.locator("#rw-live").get_attribute("aria-pressed") == "false"


def test_an_attack_is_understood_from_the_first_sentence_and_blocked_by_its_link(open_report, transactional_db):
    attack()
    page = open_report()
    assert "came from ip:203.0.113.0/24 (14 clients)" in page.locator("#rw-sentence").inner_text()
    click_to_leave(page, page.locator(".rw-acts").get_by_text("Block…"))
    page.locator("[name=reason]").fill("trying passwords")
    click_to_leave(page, page.locator("[name=_save]"))
    assert Override.objects.get().identity == "ip:203.0.113.0/24"


def test_a_phone_shows_all_of_it_without_scrolling_sideways(open_report, an_hour):
    page = open_report(viewport={"width": 400, "height": 800})
    page.locator("#rw-as-table summary").click()
    page.locator(".rw-dates summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_without_javascript_the_tables_say_it_all(open_report, an_hour):
    page = open_report(java_script_enabled=False)
    assert page.locator("#rw-chart").is_hidden()
    page.locator("#rw-as-table summary").click()
    assert page.locator("#rw-as-table tbody tr").count() == 61
    assert page.locator(".rw-rules tbody tr").is_visible()
