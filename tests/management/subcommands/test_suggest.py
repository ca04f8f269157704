"""``manage.py ratewindow suggest``."""

import io
import json

import pytest
from django.contrib.auth.views import LoginView
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.urls import path

from ratewindow.models import Edit, RateRule
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db


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
    assert "Logins. Slows down people who guess passwords." in said
    assert any(
        line.split() == ["login", "5/m;", "20/h", "failed", "ip+post:username", "route", "in,", "POST"]
        for line in said.splitlines()
    )
    assert "No page to sign up was found among this site's URLs." in said
    assert "To save all in shadow: manage.py ratewindow suggest --create" in said
    assert not RateRule.objects.exists()


def test_all_that_are_new_are_saved_in_shadow():
    assert "Saved in shadow: login, search, everything." in suggest("--create")
    assert set(RateRule.objects.values_list("name", "mode")) == {
        ("login", "shadow"),
        ("search", "shadow"),
        ("everything", "shadow"),
    }
    assert set(Edit.objects.values_list("way", flat=True)) == {"command suggest"}
    again = suggest("--create")
    assert again.count("a rule of the site") == 3
    assert "Nothing was saved" in again
    assert RateRule.objects.count() == 3


def test_only_those_named_are_saved():
    assert "Saved in shadow: search." in suggest("--create", "search")
    assert [rule.name for rule in RateRule.objects.all()] == ["search"]


def test_what_a_rule_of_the_site_already_meets_keeps_no_other_from_being_saved():
    RateRule.objects.define("mine", "5/m", route="in")
    with site(path("in/", LoginView.as_view(), name="in"), path("enter/", LoginView.as_view(), name="enter")):
        assert "Saved in shadow: login, everything." in suggest("--create")
    assert RateRule.objects.get(name="login").pattern == "enter"


def test_a_name_that_is_not_suggested_is_refused_and_nothing_is_saved():
    with pytest.raises(CommandError, match=r"'serach' is no new rule here\. New are: login, search, everything"):
        suggest("--create", "login", "serach")
    assert not RateRule.objects.exists()


def test_the_same_as_one_object_for_programs():
    found = json.loads(suggest("--json", "--create", "login"))
    assert found["created"] == ["login"]
    first = found["rules"][0]
    assert (first["kind"], first["name"], first["rate"], first["pattern"], first["key"]) == (
        *("login", "login", "5/m; 20/h"),
        *("in", "ip+post:username"),
    )
    assert first["reason"].startswith("Slows down")


def test_a_log_shows_what_each_would_have_refused_beside_the_others(tmp_path):
    log = tmp_path / "access.log"
    lines = [f'203.0.113.{number % 2} - - [20/Nov/2026:09:00:00 +0000] "GET /find/ HTTP/1.1" 200 1\n' for number in range(100)]
    log.write_text("".join(lines))
    said = suggest("--log", str(log))
    assert "met 100, would refuse 40 of 2 clients" in said  # more than 30 in a minute of each
    assert "met 100, would refuse 0 of 0 clients" in said  # everything: fewer than 600
    rules = {each["name"]: each["in_log"] for each in json.loads(suggest("--json", "--log", str(log)))["rules"]}
    assert (rules["search"]["would_refuse"], rules["everything"]["would_refuse"]) == (40, 0)


def test_a_log_that_is_not_there_is_named():
    with pytest.raises(CommandError, match=r"nowhere\.log cannot be read"):
        suggest("--log", "nowhere.log")
