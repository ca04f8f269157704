"""Projects with several sites of the admin, and those that leave some of our pages out."""

import re
from collections.abc import Iterator

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client, override_settings
from django.urls import path, reverse

from ratewindow.models import AlertChannel, Edit, Override, RateRule

pytestmark = pytest.mark.django_db

PAGES = (AlertChannel, Edit, Override, RateRule, apps.get_model("ratewindow", "ThrottleStat"))


def site_with(name: str, *models: type) -> admin.AdminSite:
    site = admin.AdminSite(name=name)
    for model in models:
        site.register(model, type(admin.site.get_model_admin(model)))
    return site


staff, of_rules = site_with("staff", *PAGES), site_with("of_rules", RateRule)
bare = admin.AdminSite()  # in the place of Django's own, without our pages
urlpatterns = [
    path("admin/", bare.urls),
    path("staff/", staff.urls),
    path("rules/", of_rules.urls),
]


@pytest.fixture
def client(client: Client) -> Iterator[Client]:
    RateRule.objects.define("login", "5/m", path="/login/", mode="shadow")
    Override.objects.create(action="block", identity="ip:203.0.113.9", reason="spam")
    client.force_login(User.objects.create_superuser("root"))
    with override_settings(ROOT_URLCONF=__name__):
        yield client


def ours_on(client: Client, address: str) -> set[str]:
    """The addresses of our pages that a page leads to."""
    answer = client.get(address)
    assert answer.status_code == 200, address
    return set(re.findall(r'(?:href|action|data-[\w-]+)="(/(?!static/)\w+/ratewindow/[^"?]*)', answer.content.decode()))


def pages(site: str) -> list[str]:
    def address(name: str, *args: int) -> str:
        return reverse(f"admin:ratewindow_{name}", args=args, current_app=site)

    rule, override = RateRule.objects.get().pk, Override.objects.get().pk
    lists = ["report", "state", "switch", "history", "explain", "raterule_changelist", "override_changelist"]
    lists += ["raterule_ready", "backtest", "coverage"]
    of_rows = [("raterule", rule), ("override", override)]
    rows = [address(f"{model}_{page}", pk) for model, pk in of_rows for page in ("change", "history")]
    return [reverse("admin:app_list", args=["ratewindow"], current_app=site), *map(address, lists), *rows]


def test_each_page_links_to_pages_of_its_own_site(client: Client) -> None:
    for address in pages("staff"):
        assert {each.split("/")[1] for each in ours_on(client, address)} == {"staff"}, address


def test_a_button_leads_back_to_the_site_it_was_pressed_on(client: Client) -> None:
    rule = RateRule.objects.get()
    answer = client.post(f"/staff/ratewindow/raterule/{rule.pk}/stage/", {"to": "enforce"})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/staff/")


def test_what_a_site_lacks_is_on_another_one(client: Client) -> None:
    found = ours_on(client, f"/rules/ratewindow/raterule/{RateRule.objects.get().pk}/change/")
    assert {each.split("/")[1] for each in found} == {"rules", "staff"}


def test_a_site_without_some_of_our_pages_shows_the_others(client: Client) -> None:
    with override_settings(ROOT_URLCONF=(path("rules/", of_rules.urls),)):
        for address in ("/rules/ratewindow/", "/rules/ratewindow/raterule/", "/rules/ratewindow/raterule/backtest/"):
            assert all(each.startswith("/rules/") for each in ours_on(client, address))
