"""The form of a rule in a real browser: made by choices alone, by keyboard alone, and readable everywhere."""

from typing import Any

import pytest
from django.urls import reverse

from ratewindow.models import RateRule
from tests.browser.chromium import CONTRAST, IN_A_BROWSER, sync_api, until_answered
from tests.support.rule_pages import change

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]

ADD = reverse("admin:ratewindow_raterule_add")


@pytest.fixture
def page(open_page: Any) -> Any:
    """The form of a new rule."""
    return open_page(ADD)


def tab_to(page: Any, name: str) -> None:
    """Press Tab until the field of that name has the focus."""
    for _ in range(60):
        if page.evaluate("document.activeElement.name") == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{name} cannot be reached")


def test_a_rule_is_made_by_keyboard_without_a_key_or_an_algorithm_being_typed(page: Any) -> None:
    tab_to(page, "name")
    page.keyboard.type("login")
    tab_to(page, "applies_to")
    page.keyboard.type("One path")
    tab_to(page, "pattern")
    page.keyboard.type("/login/")
    tab_to(page, "methods")
    page.keyboard.press("Tab")  # from GET to POST
    page.keyboard.press("Space")
    tab_to(page, "key")
    page.keyboard.type("Each login")
    tab_to(page, "windows-0-limit")
    page.keyboard.type("5")
    tab_to(page, "windows-0-period")
    page.keyboard.type("1m")
    tab_to(page, "_save")
    sync_api.expect(page.locator(".rw-preview").first).to_contain_text("at most 5 in 1 minute, on POST /login/")
    until_answered(page)
    page.keyboard.press("Enter")
    page.wait_for_selector(".messagelist .success")
    rule = RateRule.objects.get()
    assert (rule.name, rule.mode, rule.applies_to, rule.pattern) == ("login", "shadow", "path", "/login/")
    assert (rule.methods, rule.key, str(rule.windows.get())) == ("POST", "ip+post:username", "5 in 1m")


def test_only_what_fits_the_choices_is_shown(page: Any) -> None:
    shown = {
        "pattern": "[name=pattern]",
        "missing": "[name=on_missing]",
        "text": "[name=key_other]",
    }

    def visible() -> set[str]:
        return {name for name, field in shown.items() if page.locator(field).is_visible()}

    assert visible() == set()
    page.select_option("[name=applies_to]", "route")
    assert visible() == {"pattern"}
    page.select_option("[name=applies_to]", "all")
    page.select_option("[name=key]", "other")
    assert visible() == {"missing", "text"}
    assert page.evaluate("document.activeElement.name") == "key_other"
    page.select_option("[name=key]", "ip")
    assert visible() == set()


def test_columns_that_few_limits_need_are_folded_unless_a_limit_uses_them(open_page: Any) -> None:
    columns = ("algorithm", "buckets", "burst", "aligned_to")

    def shown(page: Any) -> list[bool]:
        cells = [page.locator(f"#windows-0 .field-{column}").is_visible() for column in columns]
        heads = [page.locator(f"#windows-group thead .column-{column}").is_visible() for column in columns]
        assert cells == heads
        return cells

    for scripts in (True, False):
        page = open_page(ADD, java_script_enabled=scripts)
        assert shown(page) == [False] * 4
        page.get_by_text("Algorithm, buckets, burst, aligned to").click()
        assert shown(page) == [True] * 4
    rule, _ = RateRule.objects.define("login", "5/h", path="/login/")
    page = open_page()
    used = ({"algorithm": "token_bucket"}, {"burst": 7}, {"algorithm": "sliding_window", "burst": None, "buckets": 10})
    for fields in (*used, {"algorithm": "fixed_window", "buckets": None, "aligned_to": "hour"}):
        rule.windows.update(**fields)
        page.goto(change(rule))
        until_answered(page)
        assert shown(page) == [True] * 4
    rule.windows.update(algorithm="sliding_window", aligned_to="")
    page.goto(change(rule))
    assert shown(page) == [False] * 4
    page.get_by_text("Algorithm, buckets, burst, aligned to").click()
    page.fill("[name=windows-0-buckets]", "-1")
    page.click("[name=_continue]")
    page.locator(".field-buckets .errorlist").wait_for()
    assert shown(page) == [True] * 4
    until_answered(page)


