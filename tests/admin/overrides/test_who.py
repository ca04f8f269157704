"""The client of a block or an exemption, as people name it in the admin."""

import re
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from ratewindow.models import Override
from tests.support.override_pages import ADD, LIST, change, typed
from tests.support.rule_pages import errors

pytestmark = pytest.mark.django_db

NOT_YOURS = "by login name or e-mail address you need the permission to view users."


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create(username="ann.smith", email="ann@example.com")


@pytest.fixture
def editor(client: Client) -> Client:
    """Staff that may add blocks, and not see users."""
    user = User.objects.create(username="editor", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="ratewindow"))
    client.force_login(user)
    return client


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("203.0.113.9", "ip:203.0.113.9"),
        ("203.0.113.9/24", "ip:203.0.113.0/24"),
        ("2001:db8::1", "ip:2001:db8::/64"),
        ("198.51.100.7+post:username:ann", "15:ip:198.51.100.7+17:post:username:ann"),
    ],
)
def test_an_address_needs_no_kind(page: Client, written: str, kept: str) -> None:
    assert page.post(ADD, typed(identity=written)).status_code == 302
    assert Override.objects.get().identity == kept


@pytest.mark.parametrize("written", ["ann.smith", "ANN.SMITH", "ann@example.com"])
def test_a_user_is_found_by_login_name_and_email_address(page: Client, ann: User, written: str) -> None:
    assert page.post(ADD, typed(identity=written)).status_code == 302
    assert Override.objects.get().identity == f"user:{ann.pk}"


def test_of_several_users_one_is_chosen(page: Client, ann: User) -> None:
    eve = User.objects.create(username="eve", email="Ann@Example.com")
    other = User.objects.create(username="other")
    asked = page.post(ADD, typed(identity="ann@example.com"))
    choices = re.findall(r'name="identity_chosen" value="([^"]+)"> ([^<]+)<', asked.content.decode())
    assert choices == [
        (f"user:{ann.pk}", f"ann.smith, ann@example.com (user:{ann.pk})"),
        (f"user:{eve.pk}", f"eve, Ann@Example.com (user:{eve.pk})"),
    ]
    for made_up in (f"user:{other.pk}", "*", "ip:203.0.113.9"):
        page.post(ADD, typed(identity="ann@example.com", identity_chosen=made_up))
        assert not Override.objects.exists()
    page.post(ADD, typed(identity="ann@example.com", identity_chosen=f"user:{eve.pk}"))
    assert Override.objects.get().identity == f"user:{eve.pk}"


def test_who_may_not_view_users_neither_finds_nor_guesses_them(editor: Client, ann: User) -> None:
    for written in ("ann.smith", "ann@example.com", "nobody@example.com", str(ann.pk)):
        (told,) = errors(editor.post(ADD, typed(identity=written)))
        assert told.endswith(NOT_YOURS)
    assert 'name="user"' not in editor.get(ADD).content.decode()
    chosen = typed(identity="", user=str(ann.pk))
    assert errors(editor.post(ADD, chosen))[0].startswith("Enter a client")
    User.objects.get(username="editor").user_permissions.add(Permission.objects.get(codename="view_user"))
    assert editor.post(ADD, typed(identity="ann.smith")).status_code == 302


def test_a_user_is_chosen_from_those_that_the_admin_finds(page: Client, ann: User) -> None:
    form = page.get(ADD).content.decode()
    assert 'data-app-label="ratewindow" data-model-name="override" data-field-name="created_by"' in form
    found = page.get(
        "/admin/autocomplete/", {"app_label": "ratewindow", "model_name": "override", "field_name": "created_by", "term": "ann@"}
    )
    assert found.json()["results"] == [{"id": str(ann.pk), "text": "ann.smith"}]
    assert page.post(ADD, typed(identity="", user=str(ann.pk))).status_code == 302
    assert Override.objects.get().identity == f"user:{ann.pk}"


def test_without_search_fields_there_is_no_such_choice(page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(admin.site._registry[User]), "search_fields", ())
    assert 'name="user"' not in page.get(ADD).content.decode()


def test_a_group_is_chosen(page: Client) -> None:
    night = Group.objects.create(name="night shift")
    assert page.post(ADD, typed(identity="", group=str(night.pk))).status_code == 302
    assert Override.objects.get().identity == "group:night shift"


def test_two_clients_are_two_blocks(page: Client, ann: User) -> None:
    (told,) = errors(page.post(ADD, typed(identity="203.0.113.9", user=str(ann.pk))))
    assert told.startswith(f"This names several clients, ip:203.0.113.9 and user:{ann.pk}: keep one, and add")


def test_a_user_that_is_gone_is_said(page: Client) -> None:
    told = errors(page.post(ADD, typed(identity="", user="4711", group="4711")))
    assert "This user does not exist any more: choose another one." in told
    assert "This group does not exist any more: choose another one." in told


def test_a_link_carries_client_rule_action_and_duration(page: Client) -> None:
    given = {"identity": "user:42", "rule": "login", "action": "rate", "duration": "24h", "rate": "5/m"}
    form = page.get(ADD, given).content.decode()
    fields = dict(re.findall(r'<input type="text" name="(\w+)" value="([^"]*)"', form))
    assert fields.items() >= {"identity": "user:42", "rule": "login", "lasts": "24h", "rate": "5/m"}.items()
    assert re.search(r'value="rate"[^>]*checked', form)
    assert not Override.objects.exists()


def test_an_override_keeps_its_client(page: Client, ann: User) -> None:
    override = Override.objects.block("ip:203.0.113.9", duration="1h")
    form: Any = page.get(change(override)).content.decode()
    assert 'name="user"' not in form and 'name="group"' not in form
    page.post(change(override), typed(user=str(ann.pk), reason="another"))
    override.refresh_from_db()
    assert (override.identity, override.reason) == ("ip:203.0.113.9", "another")
    assert page.get(LIST).status_code == 200
