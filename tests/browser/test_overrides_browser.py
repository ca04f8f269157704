"""Blocks and exemptions in a real browser: both themes, a phone, and the buttons that save and end."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from ratewindow.models import Override
from tests.browser.chromium import CONTRAST, IN_A_BROWSER, click_to_leave, sync_api
from tests.support.commands import from_me

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]

LIST = reverse("admin:ratewindow_override_changelist")


def make() -> Override:
    """One of each kind; the one that the tests look at is returned."""
    now = timezone.now()
    Override.objects.rate("user:42", "1000/h; 20/s", rule="api.minute", reason="an importer of a partner", source="command")
    Override.objects.allow("group:night shift", duration="9d", source="admin")
    Override.objects.allow("14:ip:203.0.113.9+17:post:username:ann", starts_at=now + timedelta(hours=3), duration="1d")
    Override.objects.block(f"header:x-client:{'x' * 150}", rule="y" * 64, reason="z" * 200, duration="10d")
    ended = Override.objects.block("ip:2001:db8::1", duration="1h", reason="a mistake")
    Override.objects.get_queryset().filter(pk=ended.pk).end()
    return Override.objects.block("ip:203.0.113.0/24", duration="2h", reason="password guessing", source="admin")


def test_they_can_be_read_in_both_themes_and_on_a_phone(open_page: Any, look: Any) -> None:
    override = make()
    page = open_page(**look)
    change = reverse("admin:ratewindow_override_change", args=[override.pk])
    for url in (LIST, change, reverse("admin:ratewindow_override_add")):
        page.goto(url)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), url
        for each in page.locator(".rw-mode, .rw-sentence, .rw-who, .field-until span").all():
            assert each.evaluate(CONTRAST) >= 4.5


def test_the_keyboard_begins_at_who_and_no_action_is_chosen(open_page: Any) -> None:
    page = open_page(reverse("admin:ratewindow_override_add"))
    page.wait_for_function("() => document.activeElement.name === 'identity'")
    assert not page.locator("[name=action]:checked").count()


def test_one_click_ends_a_block(open_page: Any) -> None:
    override = make()
    page = open_page(LIST)
    row = page.locator("#result_list tr", has_text="ip:203.0.113.0/24")
    row.get_by_role("button", name="End now").click()
    sync_api.expect(row.locator(".field-until")).to_contain_text("ended")
    override.refresh_from_db()
    assert override.state == "ended"


@pytest.mark.parametrize("width", [1000, 1280])
def test_no_link_covers_the_form_above_the_list(open_page: Any, width: int) -> None:
    page = open_page(LIST, viewport={"width": width, "height": 900})
    form = page.locator(".rw-block-form")
    form.get_by_label("Who").fill("203.0.113.9")
    form.get_by_label("Action").select_option("block")
    form.get_by_label("Reason").fill("trying passwords")
    form.get_by_role("button", name="Save").click(timeout=5000)
    sync_api.expect(page.locator(".messagelist")).to_contain_text("was added successfully")


@pytest.mark.parametrize("width", [1000, 1280])
def test_no_link_covers_the_title_of_a_block_or_narrows_its_form(open_page: Any, width: int) -> None:
    override = Override.objects.block("ip:203.0.113.0/24", rule="checkout.payment.confirm.of.partner.shops")
    page = open_page(reverse("admin:ratewindow_override_change", args=[override.pk]), viewport={"width": width, "height": 900})
    links = page.locator(".object-tools").bounding_box()
    for title in page.locator("#content > :is(h1, h2)").all():
        box = title.bounding_box()
        assert box["y"] + box["height"] <= links["y"] or box["x"] + box["width"] <= links["x"]
    assert page.locator("#override_form").bounding_box()["y"] >= links["y"] + links["height"]
    assert page.locator(".field-reason").bounding_box()["width"] > 500


def test_an_address_is_blocked_for_an_hour_from_the_list_of_a_phone_refused_and_released(open_page: Any) -> None:
    page = open_page(LIST, viewport={"width": 400, "height": 900})
    form = page.locator(".rw-block-form")
    sync_api.expect(form.get_by_label("Who")).to_be_hidden()
    form.locator("summary").click()
    form.get_by_label("Who").fill("203.0.113.9")
    form.get_by_label("Reason").fill("trying passwords")
    sync_api.expect(form.get_by_label("Rate", exact=True)).to_be_hidden()
    form.get_by_label("Action").select_option("Another rate")
    sync_api.expect(form.get_by_label("Rate", exact=True)).to_be_visible()
    form.get_by_label("Action").select_option("block")
    form.get_by_role("button", name="Save").click()
    sync_api.expect(page.locator(".messagelist")).to_contain_text("“block ip:203.0.113.9” was added successfully")
    assert from_me(1) == [429]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.locator("#result_list").get_by_role("link", name="ip:203.0.113.9").click()
    click_to_leave(page, page.get_by_role("link", name="Release…"))
    page.get_by_label("Reason").fill("a mistake")
    page.get_by_role("button", name="Release").click()
    sync_api.expect(page.locator(".messagelist")).to_contain_text("1 block ended.")
    assert from_me(1) == [200]
