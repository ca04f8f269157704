"""The report's buttons Enforce and To shadow, which ask as the list's actions do and lead back to the report."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from ratewindow.models import RateRule
from ratewindow.reporting.sums import Sums
from tests.support.rule_pages import LIST, count, define, said

pytestmark = pytest.mark.django_db

REPORT = reverse("admin:ratewindow_report")


def buttons(page: Client, query: str = "period=24h") -> dict[str, list[str]]:
    """By rule, the actions that the report offers."""
    text = page.get(f"{REPORT}?{query}").content.decode()
    found = re.findall(r'name="action" value="(\w+)" aria-label="[^":]*: ([^"]*)"', text)
    return {rule: [action for action, other in found if other == rule] for _, rule in found}


def sent(page: Client, action: str, query: str = "period=24h") -> dict[str, Any]:
    """The form of the first rule with that button pressed."""
    (form, *_) = re.findall(r'<form class="rw-stages".*?</form>', page.get(f"{REPORT}?{query}").content.decode(), re.DOTALL)
    fields = dict(re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', form))
    return {name: unescape(value) for name, value in fields.items()} | {"action": action}


def test_each_rule_has_those_that_change_it(admin_client: Client) -> None:
    define("shady")
    define("some", mode="enforce", enforce_percent=10)
    define("strict", mode="enforce")
    count(shady=Sums(passed=4), some=Sums(passed=4), strict=Sums(passed=4), gone=Sums(passed=4))
    assert buttons(admin_client) == {"shady": ["enforce"], "some": ["enforce", "shadow"], "strict": ["shadow"]}


@pytest.mark.parametrize(
    ("action", "before", "question", "after"),
    [("enforce", "shadow", "Enforce for all clients?", "enforce"), ("shadow", "enforce", "Put in shadow?", "shadow")],
)
def test_it_asks_with_figures_and_leads_back_to_the_same_report(
    admin_client: Client, action: str, before: str, question: str, after: str
) -> None:
    define(mode=before)
    count(login=Sums(passed=400, would_refuse=100))
    asked = admin_client.post(LIST, sent(admin_client, action, "period=7d&rule=login"))
    assert question in said(asked) and "it met 400 requests" in said(asked)
    assert f'href="{REPORT}?period=7d&amp;rule=login"' in asked.content.decode()  # the way out
    assert RateRule.objects.get().mode == before
    done = admin_client.post(LIST, dict(asked.context["post_data"]))
    assert done["Location"] == f"{REPORT}?period=7d&rule=login"
    assert RateRule.objects.get().mode == after


def test_pressed_twice_it_leads_back_too(admin_client: Client) -> None:
    define(mode="enforce")
    count(login=Sums(passed=400))
    again = sent(admin_client, "shadow")
    RateRule.objects.update(mode="shadow")
    done = admin_client.post(LIST, again, follow=True)
    assert done.redirect_chain == [(f"{REPORT}?period=24h", 302)]
    assert "Nothing to change: all selected rules are already in shadow." in said(done)


def test_the_way_back_leaves_neither_the_site_nor_the_report(admin_client: Client) -> None:
    rule = define(mode="enforce")
    for query in ("//evil.example/", "\r\nSet-Cookie: a=b", "@evil.example"):
        done = admin_client.post(LIST, {"action": "shadow", "_selected_action": rule.pk, "rw_seen": "1", "rw_report": query})
        assert done["Location"].startswith(f"{REPORT}?") and "\n" not in done["Location"]
        RateRule.objects.update(mode="enforce")


def test_each_takes_its_permission(client: Client) -> None:
    define("shady")
    define("strict", mode="enforce")
    count(shady=Sums(passed=4), strict=Sums(passed=4))
    rights = ["view_throttlestat", "view_raterule"]
    for right, offered in (
        ("view_raterule", {}),
        ("change_raterule", {"strict": ["shadow"]}),
        ("enforce_raterule", {"shady": ["enforce"], "strict": ["shadow"]}),
    ):
        rights.append(right)
        user = User.objects.create(username=right, is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename__in=rights))
        client.force_login(user)
        assert buttons(client) == offered
