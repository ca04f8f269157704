"""Switching all limits off in the admin: with a reason and an end, by whom it is allowed, undone in its message."""

import re
import time

import pytest
import time_machine
from django.contrib.admin import ModelAdmin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db import DatabaseError
from django.test import Client
from django.urls import reverse

from ratewindow.models import LimitSwitch, RateRule
from ratewindow.operations import switch_off
from ratewindow.rulebook import kill_switch

pytestmark = pytest.mark.django_db

SWITCH, REPORT = reverse("admin:ratewindow_switch"), reverse("admin:ratewindow_report")
OFF = {"length": "1h", "reason": "a campaign"}


def staff(client, *codenames):
    user = User.objects.create_user("ann", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(user)
    return client


def text_of(response):
    return re.sub(r"\s+", " ", response.content.decode())


@time_machine.travel("2026-11-20 12:00:00+00:00", tick=False)
def test_off_says_until_when_by_whom_and_why_and_is_undone_in_its_message(admin_client):
    response = admin_client.post(SWITCH, OFF, follow=True)
    assert response.redirect_chain == [(REPORT, 302)]
    assert "Limits are OFF until 13:00, by admin: a campaign." in text_of(response)
    assert "Limits are OFF until 13:00, by admin: a campaign. Nothing is refused" in text_of(admin_client.get(REPORT))
    assert kill_switch.off
    response = admin_client.post(SWITCH, {"to": "on"}, follow=True)
    assert "Limits are switched on." in text_of(response)
    assert not kill_switch.off


def test_each_turn_is_logged(admin_client):
    admin_client.post(SWITCH, OFF)
    admin_client.post(SWITCH, {"to": "on"})
    told = list(LogEntry.objects.order_by("pk").values_list("change_message", flat=True))
    assert told[0].startswith("Switched off until") and "a campaign" in told[0]
    assert told[1] == "Switched on."


@pytest.mark.parametrize("data", [{"length": "1h", "reason": ""}, {"length": "soon", "reason": "x"}, {"reason": "x"}, {}])
def test_without_a_reason_or_an_end_nothing_is_done(admin_client, data):
    response = admin_client.post(SWITCH, data)
    assert response.status_code == 200
    assert "errorlist" in text_of(response)
    assert not LimitSwitch.objects.exists()


def test_a_look_at_the_page_turns_nothing(admin_client):
    assert "Switch all limits off" in text_of(admin_client.get(SWITCH))
    admin_client.get(SWITCH, OFF)
    admin_client.get(SWITCH, {"to": "on"})
    assert not LimitSwitch.objects.exists()


def test_it_needs_its_own_permission(client):
    staff(client, "view_throttlestat", "change_raterule", "view_raterule")
    assert client.get(SWITCH).status_code == client.post(SWITCH, OFF).status_code == 403
    assert "switch off" not in text_of(client.get(REPORT))
    switch_off.turn_off()
    html = text_of(client.get(REPORT))
    assert "Limits are OFF" in html and "Switch on" not in html


def test_who_may_switch_and_nothing_else_can(client):
    staff(client, "switch_limits")
    response = client.post(SWITCH, OFF)
    assert (response.status_code, response["Location"]) == (302, reverse("admin:index"))
    assert kill_switch.off


def test_who_may_switch_and_nothing_else_finds_the_way(client):
    staff(client, "switch_limits")
    html = text_of(client.get(reverse("admin:index")))
    assert f'href="{reverse("admin:ratewindow_throttlestat_changelist")}"' in html
    assert client.get(reverse("admin:app_list", args=["ratewindow"])).status_code == 200
    assert client.get(REPORT)["Location"] == SWITCH
    crumbs = re.search('<div class="breadcrumbs">.*?</div>', text_of(client.get(SWITCH))).group()
    assert re.findall('href="([^"]*)"', crumbs) == [reverse("admin:index"), reverse("admin:app_list", args=["ratewindow"])]


def test_the_words_are_those_for_limits_that_are_on_or_off(admin_client):
    assert "Leave them on" in text_of(admin_client.get(SWITCH))
    assert "Except with the last choice, limits are switched on again automatically." in text_of(admin_client.get(SWITCH))
    switch_off.turn_off()
    html = text_of(admin_client.get(SWITCH))
    assert "Leave them on" not in html and "Back to the report" in html


def test_it_is_protected_against_forgery(admin_user):
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    assert client.post(SWITCH, OFF).status_code == 403
    assert not LimitSwitch.objects.exists()


def test_what_people_write_is_text(admin_client):
    response = admin_client.post(SWITCH, {**OFF, "reason": "<img src=x>"}, follow=True)
    assert "<img src=x>" not in text_of(response)
    assert "&lt;img src=x&gt;" in text_of(response)


def test_the_setting_stands_above_the_page(admin_client, settings):
    settings.RATEWINDOW = {**settings.RATEWINDOW, "ENABLED": False}
    assert "overrides this switch" in text_of(admin_client.get(SWITCH))
    assert "Limits are OFF by RATEWINDOW" in text_of(admin_client.get(REPORT))


def test_a_place_that_is_not_reached_is_named(admin_client, settings):
    settings.RATEWINDOW = {**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}
    html = text_of(admin_client.post(SWITCH, OFF, follow=True))
    assert "Redis was not reached" in html and "Limits are OFF" in html


@pytest.mark.parametrize("page", ["raterule_changelist", "raterule_add", "report", "state", "switch"])
def test_every_page_says_that_limits_are_off_and_lets_them_be_switched_on(admin_client, page):
    RateRule.objects.define("login", "5/m")
    switch_off.turn_off(60, "why not", "ann")
    html = text_of(admin_client.get(reverse(f"admin:ratewindow_{page}")))
    assert html.count("by ann: why not") == 1
    assert '<input type="hidden" name="to" value="on">' in html


def test_it_is_over_when_its_time_is(admin_client):
    switch_off.turn_off(60, "why not", "ann")
    with time_machine.travel(time.time() + 61, tick=False):
        assert "Limits are OFF" not in text_of(admin_client.get(REPORT))


INDEX = reverse("admin:app_list", args=["ratewindow"])


def test_state_and_switch_are_one_click_from_the_apps_index(admin_client):
    told = text_of(admin_client.get(INDEX))
    assert f'href="{SWITCH}"' in told and f'href="{reverse("admin:ratewindow_state")}"' in told


def test_the_index_links_only_what_may_be_seen(client):
    told = text_of(staff(client, "view_raterule").get(INDEX))
    assert f'href="{SWITCH}"' not in told and f'href="{reverse("admin:ratewindow_state")}"' not in told


def test_limits_are_switched_also_where_the_log_cannot_be_written(admin_client, monkeypatch):
    def log_change(*_):
        raise DatabaseError

    monkeypatch.setattr(ModelAdmin, "log_change", log_change)
    response = admin_client.post(SWITCH, OFF, follow=True)
    assert response.status_code == 200 and kill_switch.off
