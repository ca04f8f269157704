"""Letting a client go in the admin: by whom it is allowed, with a reason, and never a page of errors."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client, override_settings
from django.urls import reverse

from ratewindow import hit
from ratewindow.models import Override, RateRule
from ratewindow.rulebook import reading

pytestmark = pytest.mark.django_db

RELEASE = reverse("admin:ratewindow_override_release")
LIST = reverse("admin:ratewindow_override_changelist")
ANN = {"identity": "user:42", "rule": "", "reason": "she called"}


@pytest.fixture(autouse=True)
def full() -> None:
    """A client that two rules refuse."""
    for name in ("mail", "export"):
        RateRule.objects.define(name, "1/h", key="user", mode="enforce")
    reading.reload()
    assert [bool(hit(name, "user:42")) for name in ("mail", "mail", "export", "export")] == [True, False, True, False]


def text_of(response: object) -> str:
    return re.sub(r"\s+", " ", response.content.decode())  # type: ignore[attr-defined]


def test_it_says_what_it_has_done_and_the_client_passes(admin_client: Client) -> None:
    Override.objects.block("user:42", reason="spam")
    response = admin_client.post(RELEASE, ANN, follow=True)
    assert response.redirect_chain == [(RELEASE, 302)]
    assert "its counts under export, mail deleted, 1 block ended." in text_of(response)
    reading.reload()
    assert hit("mail", "user:42") and hit("export", "user:42")


def test_one_rule_alone(admin_client: Client) -> None:
    admin_client.post(RELEASE, {**ANN, "rule": "mail"})
    assert hit("mail", "user:42")
    assert not hit("export", "user:42")


def test_the_log_of_the_admin_has_neither_whom_nor_why(admin_client: Client) -> None:
    admin_client.post(RELEASE, {**ANN, "identity": "ip:203.0.113.9"})
    entry = LogEntry.objects.get()
    assert (entry.object_repr, entry.change_message) == ("client", "Released.")


@pytest.mark.parametrize(
    "sent, told",
    [
        ({**ANN, "identity": "bob"}, "&#x27;bob&#x27; is no address, and no user has this login name"),
        ({**ANN, "identity": ""}, "Enter a client, such as"),
        ({**ANN, "identity": "<img src=x onerror=alert(1)>"}, "&lt;img src=x"),
        ({**ANN, "rule": "nail"}, "there is no rule &#x27;nail&#x27;"),
        ({**ANN, "reason": " "}, "Enter a reason for the history."),
        ({}, "Enter a client"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_done(admin_client: Client, sent: dict[str, str], told: str) -> None:
    response = admin_client.post(RELEASE, sent)
    assert response.status_code == 200
    assert told in text_of(response)
    assert "<img src=x" not in text_of(response)
    assert not hit("mail", "user:42")


def test_a_look_at_the_page_releases_nobody(admin_client: Client) -> None:
    assert "See and release a client" in text_of(admin_client.get(RELEASE, ANN))
    assert not hit("mail", "user:42")


def test_a_client_is_found_as_in_a_block(admin_client: Client) -> None:
    ann = User.objects.create(username="ann", email="ann@example.com")
    who = f"user:{ann.pk}"
    assert [bool(hit("mail", who)) for _ in range(2)] == [True, False]
    Override.objects.block("ip:203.0.113.9")
    assert "Released ip:203.0.113.9: " in text_of(admin_client.post(RELEASE, {**ANN, "identity": "203.0.113.9"}, follow=True))
    assert not Override.objects.in_force().exists()
    assert f"Released {who}: " in text_of(admin_client.post(RELEASE, {**ANN, "identity": "ann"}, follow=True))
    assert hit("mail", who)


def test_a_link_carries_the_client(admin_client: Client) -> None:
    page = text_of(admin_client.get(RELEASE, {"identity": "user:42", "rule": "mail", "reason": "x"}))
    assert 'value="user:42"' in page and 'name="rule" value="mail"' in page
    assert not hit("mail", "user:42")


def test_while_redis_is_away_it_says_so(admin_client: Client) -> None:
    Override.objects.block("user:42")
    with override_settings(RATEWINDOW={"REDIS": "redis://127.0.0.1:1/0"}):
        response = admin_client.post(RELEASE, ANN, follow=True)
    assert "Released user:42: no counts deleted, 1 block ended. Its counts remain" in text_of(response)
    assert '<li class="warning">' in text_of(response)
    assert not Override.objects.in_force().exists()
    assert LogEntry.objects.count() == 1


def test_it_needs_its_own_permission(client: Client) -> None:
    user = User.objects.create_user("ann", is_staff=True)
    client.force_login(user)
    user.user_permissions.set(Permission.objects.filter(codename__in=["change_override", "view_override", "delete_override"]))
    assert "See and release" not in text_of(client.get(LIST))
    assert client.get(RELEASE).status_code == client.post(RELEASE, ANN).status_code == 403
    user.user_permissions.add(Permission.objects.get(codename="release_identity"))
    assert RELEASE in text_of(client.get(LIST))
    assert client.post(RELEASE, ANN).status_code == 302


def test_its_message_can_be_pasted_back(admin_client: Client) -> None:
    assert "Released user:42: its counts under export, mail" in text_of(admin_client.post(RELEASE, ANN, follow=True))


def test_who_may_release_and_nothing_else_finds_the_way(client: Client) -> None:
    user = User.objects.create_user("ann", is_staff=True)
    client.force_login(user)
    user.user_permissions.set(Permission.objects.filter(codename="release_identity"))
    for url in (reverse("admin:index"), reverse("admin:app_list", args=["ratewindow"])):
        assert f'href="{LIST}"' in text_of(client.get(url))
    assert client.get(LIST)["Location"] == RELEASE
    assert client.get(RELEASE).status_code == 200


def test_it_is_a_post_with_a_token() -> None:
    User.objects.create_superuser("root", password="secret")
    client = Client(enforce_csrf_checks=True)
    client.login(username="root", password="secret")
    assert client.post(RELEASE, ANN).status_code == 403
    assert not hit("mail", "user:42")


class TestStanding:
    """How the client in the page's address stands, before anybody releases it."""

    def test_what_is_used_what_is_in_force_and_what_can_be_done(self, admin_client: Client) -> None:
        Override.objects.block("user:42", rule="mail", reason="spam")
        reading.reload()
        text = text_of(admin_client.get(RELEASE, {"identity": "user:42"}))
        assert "user:42 now" in text and "spam" in text
        assert text.count("1 of 1 in 1h") == 2
        assert "identity=user%3A42&amp;lasts=1h&amp;action=block" in text and "Exempt…" in text
        assert "?q=user%3A42" in text and ">Blocked<" in text

    def test_who_is_blocked_everywhere_is_offered_no_block(self, admin_client: Client) -> None:
        Override.objects.block("user:42", duration="1h", reason="spam")
        reading.reload()
        text = text_of(admin_client.get(RELEASE, {"identity": "user:42"}))
        assert "action=block" not in text and re.search(r">Blocked until \d\d:\d\d<", text)

    def test_a_login_name_is_understood_and_a_wrong_one_is_said(self, admin_client: Client) -> None:
        ann = User.objects.create_user("ann")
        assert f"user:{ann.pk} now" in text_of(admin_client.get(RELEASE, {"identity": "ann"}))
        assert "no user has this login name" in text_of(admin_client.get(RELEASE, {"identity": "bob"}))

    def test_looking_counts_nothing_and_changes_nothing(self, admin_client: Client) -> None:
        for _ in range(3):
            admin_client.get(RELEASE, {"identity": "user:43"})
        assert hit("mail", "user:43")

    def test_each_part_needs_its_own_permission(self, client: Client) -> None:
        staff = User.objects.create_user("staff", is_staff=True)
        staff.user_permissions.add(Permission.objects.get(codename="release_identity"))
        client.force_login(staff)
        Override.objects.block("user:42", reason="spam")
        text = text_of(client.get(RELEASE, {"identity": "user:42"}))
        assert "1 of 1 in 1h" in text
        assert "spam" not in text and "for 1 hour" not in text

    def test_without_redis_it_says_so(self, admin_client: Client) -> None:
        with override_settings(RATEWINDOW={"REDIS": "redis://127.0.0.1:1/0"}):
            assert "Its counts are not known: Redis does not answer." in text_of(
                admin_client.get(RELEASE, {"identity": "user:42"})
            )
