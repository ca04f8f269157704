"""Links between rules, blocks and exemptions, and their clients."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ratewindow.models import Override, RateRule
from tests.support.override_pages import ADD, LIST, change
from tests.support.rule_pages import change as rule_page
from tests.support.rule_pages import define, said

pytestmark = pytest.mark.django_db

RELEASE = reverse("admin:ratewindow_override_release")


def links(response: Any) -> list[str]:
    return [each.replace("&amp;", "&") for each in re.findall(r'href="([^"]+)"', response.content.decode())]


@pytest.fixture
def rule() -> RateRule:
    return define("login", path="/login/")


def staff(client: Client, *codenames: str) -> Client:
    user = User.objects.create(username="staff", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(user)
    return client


def test_a_rule_says_how_many_name_it_and_leads_to_them(page: Client, rule: RateRule) -> None:
    assert "0 blocks and exemptions name this rule." in said(page.get(rule_page(rule)))
    Override.objects.block("user:1", rule="login", duration="1h")
    assert "1 block or exemption names this rule." in said(page.get(rule_page(rule)))
    Override.objects.allow("user:2", rule="login")
    Override.objects.allow("user:3", rule="api")
    Override.objects.block("user:4", rule="login", duration="1h").delete()
    shown = page.get(rule_page(rule))
    assert "2 blocks and exemptions name this rule." in said(shown)
    assert {f"{LIST}?rule=login", f"{ADD}?rule=login"} <= set(links(shown))
    listed = said(page.get(LIST, {"rule": "login"}))
    assert "user:1" in listed and "user:2" in listed and "user:3" not in listed


def test_one_query_counts_them(page: Client, rule: RateRule) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            page.get(rule_page(rule))
        return len([each for each in queries.captured_queries if '"ratewindow_override"' in each["sql"]])

    asked()
    few = asked()
    Override.objects.bulk_create([Override(action="block", identity=f"user:{pk}", rule="login") for pk in range(500)])
    assert asked() == few


def test_only_who_may_see_blocks_reads_that(client: Client, rule: RateRule) -> None:
    looking = staff(client, "view_raterule", "view_rulewindow")
    assert "name this rule" not in said(looking.get(rule_page(rule)))
    User.objects.get().user_permissions.add(Permission.objects.get(codename="view_override"))
    shown = looking.get(rule_page(rule))
    assert "name this rule" in said(shown)
    assert f"{ADD}?rule=login" not in links(shown)


def test_a_block_leads_to_its_rule_and_its_client_to_the_page_that_releases(page: Client, rule: RateRule) -> None:
    override = Override.objects.block("ip:203.0.113.9", rule="login")
    found = links(page.get(change(override)))
    given = "identity=ip%3A203.0.113.9&rule=login"
    assert {rule_page(rule), f"{RELEASE}?{given}", f"{ADD}?{given}"} <= set(found)
    assert 'value="ip:203.0.113.9"' in page.get(f"{RELEASE}?{given}").content.decode()


@pytest.mark.parametrize("identity", ["header:x-api-key:correct-horse-battery", "shoe:42"])
def test_what_no_form_takes_is_no_link(page: Client, identity: str) -> None:
    override = Override.objects.create(action="block", identity=identity)
    assert not any(each.startswith(f"{RELEASE}?") for each in links(page.get(change(override))))


def test_whoever_may_not_see_identities_gets_no_link_that_has_one(client: Client, rule: RateRule) -> None:
    override = Override.objects.block("ip:203.0.113.9", rule="login")
    changing = staff(client, "view_override", "change_override", "add_override", "release_identity")
    shown = changing.get(change(override))
    assert "203.0.113.9" not in shown.content.decode()
    assert rule_page(rule) not in links(shown)


def test_after_a_release_the_client_can_be_blocked_again(page: Client) -> None:
    Override.objects.block("ip:203.0.113.9")
    released = page.post(RELEASE, {"identity": "203.0.113.9", "reason": "a mistake"}, follow=True)
    assert f"{ADD}?identity=ip%3A203.0.113.9" in links(released)
