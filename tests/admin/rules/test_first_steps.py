"""Ready rules: shown where there is no rule yet, and opened in the form."""

import re
from html import unescape

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from ratewindow.models import RateRule
from tests.support.rule_pages import ADD, LIST, define, errors, said

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("core_presets")]

READY = reverse("admin:ratewindow_raterule_ready")


def test_without_any_rule_the_list_offers_them(page: Client) -> None:
    shown = said(page.get(LIST))
    assert "First steps: ready rules" in shown
    assert "on POST to the route login" in shown


def test_with_a_rule_they_are_reached_from_the_list_and_from_the_form_of_a_new_one(page: Client) -> None:
    assert f'href="{READY}"' not in page.get(LIST).content.decode()
    define()
    assert "First steps" not in said(page.get(LIST))
    assert "By mode" in said(page.get(LIST))
    assert f'href="{READY}">Ready rules</a>' in page.get(LIST).content.decode()
    assert f'href="{READY}"' in page.get(ADD).content.decode()
    assert "Look at it" in said(page.get(READY))


def test_one_click_opens_the_form_filled_in_and_saves_nothing(page: Client) -> None:
    urls = (unescape(each) for each in re.findall(r'href="([^"]*)"', page.get(READY).content.decode()))
    pair, address, name = (each for each in urls if "name=login" in each and "pattern=login&" in each)
    shown = [page.get(each).context["adminform"].form["key"].value() for each in (address, name)]
    assert shown == ["ip", "post:username"]
    response = page.get(pair)
    form, (formset,) = response.context["adminform"].form, response.context["inline_admin_formsets"]
    shown = {name: form[name].value() for name in ("name", "applies_to", "pattern", "methods", "key", "hold", "on_error")}
    assert shown == {
        "name": "login",
        "applies_to": "route",
        "pattern": "login",
        "methods": "POST",
        "key": "ip+post:username",
        "hold": "True",
        "on_error": "local",
    }
    assert [(row["limit"].value(), row["period"].value()) for row in formset.formset.forms] == [("5", "15m")]
    assert errors(response) == []
    assert not RateRule.objects.exists()
    assert f'href="{READY}"' not in response.content.decode()  # one has been chosen


def test_each_of_a_login_says_what_it_is_for_and_which_rule_is_there(page: Client) -> None:
    define("mine", route="login", methods="POST")
    shown = said(page.get(READY))
    assert "Stops one address from trying many names." in shown
    assert "strangers at two or more addresses can lock a name out, its owner included" in shown
    assert "Rule mine applies there." in shown


def test_they_take_the_permission_to_add_rules(client: Client) -> None:
    for right, status in (("view", 403), ("change", 403), ("add", 200)):
        user = User.objects.create(username=right, is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename=f"{right}_raterule"))
        client.force_login(user)
        assert client.get(READY).status_code == status
        if right != "add":
            assert "First steps" not in said(client.get(LIST))


def test_more_rules_take_no_more_queries(page: Client, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    define("one", route="login")
    page.get(READY)
    with django_assert_num_queries(3):  # session, user, rules
        page.get(READY)
    for number in range(20):
        define(f"rule-{number}", path=f"/{number}/")
    with django_assert_num_queries(3):
        page.get(READY)


def test_several_of_a_kind_are_saved_together_in_shadow(page: Client) -> None:
    shown = page.get(READY).content.decode()
    assert shown.count("Save all in shadow") == 1
    answer = page.post(READY, {"kind": "login"}, follow=True)
    saved = sorted(RateRule.objects.values_list("name", flat=True))
    assert {"login", "login.address", "login.name", "login.admin-login"} < {*saved} and len(saved) == 6
    assert {*RateRule.objects.values_list("mode", flat=True)} == {"shadow"}
    assert "login.name: Shadow" in said(answer)
    assert "Save all in shadow" not in page.get(READY).content.decode()
    page.post(READY, {"kind": "login"})
    page.post(READY, {"kind": "nothing of ours"})
    assert RateRule.objects.count() == 6


def test_who_may_not_add_rules_saves_none(client: Client) -> None:
    client.force_login(User.objects.create_user("eve", is_staff=True))
    assert client.post(READY, {"kind": "login"}).status_code == 403
    assert not RateRule.objects.exists()
