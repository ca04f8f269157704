"""Alert channels in the admin: their form, their list, and the button that sends a test."""

import re
from datetime import date
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ratewindow.contrib.alerts.models import WAY_OF, AlertChannel

pytestmark = pytest.mark.django_db

LIST, ADD = (reverse(f"admin:ratewindow_alerts_alertchannel_{page}") for page in ("changelist", "add"))


def url(page: str, channel: AlertChannel) -> str:
    return reverse(f"admin:ratewindow_alerts_alertchannel_{page}", args=[channel.pk])


@pytest.fixture
def channel() -> AlertChannel:
    return AlertChannel.objects.create(name="ops", addresses="ann@example.com", secret="s3cret")


def logged_in(*permissions: str) -> Client:
    user, client = User.objects.create(username="ann", is_staff=True), Client()
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="ratewindow_alerts", codename__in=permissions))
    client.force_login(user)
    return client


def test_a_channel_is_added_and_what_is_wrong_is_said_at_the_field(admin_client: Any) -> None:
    data = {"name": "ops", "way": "mail", "active": "on", "secret": "s", "addresses": "", "refused_a_minute": "100"}
    page = admin_client.post(ADD, data)
    assert page.context["adminform"].form.errors["addresses"] == ["Enter at least one address, or choose another way."]
    assert admin_client.post(ADD, {**data, "addresses": "ann@example.com"}).status_code == 302
    assert AlertChannel.objects.get().refused_a_minute == 100


def test_without_javascript_all_fields_are_shown_and_those_of_the_chosen_way_are_required(admin_client: Any) -> None:
    page = admin_client.get(ADD).content.decode()
    for name, way in WAY_OF.items():
        (field,) = re.findall(f'<(?:input|textarea)[^>]* name="{name}"[^>]*>', page)
        assert f'data-rw-shown="way={way}"' in field and "required" not in field
    assert '<div class="form-row field-url" hidden' not in page
    data = {"active": "on", "addresses": "", "url": "", "secret": ""}
    for way, wrong in (("log", set()), ("signal", set()), ("mail", {"addresses"}), ("webhook", {"url", "secret"})):
        answer = admin_client.post(ADD, {**data, "name": way, "way": way})
        assert answer.status_code == 302 if not wrong else set(answer.context["adminform"].form.errors) == wrong


def test_what_is_wrong_in_a_field_of_another_way_keeps_nobody_from_saving(channel: AlertChannel, admin_client: Any) -> None:
    data = {"name": "ops", "way": "log", "active": "on", "secret": "", "addresses": "bob", "url": "http://127.0.0.1/"}
    assert admin_client.post(url("change", channel), data).status_code == 302
    page = admin_client.post(url("change", channel), {**data, "way": "webhook"})
    assert "127.0.0.1 is an internal address" in str(page.context["adminform"].form.errors["url"])
    channel.refresh_from_db()
    assert (channel.way, channel.secret) == ("log", "s3cret")


def test_the_button_sends_a_test(channel: AlertChannel) -> None:
    client = logged_in("change_alertchannel")
    assert "Send a test" in client.get(url("change", channel)).content.decode()
    page = client.post(url("test", channel), follow=True)
    assert "The test was sent by the channel ops." in page.content.decode()
    assert [each.to for each in mail.outbox] == [["ann@example.com"]]
    assert client.get(url("test", channel)).status_code == 405
    assert len(mail.outbox) == 1


def test_an_error_of_the_test_is_shown(channel: AlertChannel, admin_client: Any) -> None:
    AlertChannel.objects.update(way="webhook", url="http://127.0.0.1:9/")
    page = admin_client.post(url("test", channel), follow=True).content.decode()
    assert "The test could not be sent: 127.0.0.1 is an internal address" in page
    assert "127.0.0.1 is an internal address" in admin_client.get(LIST).content.decode()


