"""Projects with several sites of the admin, and those that leave some of our pages out."""

import re
from collections.abc import Iterator

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client, override_settings
from django.urls import path

from ratewindow.contrib.history.models import Edit
from ratewindow.models import Override, RateRule

pytestmark = pytest.mark.django_db

PAGES = (Edit, Override, RateRule, apps.get_model("ratewindow", "ThrottleStat"))


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


@pytest.mark.parametrize(
    ("page", "sent"),
    [
        ("raterule/{rule}/mode/", {"to": "enforce"}),
        ("override/{override}/end/", {}),
        ("throttlestat/switch/", {"length": "1h", "reason": "a campaign"}),
    ],
)
def test_a_button_leads_back_to_the_site_it_was_pressed_on(page: str, sent: dict[str, str], client: Client) -> None:
    address = page.format(rule=RateRule.objects.get().pk, override=Override.objects.get().pk)
    answer = client.post(f"/staff/ratewindow/{address}", sent)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/staff/")


def test_what_a_site_lacks_is_on_another_one(client: Client) -> None:
    found = ours_on(client, f"/rules/ratewindow/raterule/{RateRule.objects.get().pk}/change/")
    assert {each.split("/")[1] for each in found} == {"rules", "staff"}


def test_a_site_without_some_of_our_pages_shows_the_others(client: Client) -> None:
    with override_settings(ROOT_URLCONF=(path("rules/", of_rules.urls),)):
        for address in ("/rules/ratewindow/", "/rules/ratewindow/raterule/", "/rules/ratewindow/raterule/backtest/"):
            assert all(each.startswith("/rules/") for each in ours_on(client, address))
