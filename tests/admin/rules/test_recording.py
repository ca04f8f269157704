"""The box that records what a rule's clients use: its buttons, who may press them, and each one's way back."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ratewindow.conf import time_zone
from ratewindow.models import Edit, RateRule, RecordedHour, Recording
from ratewindow.operations import recordings
from tests.support.recorded_week import recorded_week
from tests.support.rule_pages import ADD, change, define, said

pytestmark = pytest.mark.django_db


def url(rule: RateRule) -> str:
    return reverse("admin:ratewindow_raterule_record", args=[rule.pk])


def tag(rule: RateRule, number: int = 0) -> str:
    return str(recordings.windows(rule)[number].tag)


def press(page: Client, rule: RateRule, **fields: Any) -> Any:
    return page.post(url(rule), fields, follow=True)


def press_in_message(page: Client, response: Any, label: str) -> Any:
    forms = re.findall(r'<form class="rw-inline-form"[^>]*action="([^"]+)">(.*?)</form>', response.content.decode())
    ((address, form),) = [each for each in forms if f">{label}</button>" in each[1]]
    fields = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', form))
    return page.post(address, fields, follow=True)


def test_from_the_button_to_the_end_and_back_again(page: Client) -> None:
    rule = define()
    assert "Record for 1 day 7 days 14 days" in said(page.get(change(rule)))
    started = press(page, rule, days="7", limit=tag(rule), reason="is 5 enough?")
    recording = Recording.objects.get()
    assert (recording.rule, recording.rate, recording.by) == ("login", "5/m", "boss")
    assert timedelta(days=6.9) < recording.until - time_zone.now() <= timedelta(days=7)
    assert "what the clients use of 5/m is recorded, since" in said(started) and "End recording now" in said(started)
    assert Edit.objects.get(kind="record").reason == "is 5 enough?"
    ended = press_in_message(page, started, "End it")
    assert "Recording ended. What was recorded is kept, and shown here." in said(ended)
    assert "what the clients used of 5/m was recorded." in said(ended) and "Record again for" in said(ended)
    again = press_in_message(page, ended, "Go on")
    assert ", recording goes on." in said(again)
    assert recordings.is_going_on(Recording.objects.get()) and Recording.objects.get().until == recording.until


def test_of_several_limits_one_is_chosen(page: Client) -> None:
    rule = define(rate="5/m; 20/h")
    text = page.get(change(rule)).content.decode()
    assert re.findall(r'<option value="[^"]+">(5/m|20/h)</option>', text) == ["5/m", "20/h"]
    press(page, rule, days="1", limit=tag(rule, 1))
    assert Recording.objects.get().rate == "20/h"


def test_its_history_shows_the_recording_and_offers_nothing_to_restore(page: Client) -> None:
    rule = define()
    press(page, rule, days="7", limit=tag(rule))
    edit = Edit.objects.get(kind="record")
    history = said(page.get(reverse("admin:ratewindow_raterule_history", args=[rule.pk])))
    assert "Recording of login Added Limit 5/m Ends" in history
    assert history.count("Restore…") == 1  # of the rule itself
    shown = said(page.get(reverse("admin:ratewindow_edit_change", args=[edit.pk])))
    assert "Open it as it is now" in shown and "as they were" not in shown
    assert page.get(reverse("admin:ratewindow_history_restore", args=[edit.pk, "before"])).status_code == 404


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "Not recorded: &#x27;&#x27; is not a number of days that is offered: use the buttons."),
        ({"days": "8"}, "is not a number of days"),
        ({"days": "7", "limit": "x"}, "the rule no longer has this limit: choose another one."),
        ({"to": "end"}, "there is no such recording any more: load the page again."),
        ({"to": "end", "recording": "9" * 5000}, "there is no such recording any more"),
        ({"to": "go_on", "recording": "1"}, "there is no such recording any more"),
    ],
)
def test_what_no_button_sends_changes_nothing(page: Client, fields: dict[str, str], message: str) -> None:
    assert message in said(press(page, define(), **fields))
    assert not Recording.objects.exists()


@pytest.mark.parametrize("until", ["", "x", "2026-13-45T00:00", "1970-01-01T00:00Z", "9999-01-01T00:00Z"])
def test_it_goes_on_only_until_an_end_that_is_allowed(page: Client, until: str) -> None:
    rule = define()
    press(page, rule, days="7", limit=tag(rule))
    before = Recording.objects.get().until
    assert "Not recorded:" in said(press(page, rule, to="go_on", recording=str(Recording.objects.get().pk), until=until))
    assert Recording.objects.get().until == before


def test_a_recording_that_has_ended_meanwhile_has_nothing_to_end(page: Client) -> None:
    rule = define()
    press(page, rule, days="7", limit=tag(rule))
    Recording.objects.update(until=time_zone.now())
    assert "Nothing to end" in said(press(page, rule, to="end", recording=str(Recording.objects.get().pk)))


def test_a_limit_that_the_rule_no_longer_has_is_recorded_no_more_and_the_box_says_so(page: Client) -> None:
    rule = define()
    press(page, rule, days="7", limit=tag(rule))
    rule.windows.update(period=timedelta(minutes=2))
    assert "The rule no longer has the limit 5/m that is recorded, so nothing more comes." in said(page.get(change(rule)))


def test_who_may_only_look_sees_a_recording_and_no_button() -> None:
    rule = define()
    reader = User.objects.create_user("reader", is_staff=True)
    reader.user_permissions.add(Permission.objects.get(codename="view_raterule"))
    client = Client()
    client.force_login(reader)
    assert "What should the limit be?" not in said(client.get(change(rule)))
    recordings.start(rule, recordings.windows(rule)[0], time_zone.now() + timedelta(days=1))
    words = said(client.get(change(rule)))
    assert "what the clients use of 5/m is recorded." in words and "End recording now" not in words
    assert client.post(url(rule), {"to": "end"}).status_code == 403


def test_looking_changes_nothing(page: Client) -> None:
    assert page.get(url(define())).status_code == 405
    assert page.get(reverse("admin:ratewindow_raterule_record", args=[0])).status_code == 404


def test_a_new_rule_and_one_of_buckets_have_no_box(page: Client) -> None:
    rule = define()
    rule.windows.update(algorithm="token_bucket")
    assert "What should the limit be?" not in said(page.get(change(rule))) + said(page.get(ADD))


class TestFigures:
    @pytest.fixture
    def rule(self) -> RateRule:
        return define(rate="10/m", mode="enforce")

    def test_they_say_what_was_seen_what_the_limit_did_and_what_it_should_be(self, page: Client, rule: RateRule) -> None:
        recorded_week(rule, refused=20)
        words = said(page.get(change(rule)))
        assert "Recorded are 6,220 requests of 300 clients. The limit refused 80 of them (1.3 %), of 1 client, 0 likely" in words
        assert re.search(r"Suggested: \d+/m\.", words)
        assert "Above the limit, a peak is an upper bound" in words

    def test_of_a_sample_they_say_so(self, page: Client, rule: RateRule) -> None:
        rule.mode = "shadow"
        rule.save()
        recorded_week(rule, level=3)
        words = said(page.get(change(rule)))
        assert "requests of 300 clients, one of 8 of all, always the same ones: all figures here are of these." in words
        assert "The limit would have refused none of them." in words

    def test_of_few_clients_nothing_is_suggested_and_the_reason_given(self, page: Client, rule: RateRule) -> None:
        recorded_week(rule, clients=20)
        words = said(page.get(change(rule)))
        assert "Suggested:" not in words and "to suggest a limit takes at least 200" in words

    def test_before_anything_is_collected_they_say_what_to_wait_for(self, page: Client, rule: RateRule) -> None:
        press(page, rule, days="7", limit=tag(rule))
        assert "Nothing is collected yet" in said(page.get(change(rule)))

    def test_they_ask_the_database_as_often_for_many_hours_as_for_one(self, page: Client, rule: RateRule) -> None:
        recording = recorded_week(rule, clients=20)
        page.get(change(rule))
        with CaptureQueriesContext(connection) as few:
            page.get(change(rule))
        for hour in range(1, 40):
            RecordedHour.objects.create(recording=recording, start=recording.since + timedelta(hours=hour), clients={})
        with CaptureQueriesContext(connection) as many:
            page.get(change(rule))
        assert len(many) == len(few)
