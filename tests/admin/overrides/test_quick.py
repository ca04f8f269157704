"""The short form above the list of blocks and exemptions."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.utils import timezone

from ratewindow.models import Override
from tests.support.commands import from_me
from tests.support.override_pages import LIST, UNDO, undo_of
from tests.support.override_pages import typed_above_the_list as typed
from tests.support.rule_pages import errors, said

pytestmark = pytest.mark.django_db


def staff(client: Client, *codenames: str) -> Client:
    user = User.objects.create(username="staff", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(user)
    return client


@pytest.mark.django_db(transaction=True)
def test_an_address_is_blocked_for_an_hour_refused_and_let_go_again(page: Client, boss: User) -> None:
    response = page.post(LIST, typed(), follow=True)
    assert response.redirect_chain == [(LIST, 302)]
    made = Override.objects.get()
    assert (made.action, made.identity, made.reason) == ("block", "ip:203.0.113.9", "trying passwords")
    assert (made.created_by, made.source) == (boss, "admin")
    assert made.expires_at is not None
    assert timedelta(minutes=59) < made.expires_at - timezone.now() <= timedelta(hours=1)
    assert "Blocked ip:203.0.113.9 until " in said(response)
    assert from_me(1) == [429]
    before = undo_of(response)
    assert "Undone: ip:203.0.113.9." in said(page.post(UNDO, {"before": before}, follow=True))
    assert from_me(1) == [200]
    assert LogEntry.objects.count() == 2


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"action": "allow", "lasts": "24h"}, "Exempted ip:203.0.113.9 from all rules until "),
        ({"action": "allow", "rule": "login"}, "Exempted ip:203.0.113.9 from rule login until "),
        ({"action": "rate", "rate": "5/m", "rule": "login"}, "Limited ip:203.0.113.9 to 5/m under rule login until "),
        ({"action": "rate", "rate": "5/m"}, "Limited ip:203.0.113.9 to 5/m until "),
        ({"rule": "login"}, "Blocked ip:203.0.113.9 where rule login applies, until "),
        ({"lasts": "until", "expires_at": "2126-01-02T03:04"}, "Blocked ip:203.0.113.9 until 2126-01-02 03:04."),
        ({"expires_at": "2126-01-02T03:04"}, "Blocked ip:203.0.113.9 until 2126-01-02 03:04."),
    ],
)
def test_it_says_what_it_has_done(page: Client, fields: dict[str, str], told: str) -> None:
    assert told in said(page.post(LIST, typed(**fields), follow=True))
    assert Override.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"identity": ""}, "Enter a client, such as 203.0.113.9"),
        ({"identity": "bob"}, "'bob' is no address, and no user has this login name"),
        ({"identity": "127.0.0.1"}, "This block contains your address, 127.0.0.1, and would lock you out."),
        ({"reason": " "}, "Enter a reason for your colleagues."),
        ({"action": "rate"}, "Write how much is allowed instead, such as 5/m"),
        ({"rate": "5/m"}, "Only “Another rate” has a rate"),
        ({"lasts": "until"}, "Enter until when, or choose 1 or 24 hours."),
        ({"lasts": "24h", "expires_at": "2126-01-02T03:04"}, "Enter either a duration or an end, not both."),
        ({"lasts": "9h"}, "Select a valid choice. 9h is not one of the available choices."),
        ({"lasts": "until", "expires_at": "2020-01-02T03:04"}, "This time has passed: choose a later one."),
    ],
)
def test_an_error_stands_at_its_field_above_the_list(page: Client, fields: dict[str, str], told: str) -> None:
    Override.objects.allow("group:night", reason="in the list")
    response = page.post(LIST, typed(**fields))
    assert response.status_code == 200
    assert told in errors(response)[0]
    assert "in the list" in said(response)
    assert Override.objects.count() == 1


def test_groups_are_suggested(page: Client) -> None:
    Group.objects.create(name="night shift")
    assert '<option value="group:night shift">' in page.get(LIST).content.decode()


def test_it_takes_the_permission_to_add_and_no_other(client: Client) -> None:
    looking = staff(client, "view_override", "change_override", "delete_override")
    assert "Block or exempt" not in said(looking.get(LIST))
    assert looking.post(LIST, typed()).status_code == 403
    User.objects.get().user_permissions.set(Permission.objects.filter(codename__in=["view_override", "add_override"]))
    assert "Block or exempt" in said(looking.get(LIST))
    response = looking.post(LIST, typed(), follow=True)
    assert "Blocked ip:203.0.113.x until " in said(response)
    assert "203.0.113.9" not in said(response)


@pytest.mark.parametrize("has_zones", [True, False])
def test_what_was_added_is_undone_whatever_it_is(page: Client, settings: Any, has_zones: bool) -> None:
    settings.USE_TZ = has_zones
    fields = {"identity": "header:X-Api-Key:correct-horse-battery", "lasts": "until", "expires_at": "2126-01-02T03:04"}
    response = page.post(LIST, typed(action="rate", rate="5/m", rule="login", **fields), follow=True)
    assert "Undone: " in said(page.post(UNDO, {"before": undo_of(response)}, follow=True))
    assert not Override.objects.in_force().exists()


def test_whoever_added_a_block_may_undo_it_and_nobody_else_without_the_right_to_change_it(client: Client) -> None:
    adding = staff(client, "view_override", "add_override")
    response = adding.post(LIST, typed(), follow=True)
    before = undo_of(response)
    other = Client()
    other.force_login(User.objects.create(username="other", is_staff=True))
    assert other.post(UNDO, {"before": before}).status_code == 403
    assert Override.objects.in_force().exists()
    adding.post(UNDO, {"before": before})
    assert not Override.objects.in_force().exists()


def test_it_is_a_post_with_a_token(page: Client, boss: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(boss)
    assert strict.post(LIST, typed()).status_code == 403
    page.get(LIST, typed())
    assert not Override.objects.exists()


def test_for_everybody_it_takes_the_permission_to_switch_limits(client: Client) -> None:
    adding = staff(client, "view_override", "add_override")
    everybody: Any = typed(identity="*", action="rate", rate="1/m", rule="login")
    assert "You need the permission to switch all limits off" in errors(adding.post(LIST, everybody))[0]
