"""The short form above the list of blocks and exemptions."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from ratewindow import condition
from ratewindow.identity.site_answers import SiteFunctions
from ratewindow.models import Override
from ratewindow.overrides import conditions
from tests.support.commands import from_me
from tests.support.override_pages import ADD, LIST, quick, typed_above_the_list as typed
from tests.support.rule_pages import errors, said

pytestmark = pytest.mark.django_db


def staff(client: Client, *codenames: str) -> Client:
    user = User.objects.create(username="staff", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(user)
    return client


@pytest.mark.django_db(transaction=True)
def test_an_address_is_blocked_for_an_hour_refused_and_let_go_again(page: Client, boss: User) -> None:
    response = page.post(ADD, typed(), follow=True)
    assert response.redirect_chain == [(LIST, 302)]
    made = Override.objects.get()
    assert (made.action, made.identity, made.reason) == ("block", "ip:203.0.113.9", "trying passwords")
    assert (made.created_by, made.source) == (boss, "admin")
    assert made.expires_at is not None
    assert timedelta(minutes=59) < made.expires_at - timezone.now() <= timedelta(hours=1)
    assert "“ block ip:203.0.113.9 ” was added successfully" in said(response)
    assert f'formaction="{made.pk}/end/"' in response.content.decode()
    assert from_me(1) == [429]
    page.post(quick("end", made))
    assert from_me(1) == [200]
    assert LogEntry.objects.count() == 2


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"action": "allow", "lasts": "24h"}, "allow ip:203.0.113.9"),
        ({"action": "rate", "rate": "5/m", "rule": "login"}, "rate ip:203.0.113.9 (login)"),
        ({"lasts": ""}, "block ip:203.0.113.9"),
    ],
)
def test_it_says_what_it_has_done(page: Client, fields: dict[str, str], told: str) -> None:
    assert f"“ {told} ” was added successfully" in said(page.post(ADD, typed(**fields), follow=True))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"identity": ""}, "Enter a client, such as 203.0.113.9"),
        ({"identity": "bob"}, "'bob' is no address, and no user has this login name"),
        ({"identity": "127.0.0.1"}, "This block contains you (ip:127.0.0.1) and would lock you out."),
        ({"action": "rate"}, "Write how much is allowed instead, such as 5/m"),
        ({"rate": "5/m"}, "Only “Another rate” has a rate"),
        ({"lasts": "60"}, "'60' has no unit: write 60s for seconds"),
    ],
)
def test_an_error_stands_at_its_field_in_the_whole_form(page: Client, fields: dict[str, str], told: str) -> None:
    response = page.post(ADD, typed(**fields))
    assert response.status_code == 200
    assert told in errors(response)[0]
    assert not Override.objects.exists()


def test_it_takes_the_permission_to_add_and_no_other(client: Client) -> None:
    looking = staff(client, "view_override", "change_override", "delete_override")
    assert "Block or exempt" not in said(looking.get(LIST))
    assert looking.post(ADD, typed()).status_code == 403
    User.objects.get().user_permissions.set(Permission.objects.filter(codename__in=["view_override", "add_override"]))
    assert "Block or exempt" in said(looking.get(LIST))
    response = looking.post(ADD, typed(), follow=True)
    assert "“block ip:203.0.113.x” was added successfully" in said(response)
    assert "203.0.113.9" not in said(response)


def test_it_is_a_post_with_a_token(page: Client, boss: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(boss)
    assert strict.post(ADD, typed()).status_code == 403
    page.get(ADD, typed())
    assert not Override.objects.exists()


def test_for_everybody_it_takes_the_permission_to_switch_limits(client: Client) -> None:
    adding = staff(client, "view_override", "add_override")
    everybody: Any = typed(identity="*", action="rate", rate="1/m", rule="login")
    assert "You need the permission to switch all limits off" in errors(adding.post(ADD, everybody))[0]


def test_who_can_be_chosen_from_conditions(page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "registered", SiteFunctions("condition", "it is taken as not true"))
    condition("approved <author>")(lambda request: True)
    for address in (LIST, ADD):
        shown = page.get(address).content.decode()
        assert '<option value="staff">Staff</option>' in shown
        assert '<option value="condition:approved &lt;author&gt;">approved &lt;author&gt;</option>' in shown
        assert 'list="identity-choices"' in shown
    assert errors(page.post(ADD, typed(identity="condition:approved <author>", action="allow"))) == []
    assert Override.objects.get().identity == "condition:approved <author>"


def test_a_permission_that_django_does_not_know_is_told(page: Client) -> None:
    response = page.post(ADD, typed(identity="permission:auth.chang_group", action="allow"), follow=True)
    assert "There is no &#x27;permission:auth.chang_group&#x27; in Django" in said(response)