def test_an_edit_leaves_what_a_run_sends_meanwhile(
    channel: AlertChannel, admin_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = {"name": "ops", "way": "mail", "active": "on", "secret": "s", "addresses": "bob@example.com", "daily_report": "on"}
    clean = AlertChannel.clean

    def clean_while_a_run_sends(self: AlertChannel) -> None:
        AlertChannel.objects.update(reported=date(2027, 1, 15), raised={"unusual:login": {"text": "x"}})
        clean(self)

    monkeypatch.setattr(AlertChannel, "clean", clean_while_a_run_sends)
    assert admin_client.post(url("change", channel), data).status_code == 302
    channel.refresh_from_db()
    assert (channel.addresses, channel.daily_report) == ("bob@example.com", True)
    assert (channel.reported, channel.raised) == (date(2027, 1, 15), {"unusual:login": {"text": "x"}})


def test_who_may_only_view_sees_neither_secret_nor_button(channel: AlertChannel) -> None:
    client = logged_in("view_alertchannel")
    page = client.get(url("change", channel)).content.decode()
    assert "ann@example.com" in page
    assert "s3cret" not in page
    assert "Send a test" not in page
    assert client.post(url("test", channel)).status_code == 403
    assert mail.outbox == []


def test_the_list_shows_what_is_raised_escaped(channel: AlertChannel, admin_client: Any) -> None:
    AlertChannel.objects.update(raised={"unusual:login": {"since": "", "last": "", "text": "<b>login</b> refuses"}})
    page = admin_client.get(LIST).content.decode()
    assert "&lt;b&gt;login&lt;/b&gt; refuses" in page


def test_the_list_takes_as_many_queries_for_many_channels_as_for_one(
    channel: AlertChannel, admin_client: Any, django_assert_num_queries: Any
) -> None:
    admin_client.get(LIST)
    with CaptureQueriesContext(connection) as one:
        admin_client.get(LIST)
    AlertChannel.objects.bulk_create(AlertChannel(name=f"channel {number}", addresses="a@b.example") for number in range(20))
    with django_assert_num_queries(len(one)):
        admin_client.get(LIST)


class TestTheSecretOfAWebhook:
    DATA = {"way": "webhook", "url": "https://hooks.example.com/", "active": "on"}

    def test_it_is_shown_before_it_is_saved_and_never_again(self, admin_client: Any) -> None:
        (made,) = re.findall(r'name="secret" value="([^"]{40,})"', admin_client.get(ADD).content.decode())
        admin_client.post(ADD, {**self.DATA, "name": "ops", "secret": made})
        channel = AlertChannel.objects.get()
        assert channel.secret == made
        wrong = {**self.DATA, "name": "", "secret": ""}
        pages = [admin_client.get(each) for each in (LIST, *(url(page, channel) for page in ("change", "history", "delete")))]
        for page in (*pages, admin_client.post(url("change", channel), wrong)):
            assert page.status_code == 200 and made not in page.content.decode()
        assert 'name="secret"' in pages[1].content.decode()

    def test_left_empty_it_stays_and_another_one_replaces_it(self, channel: AlertChannel, admin_client: Any) -> None:
        for typed, stored in (("", "s3cret"), ("an0ther", "an0ther"), ("", "an0ther")):
            page = admin_client.post(url("change", channel), {**self.DATA, "name": "ops", "secret": typed}, follow=True)
            assert "an0ther" not in page.content.decode() and "was changed successfully" in page.content.decode()
            channel.refresh_from_db()
            assert (channel.secret, channel.way) == (stored, "webhook")

    def test_one_that_is_typed_and_not_saved_is_not_sent_back(self, channel: AlertChannel, admin_client: Any) -> None:
        page = admin_client.post(url("change", channel), {**self.DATA, "name": "", "secret": "an0ther"})
        assert page.context["adminform"].form.errors and "an0ther" not in page.content.decode()

    def test_it_is_in_no_log_of_the_admin(self, admin_client: Any) -> None:
        admin_client.post(ADD, {**self.DATA, "name": "ops", "secret": "s3cret-of-ops"})
        channel = AlertChannel.objects.get()
        admin_client.post(url("change", channel), {**self.DATA, "name": "ops", "secret": "an0ther-of-ops"})
        texts = [*map(str, LogEntry.objects.values()), repr(channel)]
        assert len(texts) == 3 and not any("-of-ops" in text for text in texts)
