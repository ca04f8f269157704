"""The list of blocks and exemptions: what it says, its buttons and its actions."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ratewindow.models import Override
from tests.support.override_pages import LIST, quick, text

pytestmark = pytest.mark.django_db


class TestList:
    def test_it_says_who_what_until_when_why_and_by_whom(self, page: Client, boss: User) -> None:
        Override.objects.block("ip:203.0.113.0/24", duration="2h", reason="scraping", source="admin", created_by=boss)
        Override.objects.rate("user:42", "1000/h", rule="api", source="command")
        told = re.sub(r"\s+", " ", text(page.get(LIST)))
        assert "ip:203.0.113.0/24" in told
        assert "all rules · scraping · by boss, in the admin, 0 minutes ago" in told.replace("\xa0", " ")
        assert re.search(r">until (\d{4}-\d\d-\d\d )?\d\d:\d\d<", told)
        assert "rule api · by a command, 0 minutes ago" in told.replace("\xa0", " ")
        assert ">until somebody ends it<" in told

    def test_each_column_has_a_heading(self, page: Client) -> None:
        Override.objects.block("ip:203.0.113.9", duration="1h")
        headings = re.findall(r'<div class="text">(.*?)</div>', text(page.get(LIST)))
        assert len(headings) == 5  # the first has the checkbox
        assert all(re.sub("<[^>]*>", "", heading).strip() for heading in headings[1:])

    def test_ending_is_one_click(self, page: Client) -> None:
        override = Override.objects.block("ip:203.0.113.9", duration="2h")
        assert "Ended: ip:203.0.113.9." in text(page.post(quick("end", override), follow=True))
        override.refresh_from_db()
        assert override.state == "ended" and LogEntry.objects.count() == 1

    def test_several_are_ended_at_once_and_only_those_that_last(self, page: Client) -> None:
        both = [Override.objects.block("ip:203.0.113.1", duration="2h").pk, Override.objects.block("ip:203.0.113.2").pk]
        sent = {"action": "end_now", "_selected_action": both}
        assert "Ended: ip:203.0.113.2, ip:203.0.113.1." in text(page.post(LIST, sent, follow=True))
        assert "Nothing to end: they have already ended." in text(page.post(LIST, sent, follow=True))
        assert LogEntry.objects.count() == 2

    def test_each_change_is_a_post_with_a_token(self, page: Client, boss: User) -> None:
        override = Override.objects.block("ip:203.0.113.9", duration="2h")
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(boss)
        assert page.get(quick("end", override)).status_code == 405
        assert strict.post(quick("end", override)).status_code == 403
        assert strict.post(LIST, {"action": "end_now", "_selected_action": [override.pk]}).status_code == 403
        before = override.expires_at
        override.refresh_from_db()
        assert override.expires_at == before

    def test_the_buttons_send_the_token_of_the_list(self, page: Client) -> None:
        override = Override.objects.block("ip:203.0.113.9", duration="2h")
        told = text(page.get(LIST))
        form = told[told.index('<form id="changelist-form" method="post"') :]
        assert "csrfmiddlewaretoken" in form[:400]
        assert f'formaction="{override.pk}/end/"' in form

    def test_deleting_is_logged(self, page: Client) -> None:
        override = Override.objects.block("ip:203.0.113.9")
        page.post(reverse("admin:ratewindow_override_delete", args=[override.pk]), {"post": "yes"})
        assert not Override.objects.exists()
        assert LogEntry.objects.get().object_repr == f"block {override.pk}"

    def test_the_page_that_deletes_some_says_whom_they_are_for(self, page: Client) -> None:
        some = [Override.objects.block("ip:203.0.113.9", rule="login"), Override.objects.allow("user:42")]
        told = text(page.post(LIST, {"action": "delete_selected", "_selected_action": [each.pk for each in some]}))
        assert "block ip:203.0.113.9 (login)" in told and "allow user:42" in told

    def test_it_asks_the_database_as_often_for_many_as_for_one(
        self, page: Client, boss: User, django_assert_num_queries: Any, django_assert_max_num_queries: Any
    ) -> None:
        Override.objects.block("ip:203.0.113.0", created_by=boss)
        with django_assert_max_num_queries(12) as few:
            page.get(LIST)
        for number in range(1, 20):
            Override.objects.block(f"ip:203.0.113.{number}", created_by=boss)
        with django_assert_num_queries(len(few)):
            page.get(LIST)


def add(identity: str = "ip:203.0.113.9", begins: float | None = None, ends: float | None = None, **fields: str) -> Override:
    """A block that begins and ends so many hours from now."""
    now = timezone.now()
    starts_at, expires_at = (None if hours is None else now + timedelta(hours=hours) for hours in (begins, ends))
    moments = {"starts_at": starts_at, "expires_at": expires_at}
    return Override.objects.create(**{"action": "block", "identity": identity, **moments, **fields})


def shown(response: Any) -> str:
    return "".join(re.findall(r"· reason (.) ·", text(response)))


@pytest.fixture
def of_each_state(db: None) -> None:
    for reason, begins, ends in (("a", None, -2), ("b", None, 9), ("c", 5, 6), ("d", None, None), ("e", None, -1), ("f", -1, 3)):
        add(begins=begins, ends=ends, reason=f"reason {reason}")


def test_what_has_ended_comes_last(page: Client, of_each_state: None) -> None:
    assert shown(page.get(LIST)) == "dbcfea"


class TestSearch:
    @pytest.fixture(autouse=True)
    def _rows(self, db: None) -> None:
        for reason, identity in (
            ("a", "ip:203.0.113.9"),
            ("b", "ip:203.0.113.0/24"),
            ("c", "ip:203.0.114.0/24"),
            ("d", "ip:2001:db8::/32"),
            ("e", "user:42"),
            ("f", "user:421"),
            ("g", "header:x-api-key:abcdef123456"),
            ("h", "ip:2001:db8:5:6::9"),
        ):
            add(identity, reason=f"reason {reason}", rule="login" if reason == "f" else "")

    @pytest.mark.parametrize(
        ("term", "left"),
        [
            ("203.0.113.9", "a"),
            ("203.0.11", "cba"),
            ("user:42", "e"),
            ("2001:db8:5:6::7", "h"),  # of which the row has the network that is one client
            ("header:x-api-key:abcdef123456", "g"),  # of which the row has a hash
            ("login", "f"),
            ('"reason g"', "g"),
            ("nobody", ""),
            ("1.2.3.4/99", ""),
        ],
    )
    def test_it_finds_a_client_else_words(self, page: Client, term: str, left: str) -> None:
        assert shown(page.get(LIST, {"q": term})) == left
