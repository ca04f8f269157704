"""Ready rules: shown where there is no rule yet, opened in the form, and saved in shadow by one button."""

import re
from html import unescape

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.http import HttpResponse
from django.test import Client
from django.urls import path, reverse
from pytest_django import DjangoAssertNumQueries

from ratewindow.models import RateRule
from tests.support.rule_pages import ADD, LIST, define, errors, said
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db

READY = reverse("admin:ratewindow_raterule_ready")
LOGIN, SEARCH = "login:route:login", "search:route:search"


def test_without_any_rule_the_list_offers_them(page: Client) -> None:
    shown = said(page.get(LIST))
    assert "First steps: ready rules" in shown
    assert "on POST to the route login" in shown
    assert "No page to sign up was found among this site&#x27;s URLs." in shown
    assert "By mode" not in shown  # there is nothing to filter


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
    pair, address, name = (each for each in urls if "route%3Alogin" in each)
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
        "hold": True,
        "on_error": "local",
    }
    assert [(row["limit"].value(), row["period"].value()) for row in formset.formset.forms] == [(5, "15m")]
    assert errors(response) == []
    assert not RateRule.objects.exists()
    assert f'href="{READY}"' not in response.content.decode()  # one has been chosen


def test_one_that_was_not_found_is_opened_to_be_filled_in(page: Client) -> None:
    form = page.get(ADD, {"ready": "sign-up:path:"}).context["adminform"].form
    assert (form["name"].value(), form["applies_to"].value(), form["pattern"].value()) == ("sign-up", "path", "")


def test_one_that_does_not_exist_opens_the_empty_form(page: Client) -> None:
    form = page.get(ADD, {"ready": "shoes"}).context["adminform"].form
    assert (form["name"].value(), form["applies_to"].value()) == (None, "")


def test_one_button_saves_it_in_shadow_and_says_the_way_back(page: Client) -> None:
    response = page.post(READY, {"ready": SEARCH}, follow=True)
    rule = RateRule.objects.get()
    assert (rule.name, rule.mode, rule.pattern) == ("search", "shadow", "search")
    assert [str(each) for each in rule.windows.all()] == ["30 in 1m"]
    assert "Rule search is saved in shadow: it counts, and refuses nobody. Delete it again" in said(response)
    assert reverse("admin:ratewindow_raterule_delete", args=[rule.pk]) in response.content.decode()
    assert LogEntry.objects.get().is_addition()
    assert "Rule search applies there." in said(response)
    assert "Rule search already applies there. Nothing was saved." in said(page.post(READY, {"ready": SEARCH}, follow=True))
    assert RateRule.objects.count() == 1


def test_one_button_saves_all_three_of_a_login_and_each_says_what_it_is_for(page: Client) -> None:
    shown = said(page.get(READY))
    assert "Stops one address from trying many names." in shown
    assert "strangers at two or more addresses can lock a name out, its owner included" in shown
    assert shown.count("Save all 3 in shadow") == 2  # of the site and of its admin
    response = page.post(READY, {"ready": LOGIN}, follow=True)
    assert set(RateRule.objects.values_list("name", "mode", "key", "on_error")) == {
        ("login", "shadow", "ip+post:username", "local"),
        ("login.address", "shadow", "ip", "local"),
        ("login.name", "shadow", "post:username", "local"),
    }
    for name in ("login", "login.address", "login.name"):
        assert f"Rule {name} is saved in shadow" in said(response)


def test_of_three_those_that_the_site_has_are_not_saved_again(page: Client) -> None:
    define("mine", route="login")
    assert "Save all 2 in shadow" in said(page.get(READY))
    response = page.post(READY, {"ready": LOGIN}, follow=True)
    assert set(RateRule.objects.values_list("name", flat=True)) == {"mine", "login", "login.name"}
    assert "Nothing was saved" not in said(response)


def test_where_the_field_of_a_login_is_not_known_the_page_says_what_it_looked_for(page: Client) -> None:
    with site(path("admin/", admin.site.urls), path("in/", lambda request: HttpResponse(), name="user_login")):
        shown = said(page.get(READY))
    assert "user_login: no field with the login name was found." in shown
    assert "named username, email or login" in shown


@pytest.mark.parametrize("slug", ["", "shoes", "sign-up:path:", "login:route:nowhere"])
def test_what_is_not_offered_is_not_saved(page: Client, slug: str) -> None:
    assert "is no longer offered: choose another one." in said(page.post(READY, {"ready": slug}, follow=True))
    assert not RateRule.objects.exists()


def test_they_take_the_permission_to_add_rules(client: Client) -> None:
    for right, status in (("view", 403), ("change", 403), ("add", 200)):
        user = User.objects.create(username=right, is_staff=True)
        user.user_permissions.set(Permission.objects.filter(codename=f"{right}_raterule"))
        client.force_login(user)
        assert client.get(READY).status_code == status
        assert client.post(READY, {"ready": SEARCH}).status_code == (302 if status == 200 else status)
        if right != "add":
            assert "First steps" not in said(client.get(LIST))
    assert RateRule.objects.count() == 1
    assert "Delete it again" not in said(client.get(READY))


def test_more_rules_take_no_more_queries(page: Client, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    define("one", route="login")
    page.get(READY)
    with django_assert_num_queries(3):  # session, user, rules
        page.get(READY)
    for number in range(20):
        define(f"rule-{number}", path=f"/{number}/")
    with django_assert_num_queries(3):
        page.get(READY)
