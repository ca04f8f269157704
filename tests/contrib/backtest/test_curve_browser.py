"""The curve of limits in a real browser: dragged, moved by keys, under a strict policy, in both themes and on a phone."""

from typing import Any

import pytest

from tests.browser.chromium import CONTRAST, IN_A_BROWSER, sync_api
from tests.contrib.backtest.support.curve_page import ATTACKER, day

pytestmark = [
    *IN_A_BROWSER,
    pytest.mark.django_db(transaction=True),
    pytest.mark.urls("tests.contrib.backtest.support.curve_page"),
]

CURVE = "/admin/curve/"
CHOSEN_ROW = "tr[data-limit][aria-current]"
SLIDER = "input[type=range]"


def chosen(page: Any) -> str:
    """The limit of the row that is marked."""
    limit = page.locator(CHOSEN_ROW).get_attribute("data-limit")
    assert isinstance(limit, str)
    return limit


def caught(page: Any) -> list[str]:
    return [row.inner_text().split("\t")[0].strip() for row in page.locator("tr[data-peak]:not([hidden])").all()]


def test_it_begins_with_the_suggested_limit_and_who_it_catches(open_page: Any) -> None:
    suggestion = day().suggestion
    page = open_page(CURVE)
    page.wait_for_selector(".rw-curve-plot canvas")
    assert chosen(page) == str(suggestion.limit)
    assert caught(page) == [ATTACKER]
    sync_api.expect(page.locator(".rw-curve-said")).to_have_text(
        f"{suggestion.limit} in 1 minute: 1 client is caught, 0 of them likely innocent"
    )


def test_the_line_can_be_dragged_and_all_follows(open_page: Any) -> None:
    page = open_page(CURVE)
    over = page.locator(".rw-curve-plot .u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 2, box["y"] + 60, steps=5)
    page.mouse.up()
    assert chosen(page) == "1"
    assert page.locator(SLIDER).input_value() == "0"
    assert page.input_value("#limit") == "1"
    assert len(caught(page)) > 100
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 60)  # the button is up: nothing follows
    assert chosen(page) == "1"
    page.mouse.click(box["x"] + box["width"] - 2, box["y"] + 60)
    assert caught(page) == []
    sync_api.expect(page.locator(".rw-curve-nobody")).to_be_visible()


def test_arrow_keys_move_it_and_a_screen_reader_hears_the_sentence(open_page: Any) -> None:
    page = open_page(CURVE)
    slider = page.get_by_label("Limit", exact=True)
    before = int(slider.input_value())
    slider.press("ArrowLeft")
    slider.press("ArrowLeft")
    assert int(slider.input_value()) == before - 2
    assert slider.get_attribute("aria-valuetext") == page.locator(".rw-curve-said").inner_text()
    assert page.input_value("#limit") == chosen(page) != str(day().suggestion.limit)
    slider.press("End")
    assert caught(page) == []


def test_the_chosen_row_is_in_view_inside_its_table_and_the_page_stays(open_page: Any) -> None:
    page = open_page(CURVE, viewport={"width": 1280, "height": 700})
    page.locator(SLIDER).focus()
    before = page.evaluate("scrollY")
    page.keyboard.press("Home")
    inside = """(row) => {
        const [outer, inner] = [row.closest(".rw-curve-table"), row].map((each) => each.getBoundingClientRect());
        return inner.top >= outer.top && inner.bottom <= outer.bottom + 1;
    }"""
    assert page.locator(CHOSEN_ROW).evaluate(inside)
    assert page.evaluate("scrollY") == before


def test_the_curves_have_the_colours_of_the_legend_in_each_theme(open_page: Any, look: Any) -> None:
    page = open_page(CURVE, **look)
    page.wait_for_selector(".rw-curve-plot canvas")
    found = page.evaluate("""() => {
        const canvas = document.querySelector(".rw-curve-plot canvas");
        const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        const found = new Set();
        for (let i = 0; i < data.length; i += 4)
            if (data[i + 3] === 255) found.add(`rgb(${data[i]}, ${data[i + 1]}, ${data[i + 2]})`);
        return [...document.querySelectorAll(".rw-curve-legend .rw-swatch")]
            .map((swatch) => found.has(getComputedStyle(swatch).backgroundColor));
    }""")
    assert found == [True, True]


def test_it_can_be_read_and_nothing_is_wider_than_the_page(open_page: Any, look: Any) -> None:
    page = open_page(CURVE, **look)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for selector in (".rw-curve-about", ".rw-curve-suggestion p", ".rw-curve-said", ".rw-curve .help", "tr[data-peak] > *"):
        shown = f"(all) => all.filter((each) => each.getClientRects().length).map({CONTRAST})"
        assert all(each >= 4.5 for each in page.locator(selector).evaluate_all(shown)), selector


def test_without_javascript_it_is_a_table_of_all_limits_and_clients(open_page: Any) -> None:
    page = open_page(CURVE, java_script_enabled=False)
    assert page.locator(".rw-curve-chosen").is_hidden()
    assert page.locator(CHOSEN_ROW).get_attribute("data-limit") == str(day().suggestion.limit)
    assert page.locator("tr[data-limit]").count() == len(day().curve.points)
    assert page.locator("tr[data-peak]").count() == 200
