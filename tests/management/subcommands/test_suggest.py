"""``manage.py ratewindow suggest``."""

import io

import pytest
from django.contrib.auth.views import LoginView
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.urls import path

from ratewindow.models import RateRule
from tests.support.urlconfs import site

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("core_presets")]


@pytest.fixture(autouse=True)
def shop():
    with site(path("in/", LoginView.as_view(), name="in"), path("find/", lambda request: HttpResponse(), name="search")):
        yield


def suggest(*arguments):
    out = io.StringIO()
    call_command("ratewindow", "suggest", *arguments, stdout=out)
    return out.getvalue()


def test_it_proposes_rules_for_the_sites_own_urls_each_with_its_reason():
    said = suggest()
    assert "Logins. Slow down people who guess passwords." in said
    lines = [line.split() for line in said.splitlines()]
    for name, rate, key in (
        ("login", "5/15m", "ip+post:username"),
        ("login.address", "20/h", "ip"),
        ("login.name", "10/15m", "post:username"),
    ):
        assert [name, rate, "failed", key, "route", "in,", "POST"] in lines
    assert "login.name: Stops many addresses from guessing the password of one name. Its price: strangers at two" in said
    assert "To save the new ones in shadow: manage.py ratewindow suggest --create" in said
    assert not RateRule.objects.exists()


def test_all_that_are_new_are_saved_in_shadow():
    assert "Saved in shadow: login, login.address, login.name, everything." in suggest("--create")
    assert set(RateRule.objects.values_list("mode", flat=True)) == {"shadow"}
    again = suggest("--create")
    assert again.count("a rule of the site") == 4
    assert RateRule.objects.count() == 4


def test_only_those_named_are_saved():
    assert "Saved in shadow: everything." in suggest("--create", "everything")
    assert [rule.name for rule in RateRule.objects.all()] == ["everything"]


def test_one_of_a_login_brings_the_others_for_the_same_page():
    assert "Saved in shadow: login, login.address, login.name." in suggest("--create", "login.address")


def test_a_name_that_is_not_suggested_is_refused_and_nothing_is_saved():
    with pytest.raises(CommandError, match=r"'serach' is no new rule here\. New are: login, .*, everything"):
        suggest("--create", "login", "serach")
    assert not RateRule.objects.exists()
