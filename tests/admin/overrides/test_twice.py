"""The same block twice is asked about, never merged silently."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from ratewindow.models import Override
from tests.support.override_pages import ADD, LIST, UNDO
from tests.support.override_pages import typed as whole
from tests.support.override_pages import typed_above_the_list as quick
from tests.support.rule_pages import said

pytestmark = pytest.mark.django_db


@pytest.fixture
def first(boss: User) -> Override:
    return Override.objects.block("ip:203.0.113.9", duration="30m", reason="scraping", created_by=boss)


FORMS = [(ADD, whole), (LIST, quick)]


def answers(response: Any) -> list[str]:
    return re.findall(r'name="twice" value="(\w+)"', response.content.decode())


@pytest.mark.parametrize(("url", "typed"), FORMS)
def test_it_says_what_there_is_and_saves_nothing(page: Client, first: Override, url: str, typed: Any) -> None:
    asked = page.post(url, typed())
    assert first.expires_at is not None
    assert re.search(r"ip:203\.0\.113\.9 is already blocked until [\d: -]+, by boss: scraping\.", said(asked))
    assert "Extend that one until " in said(asked)
    assert answers(asked) == ["extend", "another"]
    assert Override.objects.get() == first


@pytest.mark.parametrize(("url", "typed"), FORMS)
def test_the_first_one_is_extended_or_another_is_saved(page: Client, first: Override, url: str, typed: Any) -> None:
    extended = page.post(url, typed(twice="extend"), follow=True)
    assert "Extended until " in said(extended)
    before, first.expires_at = first.expires_at, Override.objects.get().expires_at
    assert first.expires_at is not None and before is not None
    assert timedelta(minutes=59) < first.expires_at - timezone.now() <= timedelta(hours=1)
    (undo,) = re.findall(r'name="before" value="([^"]+)"', extended.content.decode())
    page.post(UNDO, {"before": undo})
    assert Override.objects.get().expires_at == before
    page.post(url, typed(twice="another"))
    assert Override.objects.count() == 2


def test_one_that_lasts_longer_cannot_be_extended(page: Client, boss: User) -> None:
    Override.objects.block("ip:203.0.113.9", created_by=boss)
    asked = page.post(LIST, quick())
    assert "is already blocked until somebody ends it, by boss." in said(asked)
    assert answers(asked) == ["another"]
    assert answers(page.post(LIST, quick(twice="extend"))) == ["another"]


def test_who_may_not_change_the_first_one_may_save_another(client: Client, first: Override) -> None:
    user = User.objects.create(username="adds", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["add_override", "view_override", "view_identity"]))
    client.force_login(user)
    asked = client.post(LIST, quick())
    assert "ip:203.0.113.9 is already blocked until " in said(asked)
    assert answers(asked) == ["another"]
    client.post(LIST, quick(twice="extend"))
    assert Override.objects.get().expires_at == first.expires_at


@pytest.mark.parametrize(
    ("there_is", "added", "asks"),
    [
        ({"action": "block"}, {}, True),
        ({"action": "block"}, {"rule": "login"}, True),  # the first one is for all rules
        ({"action": "block", "rule": "login"}, {}, False),
        ({"action": "block", "rule": "api"}, {"rule": "login"}, False),
        ({"action": "allow"}, {}, False),
        ({"action": "allow"}, {"action": "allow"}, True),
        ({"action": "rate", "rate": "5/m"}, {"action": "rate", "rate": "5/m"}, True),
        ({"action": "rate", "rate": "5/m"}, {"action": "rate", "rate": "6/m"}, False),  # which takes its place
        ({"action": "block", "identity": "ip:203.0.113.0/24"}, {}, False),
        ({"action": "block", "expires_at": timezone.now() - timedelta(hours=1)}, {}, False),
    ],
)
def test_only_the_same_one_in_force_is_asked_about(
    page: Client, there_is: dict[str, Any], added: dict[str, str], asks: bool
) -> None:
    Override.objects.create(**{"identity": "ip:203.0.113.9", **there_is})
    assert bool(answers(page.post(LIST, quick(**added)))) is asks


def test_one_that_begins_after_the_end_of_the_first_is_another(page: Client, first: Override) -> None:
    page.post(ADD, whole(starts_at_0="2126-01-02", starts_at_1="03:00:00"))
    assert Override.objects.count() == 2
