"""The list of blocks and exemptions: what it says, its buttons and its actions."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core import signing
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ratewindow.models import Override
from tests.support.override_pages import LIST, UNDO, quick, text, undo_of

pytestmark = pytest.mark.django_db


class TestList:
    def test_it_says_who_what_until_when_why_and_by_whom(self, page: Client, boss: User) -> None:
        Override.objects.block("ip:203.0.113.0/24", duration="2h", reason="scraping", source="admin", created_by=boss)
        Override.objects.rate("user:42", "1000/h", rule="api", source="command")
        told = re.sub(r"\s+", " ", text(page.get(LIST)))
        assert "ip:203.0.113.0/24" in told
        assert "refused everywhere · scraping · by boss, in the admin, just now" in told
        assert ">ends in 2 h<" in told
        assert "1000/h instead of the limits of rule api · by a command, just now" in told
        assert ">no end<" in told

    def test_each_column_has_a_heading(self, page: Client) -> None:
        Override.objects.block("ip:203.0.113.9", duration="1h")
        headings = re.findall(r'<div class="text">(.*?)</div>', text(page.get(LIST)))
        assert len(headings) == 5  # the first has the checkbox
        assert all(re.sub("<[^>]*>", "", heading).strip() for heading in headings[1:])

    @pytest.mark.parametrize(("state", "shown"), [("now", {"a"}), ("waiting", {"b"}), ("ended", {"c"}), ("", {"a", "b", "c"})])
    def test_it_can_be_narrowed_to_what_holds_now(self, page: Client, state: str, shown: set[str]) -> None:
        now = timezone.now()
        Override.objects.block("ip:203.0.113.1", reason="reason a")
        Override.objects.block("ip:203.0.113.2", reason="reason b", starts_at=now + timedelta(hours=1))
        ended = Override.objects.block("ip:203.0.113.3", reason="reason c", duration="1h")
        Override.objects.get_queryset().filter(pk=ended.pk).end()
        told = text(page.get(LIST, {"state": state} if state else {}))
        assert {name for name in "abc" if f"reason {name}" in told} == shown

    def test_ending_is_one_click_and_can_be_undone(self, page: Client) -> None:
        override = Override.objects.block("ip:203.0.113.9", duration="2h")
        before = override.expires_at
        told = text(page.post(quick("end", override), follow=True))
        override.refresh_from_db()
        assert override.state == "ended"
        assert "Ended: ip:203.0.113.9." in told
        (remembered,) = re.findall(r'name="before" value="([^"]+)"', told)
        assert "Undone: ip:203.0.113.9." in text(page.post(UNDO, {"before": remembered}, follow=True))
        override.refresh_from_db()
        assert override.expires_at == before
        assert LogEntry.objects.count() == 2

    def test_extending_is_too(self, page: Client) -> None:
        override = Override.objects.block("ip:203.0.113.9", duration="2h")
        before = override.expires_at
        assert before is not None
        assert "Extended by 1 hour: ip:203.0.113.9." in text(page.post(quick("extend", override), follow=True))
        override.refresh_from_db()
        assert override.expires_at == before + timedelta(hours=1)

    def test_several_are_ended_or_extended_at_once_and_only_those_that_can_be(self, page: Client) -> None:
        lasting = Override.objects.block("ip:203.0.113.1", duration="2h")
        endless = Override.objects.block("ip:203.0.113.2")
        both = [lasting.pk, endless.pk]
        told = text(page.post(LIST, {"action": "extend", "_selected_action": both}, follow=True))
        assert "Extended by 1 hour: ip:203.0.113.1." in told
        told = text(page.post(LIST, {"action": "end_now", "_selected_action": both}, follow=True))
        assert "Ended: ip:203.0.113.2, ip:203.0.113.1." in told
        assert "Nothing to end: they have already ended." in text(
            page.post(LIST, {"action": "end_now", "_selected_action": both}, follow=True)
        )
        assert "Nothing to extend" in text(page.post(LIST, {"action": "extend", "_selected_action": both}, follow=True))

    def test_an_undo_that_somebody_made_up_is_refused(self, page: Client) -> None:
        override = Override.objects.block("ip:203.0.113.9", duration="2h")
        told = text(page.post(UNDO, {"before": f"[[{override.pk}, null]]"}, follow=True))
        assert "This can no longer be undone." in told
        override.refresh_from_db()
        assert override.expires_at is not None

    def test_an_undo_does_not_revive_what_somebody_else_has_ended(self, page: Client) -> None:
        override = Override.objects.allow("*", rule="search", duration="2h")
        kept = undo_of(page.post(quick("end", override), follow=True))
        page.post(UNDO, {"before": kept}, follow=True)
        page.post(quick("end", override), follow=True)
        ended = Override.objects.get()
        told = text(page.post(UNDO, {"before": kept}, follow=True))
        assert "These have been changed meanwhile and stay as they are: *." in told
        assert "Undone" not in told
        assert Override.objects.get().expires_at == ended.expires_at

    @pytest.mark.parametrize(
        "since",
        [
            {"identity": "ip:203.0.113.0/24"},
            {"action": "block"},
            {"rule": "login"},
            {"rate": "9/s"},
            {"starts_at": timezone.now() + timedelta(hours=1)},
            {"expires_at": None},
            {"expires_at": timezone.now() + timedelta(hours=9)},
        ],
    )
    def test_an_undo_leaves_what_has_been_changed_since(self, page: Client, since: dict[str, Any]) -> None:
        override = Override.objects.rate("ip:203.0.113.9", "5/s", rule="search", duration="2h")
        kept = undo_of(page.post(quick("extend", override), follow=True))
        Override.objects.filter(pk=override.pk).update(**since)
        before = Override.objects.get().expires_at
        assert "These have been changed meanwhile" in text(page.post(UNDO, {"before": kept}, follow=True))
        assert Override.objects.get().expires_at == before

    def test_of_several_an_undo_brings_back_those_that_are_as_it_left_them(self, page: Client) -> None:
        one, other = (Override.objects.block(f"ip:203.0.113.{last}", duration="2h") for last in (1, 2))
        response = page.post(LIST, {"action": "end_now", "_selected_action": [one.pk, other.pk]}, follow=True)
        Override.objects.filter(pk=other.pk).update(rule="login")
        told = text(page.post(UNDO, {"before": undo_of(response)}, follow=True))
        assert "Undone: ip:203.0.113.1." in told
        assert "stay as they are: ip:203.0.113.2." in told

    def test_an_undo_does_not_tell_who_it_was_for(self, page: Client) -> None:
        """What is signed can be read, also by staff who see identities masked."""
        override = Override.objects.block("ip:203.0.113.9", duration="2h")
        kept = undo_of(page.post(quick("end", override), follow=True))
        assert "203.0.113" not in signing.b64_decode(kept.split(":")[0].lstrip(".").encode()).decode()

    def test_each_change_is_a_post_with_a_token(self, page: Client, boss: User) -> None:
        override = Override.objects.block("ip:203.0.113.9", duration="2h")
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(boss)
        for url in (quick("end", override), quick("extend", override), UNDO):
            assert page.get(url).status_code == 405
            assert strict.post(url).status_code == 403
        assert strict.post(LIST, {"action": "end_now", "_selected_action": [override.pk]}).status_code == 403
        before = override.expires_at
        override.refresh_from_db()
        assert override.expires_at == before

    def test_the_buttons_send_the_token_of_the_list(self, page: Client) -> None:
        override = Override.objects.block("ip:203.0.113.9", duration="2h")
        told = text(page.get(LIST))
        form = told[told.index('<form id="changelist-form" method="post"') :]
        assert "csrfmiddlewaretoken" in form[:400]
        assert f'formaction="{quick("end", override)}"' in form

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
