"""The page Coverage."""

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import path, reverse

from tests.support.rule_pages import LIST, define, said
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db

COVERAGE = reverse("admin:ratewindow_coverage")


def test_the_routes_are_listed_with_their_rules_and_those_without_first(page: Client) -> None:
    define("login", path="/login/", methods="POST", mode="enforce")
    define("api", prefix="/api/orders/7")
    assert COVERAGE in page.get(LIST).content.decode()
    text = said(page.get(COVERAGE))
    assert "Rules meet" in text and "without a rule look like logins" in text
    without = text.index("admin:login /admin/login/ – No rule, looks like a login")
    assert without < text.index("login /login/ GET, POST, PUT login")
    assert "/api/orders/&lt;int:number&gt;/ – Some of its paths: api (shadow)" in text
    assert "demo.limited (in code)" in text


def test_it_is_filtered_by_words_in_names_paths_and_rules(page: Client) -> None:
    define("sign-in", path="/login/", mode="enforce")
    assert "1 of" in said(page.get(COVERAGE, {"q": "SIGN-in"}))
    assert [each.label for each in page.get(COVERAGE, {"q": "sign-in"}).context["lines"]] == ["login"]
    assert [each.label for each in page.get(COVERAGE, {"q": "login", "show": "unmet"}).context["lines"]] == ["admin:login"]
    nothing = page.get(COVERAGE, {"q": "<script>alert(1)</script>"}).content.decode()
    assert "No route matches." in nothing and "<script>alert" not in nothing


def test_the_pages_of_the_admin_are_left_out_but_for_its_logins_until_they_are_asked_for(page: Client) -> None:
    some = page.get(COVERAGE, {"show": "unmet"})
    assert {each.label for each in some.context["lines"] if "/admin/" in each.path} == {
        "admin:login",
        "admin:password_change",
        "admin:auth_user_password_change",
    }
    left_out, of_site = some.context["left_out"], some.context["total"]
    assert f"{left_out} pages of the admin are left out. Show all" in said(some)
    every = page.get(f"{COVERAGE}?{some.context['admin_query']}")
    assert (every.context["total"], every.context["show"]) == (of_site + left_out, "unmet")
    assert "admin:index" in {each.label for each in every.context["lines"]} and "left out" not in said(every)
    assert "Rules meet" in some.context["summary"] != every.context["summary"]


def test_a_site_of_the_admin_by_another_name_is_left_out_too(page: Client) -> None:
    with site(path("admin/", admin.site.urls), path("office/", admin.AdminSite("office").urls), path("p/", view, name="shop")):
        assert [each.label for each in page.get(COVERAGE).context["lines"] if not each.label.endswith(("login", "change"))] == [
            "shop"
        ]


def test_of_very_many_routes_the_first_are_shown_until_all_are_asked_for(page: Client) -> None:
    patterns = [path("admin/", admin.site.urls), *(path(f"p{number}/", view, name=f"numbered-{number}") for number in range(300))]
    with site(*patterns):
        some = page.get(COVERAGE, {"q": "numbered-"}).context
        assert (len(some["lines"]), some["matching"]) == (200, 300)
        assert len(page.get(f"{COVERAGE}?{some['all_query']}").context["lines"]) == 300


def view(request: HttpRequest) -> HttpResponse:
    raise NotImplementedError


def test_what_leads_nowhere_is_listed_below(page: Client) -> None:
    define("lost", route="shop:cart")
    text = said(page.get(COVERAGE))
    assert "Rules that limit nobody, or refuse all lost : Rule &#x27;lost&#x27; is for the route &#x27;shop:cart&#x27;" in text


def test_who_may_look_at_rules_may_look_at_it_and_nobody_else(viewer: Client, client: Client) -> None:
    assert viewer.get(COVERAGE).status_code == 200
    client.force_login(User.objects.create_user("other", is_staff=True))
    assert client.get(COVERAGE).status_code == 403


def test_it_takes_the_same_queries_however_many_rules_there_are(page: Client) -> None:
    define("first", "5/m; 20/h", path="/login/")
    page.get(COVERAGE)
    with CaptureQueriesContext(connection) as few:
        page.get(COVERAGE)
    for number in range(50):
        define(f"r{number}", "5/m; 20/h", prefix=f"/{number}/")
    with CaptureQueriesContext(connection) as many:
        page.get(COVERAGE)
    assert len(many) == len(few) <= 12
