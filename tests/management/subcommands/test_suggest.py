"""``manage.py ratewindow suggest``."""

import io
import json
from pathlib import Path

import pytest
from django.contrib.auth.views import LoginView
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.urls import path
from rest_framework.views import APIView

from ratewindow.models import Edit, RateRule
from tests.support.log_files import busy_hours
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
    assert "Logins. Slow down people who guess passwords." in said
    lines = [line.split() for line in said.splitlines()]
    for name, rate, key in (
        ("login", "5/15m", "ip+post:username"),
        ("login.address", "20/h", "ip"),
        ("login.name", "10/15m", "post:username"),
    ):
        assert [name, rate, "failed", key, "route", "in,", "POST"] in lines
    assert "login.name: Stops many addresses from guessing the password of one name. Its price: strangers at two" in said
    assert "No page to sign up was found among this site's URLs." in said
    assert "To save all in shadow: manage.py ratewindow suggest --create" in said
    assert not RateRule.objects.exists()


def test_all_that_are_new_are_saved_in_shadow():
    assert "Saved in shadow: login, login.address, login.name, search, everything." in suggest("--create")
    assert set(RateRule.objects.values_list("mode", flat=True)) == {"shadow"}
    assert set(Edit.objects.values_list("way", flat=True)) == {"command suggest"}
    again = suggest("--create")
    assert again.count("a rule of the site") == 5
    assert "Nothing was saved" in again
    assert RateRule.objects.count() == 5


def test_only_those_named_are_saved():
    assert "Saved in shadow: search." in suggest("--create", "search")
    assert [rule.name for rule in RateRule.objects.all()] == ["search"]


def test_one_of_a_login_brings_the_others_for_the_same_page():
    assert "Saved in shadow: login, login.address, login.name." in suggest("--create", "login.address")


def test_where_the_field_of_a_login_is_not_known_it_says_what_it_looked_for():
    with site(path("in/", lambda request: HttpResponse(), name="user_login")):
        assert "user_login: no field with the login name was found." in suggest()
        [note] = json.loads(suggest("--json"))["notes"]
    assert "named username, email or login" in note


def test_a_site_without_a_login_hears_of_the_passwords_that_rest_framework_takes():
    with site(path("api/orders/", APIView.as_view())):
        said = suggest()
        [note] = json.loads(suggest("--json"))["notes"]
    assert f"No page to log in was found among this site's URLs.\n{note}" in said
    assert "BasicAuthentication" in note


def test_what_a_rule_of_the_site_already_meets_keeps_no_other_from_being_saved():
    RateRule.objects.define("mine", "5/m", route="find")
    with site(
        path("find/", lambda request: HttpResponse(), name="find"), path("search/", lambda request: HttpResponse(), name="search")
    ):
        assert "Saved in shadow: search, everything." in suggest("--create")
    assert RateRule.objects.get(name="search").pattern == "search"


def test_a_name_that_is_not_suggested_is_refused_and_nothing_is_saved():
    with pytest.raises(CommandError, match=r"'serach' is no new rule here\. New are: login, .*, search, everything"):
        suggest("--create", "login", "serach")
    assert not RateRule.objects.exists()


def test_the_same_as_one_object_for_programs():
    found = json.loads(suggest("--json", "--create", "login"))
    assert found["created"] == ["login", "login.address", "login.name"]
    first = found["rules"][0]
    assert (first["kind"], first["name"], first["rate"], first["pattern"], first["key"]) == (
        *("login", "login", "5/15m"),
        *("in", "ip+post:username"),
    )
    assert first["reason"].startswith("Stops one address")


def test_a_log_shows_what_each_would_have_refused_beside_the_others(tmp_path):
    log = tmp_path / "access.log"
    lines = [f'203.0.113.{number % 2} - - [20/Nov/2026:09:00:00 +0000] "GET /find/ HTTP/1.1" 200 1\n' for number in range(100)]
    log.write_text("".join(lines))
    said = suggest("--log", str(log))
    assert "met 100, would refuse 40 of 2 clients" in said  # more than 30 in a minute of each
    assert "search: 30/m stays. The requests cover " in said
    assert "met 100, would refuse 0 of 0 clients" in said  # everything: fewer than 600
    rules = {each["name"]: each["in_log"] for each in json.loads(suggest("--json", "--log", str(log)))["rules"]}
    assert (rules["search"]["would_refuse"], rules["everything"]["would_refuse"]) == (40, 0)


def test_a_log_that_is_not_there_is_named():
    with pytest.raises(CommandError, match=r"nowhere\.log cannot be read"):
        suggest("--log", "nowhere.log")


@pytest.fixture
def days(tmp_path):
    """A day and a quarter."""
    path = tmp_path / "days.log"
    path.write_text(busy_hours(31, "/find/"))
    return str(path)


@pytest.mark.long
def test_a_log_that_says_enough_suggests_the_rate_in_the_place_of_the_usual_one(days):
    found = json.loads(suggest("--log", days, "--json"))
    search, everything = (each for each in found["rules"] if each["name"] in ("search", "everything"))
    limit = int(search["rate"].removesuffix("/m"))
    assert 6 <= limit < 40
    assert (search["usual_rate"], everything["usual_rate"]) == ("30/m", "600/m")
    assert everything["rate"] == search["rate"]
    assert search["rate_reason"].startswith(f"{limit} in 1 minute lies in a gap: 1 client takes 40 or more")
    assert search["in_log"]["would_refuse"] == 310  # of the usual rate
    [login] = [each for each in found["rules"] if each["name"] == "login"]
    assert login["rate"] == login["usual_rate"] == "5/15m"
    said = suggest("--log", days)
    assert f"search: {search['rate_reason']}" in said
    assert f"met {search['in_log']['requests']:,}, 30/m would refuse 310 of 1 clients" in said
    assert "login: 5/15m stays: a log does not say whether a login failed." in said
    assert "it applies to no request of this log" not in said


def test_rules_are_saved_at_the_suggested_rate_with_the_log_as_their_evidence(days):
    rules = json.loads(suggest("--log", days, "--json", "--create", "search", "login"))["rules"]
    [rate] = [each["rate"] for each in rules if each["name"] == "search"]
    search, login = RateRule.objects.get(name="search"), RateRule.objects.get(name="login")
    assert [window.freeze().text for window in search.windows.all()] == [rate]
    assert search.description.startswith("A search costs more")
    kept = search.evidence.get()
    assert (kept.log, kept.chosen, kept.clients) == ("days.log", rate, 240)
    assert kept.periods[0]["suggestion"]["limit"] == int(rate.removesuffix("/m"))
    assert (login.evidence.get().requests, login.mode) == (0, "shadow")


@pytest.mark.long
def test_a_rate_that_the_halves_of_the_log_do_not_agree_about_is_not_taken(tmp_path, days):
    log, lines = tmp_path / "halves.log", Path(days).read_text().splitlines(keepends=True)
    middle = len(lines) // 2
    log.write_text("".join([*(line for line in lines[:middle] for _ in range(5)), *lines[middle:]]))
    said = suggest("--log", str(log))
    assert "search: 30/m stays. " in said
    assert "This is not stable" in said