def test_a_limit_has_the_columns_of_its_algorithm(page: Any) -> None:
    page.get_by_text("Algorithm, buckets, burst, aligned to").click()
    columns = ("buckets", "burst", "aligned_to")

    def usable(row: int) -> list[str]:
        return [each for each in columns if page.locator(f"[name=windows-{row}-{each}]").is_visible()]

    assert usable(0) == ["buckets"]
    page.fill("[name=windows-0-buckets]", "10")
    page.select_option("[name=windows-0-algorithm]", "token_bucket")
    assert usable(0) == ["burst"]
    sync_api.expect(page.locator("#windows-0 .rw-algorithm-help")).to_contain_text("Allows a burst at once")
    page.locator("#windows-group .add-row a").click()
    page.select_option("[name=windows-1-algorithm]", "fixed_window")
    assert usable(1) == ["aligned_to"]
    page.fill("[name=name]", "api")
    page.select_option("[name=applies_to]", "all")
    for row, (limit, period) in enumerate((("5", "1m"), ("20", "1h"))):
        page.fill(f"[name=windows-{row}-limit]", limit)
        page.fill(f"[name=windows-{row}-period]", period)
    page.keyboard.press("Tab")
    sync_api.expect(page.locator(".rw-preview").first).to_contain_text("20 in 1 hour")
    until_answered(page)
    page.click("[name=_save]")
    page.wait_for_selector(".messagelist .success")
    assert [(each.algorithm, each.buckets) for each in RateRule.objects.get().windows.all()] == [
        ("token_bucket", None),  # what it does not use is not sent
        ("fixed_window", None),
    ]


def test_on_a_phone_each_cell_of_a_limit_has_the_name_of_its_column_in_the_readers_language(
    open_page: Any, settings: Any
) -> None:
    settings.LANGUAGE_CODE = "zh-hans"
    page = open_page(ADD, viewport={"width": 400, "height": 900})
    page.get_by_text("添加另一个").click()  # which copies a row
    names = "row => [...row.querySelectorAll('[class^=field-]')].map(cell => getComputedStyle(cell, '::before').content)"
    for row in ("#windows-0", "#windows-1"):
        said = page.eval_on_selector(row, names)
        assert said == ['"上限 *"', '"周期 *"', '"算法 *"', '"分桶数"', '"突发量"', '"对齐到"']


def test_without_javascript_a_rule_is_made_as_well(open_page: Any) -> None:
    page = open_page(ADD, java_script_enabled=False)
    page.fill("[name=name]", "tenants")
    page.select_option("[name=applies_to]", "prefix")
    page.fill("[name=pattern]", "/api/")
    page.select_option("[name=key]", "other")
    page.fill("[name=key_other]", "jwt:tenant")
    page.fill("[name=windows-0-limit]", "5")
    page.fill("[name=windows-0-period]", "1m")
    page.click("[name=_save]")
    page.locator(".messagelist .success", has_text="was added successfully").wait_for()
    assert RateRule.objects.get().key == "jwt:tenant"


def test_it_can_be_read_in_both_themes_and_on_a_phone(open_page: Any, look: Any) -> None:
    page = open_page(ADD, **look)
    page.select_option("[name=applies_to]", "regex")
    page.select_option("[name=key]", "other")
    page.fill("[name=key_other]", "shoe_size")
    page.evaluate("document.querySelectorAll('#raterule_form details').forEach((each) => { each.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for each in page.locator(
        ":is(.rw-said p, .rw-other, .rw-algorithm-help, .rw-explained :is(dt, dd, summary), .rw-part):visible"
    ).all():
        assert each.evaluate(CONTRAST) >= 4.5, each.inner_text()
    for each in page.locator("#raterule_form :is(input:not([type=submit]), select, textarea):visible").all():
        assert each.evaluate("(field) => Boolean(field.labels?.length || field.getAttribute('aria-label'))"), each
    until_answered(page)
