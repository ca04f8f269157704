"""The form of a rule in a real browser: made by choices alone, by keyboard alone, and readable everywhere."""

from typing import Any

import pytest
from django.urls import reverse

from ratewindow.models import RateRule
from tests.browser.chromium import CONTRAST, IN_A_BROWSER, sync_api, until_answered

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
    label, part = page.locator("label[for=id_pattern]"), page.locator(".field-pattern .rw-part:visible")
    assert (label.inner_text(), part.all_inner_texts()) == (
        "URL name:",
        ["Choose a URL name of this site, or write one as in login or shop:checkout; a namespace as in shop."],
    )
    page.select_option("[name=applies_to]", "prefix")
    assert label.inner_text() == "Beginning:"
    page.select_option("[name=applies_to]", "all")
    page.select_option("[name=key]", "other")
    assert visible() == {"missing", "text"}
    assert page.evaluate("document.activeElement.name") == "key_other"
    page.select_option("[name=key]", "ip")
    assert visible() == set()


def test_the_percentage_is_shown_of_an_enforced_rule_alone(open_page: Any) -> None:
    rule, _ = RateRule.objects.define("login", "5/m", path="/login/")
    page = open_page(reverse("admin:ratewindow_raterule_change", args=[rule.pk]))
    percent = page.locator("[name=enforce_percent]")
    assert not percent.is_visible()
    page.check("[name=mode][value=enforce]")
    assert percent.is_visible()


def test_a_limit_has_the_columns_of_its_algorithm(page: Any) -> None:
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


def test_what_is_wrong_is_said_when_a_field_is_left(page: Any) -> None:
    page.select_option("[name=key]", "other")
    page.fill("[name=key_other]", "shoe_size")
    page.keyboard.press("Tab")
    said = page.locator(".field-key .rw-said")
    sync_api.expect(said).to_contain_text("'shoe_size' is not a key: choose from ip, user,")
    assert said.get_attribute("aria-live") == "polite"
    assert page.get_attribute("[name=key_other]", "aria-invalid") == "true"
    assert page.locator(".rw-said:not(:empty)").count() == 1  # fields that were not left yet have no error
    page.fill("[name=key_other]", "jwt:tenant")
    page.keyboard.press("Tab")
    sync_api.expect(said).to_be_empty()
    page.fill("[name=windows-0-period]", "1 month")
    page.keyboard.press("Tab")
    sync_api.expect(page.locator("#windows-0 .rw-said")).to_contain_text("'month' has no fixed length: write 30d.")
    assert not RateRule.objects.exists()


def test_what_the_server_found_wrong_is_marked_until_it_is_correct(page: Any) -> None:
    page.fill("[name=name]", "login")
    page.select_option("[name=applies_to]", "route")
    page.click("[name=_save]")
    page.wait_for_selector(".field-pattern.errors")
    page.fill("[name=pattern]", "login")
    page.keyboard.press("Tab")
    page.wait_for_selector(".field-pattern:not(.errors)")
    assert page.locator(".field-pattern .errorlist").count() == 0


def test_the_page_says_that_something_is_wrong_until_all_is_right(page: Any) -> None:
    page.select_option("[name=applies_to]", "route")
    with page.expect_navigation():
        page.click("[name=_save]")
    page.wait_for_selector(".errornote")
    page.fill("[name=name]", "login")
    page.select_option("[name=applies_to]", "all")  # the pattern is no longer asked for
    page.wait_for_function("() => document.querySelector('.field-name .errorlist, .field-pattern .errorlist') === null")
    assert page.locator(".errornote").is_visible()
    page.fill("[name=windows-0-limit]", "600")
    page.fill("[name=windows-0-period]", "1m")
    page.keyboard.press("Tab")
    sync_api.expect(page.locator(".errornote, .errorlist, .rw-said:not(:empty)")).to_have_count(0)


def test_a_field_with_suggestions_looks_like_a_list(page: Any) -> None:
    field = page.locator("[name=pattern]")
    page.select_option("[name=applies_to]", "route")
    assert "gradient" in field.evaluate("(each) => getComputedStyle(each).backgroundImage")
    assert field.get_attribute("placeholder") == "Choose…"
    assert "login" in field.evaluate("(each) => [...each.list.options].map((option) => option.value)")
    page.evaluate("() => { HTMLInputElement.prototype.showPicker = function () { this.dataset.opened = 'yes'; }; }")
    field.click()
    assert field.get_attribute("data-opened") == "yes"
    page.select_option("[name=applies_to]", "regex")
    assert field.get_attribute("placeholder") == ""
    assert field.evaluate("(each) => getComputedStyle(each).backgroundImage") == "none"


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
    page.keyboard.press("Tab")
    page.wait_for_selector(".rw-said p")
    page.evaluate("document.querySelectorAll('#raterule_form details').forEach((each) => { each.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for each in page.locator(
        ":is(.rw-said p, .rw-other, .rw-algorithm-help, .rw-explained :is(dt, dd, summary), .rw-part):visible"
    ).all():
        assert each.evaluate(CONTRAST) >= 4.5, each.inner_text()
    for each in page.locator("#raterule_form :is(input:not([type=submit]), select, textarea):visible").all():
        assert each.evaluate("(field) => Boolean(field.labels?.length || field.getAttribute('aria-label'))"), each
    until_answered(page)
