"""Whose edits the admin's pages make, and why."""

from typing import Any

import pytest
from django.urls import reverse

from ratewindow.contrib.history.models import Edit
from ratewindow.models import Override, RateRule
from tests.support import rule_pages
from tests.support.rule_pages import typed

pytestmark = pytest.mark.django_db(transaction=True)


def last() -> tuple[str, str, str]:
    edit = Edit.objects.order_by("-at")[0]
    return edit.way, edit.by, edit.reason


def test_a_form_a_list_action_and_a_page_of_our_own_say_who_and_why(admin_client: Any) -> None:
    admin_client.post(rule_pages.ADD, {**typed(("5", "1m")), "why": "many logins fail"})
    rule = RateRule.objects.get()
    assert last() == ("admin", "admin", "many logins fail") and Edit.objects.count() == 1
    admin_client.post(rule_pages.LIST, {"action": "switch_off", "_selected_action": [rule.pk], "why": "a test"})
    assert last() == ("admin", "admin", "a test") and Edit.objects.count() == 2
    block = Override.objects.block("ip:192.0.2.1", duration="1h")
    admin_client.post(reverse("admin:ratewindow_override_end", args=[block.pk]), {"reason": "a mistake"})
    assert last() == ("admin", "admin", "a mistake")
    admin_client.post(reverse("admin:ratewindow_switch"), {"length": "15m", "reason": "campaign"})
    assert last() == ("admin", "admin", "campaign")
