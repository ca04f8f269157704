"""The form of a channel in a real browser, under a strict content security policy."""

from typing import Any

import pytest
from django.urls import reverse

from ratewindow.contrib.alerts.models import WAY_OF, AlertChannel
from tests.browser.chromium import IN_A_BROWSER

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]

ADD = reverse("admin:ratewindow_alerts_alertchannel_add")


def visible(page: Any) -> set[str]:
    return {name for name in WAY_OF if page.locator(f"[name={name}]").is_visible()}


def test_the_fields_of_the_chosen_way_alone_are_shown(open_page: Any) -> None:
    page = open_page(ADD)
    assert visible(page) == {"addresses"}
    for way, names in (("log", set()), ("webhook", {"url", "secret"}), ("signal", set()), ("mail", {"addresses"})):
        page.check(f"[name=way][value={way}]")
        assert visible(page) == names


def test_what_was_typed_for_another_way_does_not_keep_a_channel_from_being_saved(open_page: Any) -> None:
    page = open_page(ADD)
    page.fill("[name=name]", "ops")
    page.fill("[name=addresses]", "bob")
    page.check("[name=way][value=webhook]")
    page.fill("[name=secret]", "")
    page.fill("[name=url]", "http://127.0.0.1/")
    page.check("[name=way][value=log]")
    page.click("[name=_continue]")
    page.wait_for_selector(".messagelist .success")
    assert visible(page) == set()
    assert AlertChannel.objects.get().way == "log"


def test_without_javascript_all_of_them_are_shown(open_page: Any) -> None:
    assert visible(open_page(ADD, java_script_enabled=False)) == {*WAY_OF}
