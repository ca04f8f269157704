"""What arrives by mail, in the log and by webhook."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core import mail
from django.test import override_settings

from ratewindow.contrib.alerts import webhook
from ratewindow.contrib.alerts.models import AlertChannel
from ratewindow.contrib.alerts.sending import send
from ratewindow.contrib.alerts.signals import alert
from tests.support.broken_mail import BROKEN_MAIL
from tests.support.webhook_receiver import receiving

pytestmark = pytest.mark.django_db

NOW = datetime(2027, 1, 15, 8, 30, tzinfo=UTC)
NEW = [
    {"condition": "refused_a_minute", "rule": "login", "since": NOW.isoformat(), "text": "login refuses 120 requests a minute."}
]
OVER = [{"condition": "unusual", "rule": "api", "since": NOW.isoformat(), "text": "api refuses far more."}]


def channel(**fields: Any) -> AlertChannel:
    return AlertChannel(**{"name": "ops", "addresses": "ann@example.com, bob@example.com", **fields})


def test_a_mail_has_what_is_new_and_what_is_over() -> None:
    assert send(channel(), NOW, NEW, OVER) == ""
    (sent,) = mail.outbox
    assert sent.to == ["ann@example.com", "bob@example.com"]
    assert sent.subject == "Rate limits: login refuses 120 requests a minute."
    assert sent.body == "login refuses 120 requests a minute.\n\nOver: api refuses far more.\n"


def test_a_mail_is_in_the_language_of_the_site() -> None:
    with override_settings(LANGUAGE_CODE="ru"):
        send(channel(), NOW, over=OVER)
    assert mail.outbox[0].subject == "Ограничения запросов: Закончилось: api refuses far more."


def test_the_name_of_a_rule_cannot_add_headers() -> None:
    assert send(channel(), NOW, [{**NEW[0], "text": "a\r\nBcc: eve@example.com"}]) == ""
    assert mail.outbox[0].subject == "Rate limits: a Bcc: eve@example.com"


def test_the_log_has_a_line_for_each(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "ratewindow"):
        assert send(channel(way="log"), NOW, NEW, OVER) == ""
    assert [each.getMessage() for each in caplog.records] == [
        "ratewindow: alert: login refuses 120 requests a minute.",
        "ratewindow: alert: Over: api refuses far more.",
    ]


def test_a_webhook_gets_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "is_public", lambda address: True)
    with receiving() as receiver:
        assert send(channel(way="webhook", url=receiver.url, secret="s"), NOW, NEW, OVER) == ""
        ((_, headers, body),) = receiver.received
    assert json.loads(body) == {
        "channel": "ops",
        "at": NOW.isoformat(),
        "test": False,
        "text": "login refuses 120 requests a minute.\nOver: api refuses far more.",
        "raised": NEW,
        "over": OVER,
    }
    timestamp = headers["X-Ratewindow-Timestamp"]
    assert headers["X-Ratewindow-Signature"] == webhook.signature("s", timestamp, body)


def test_an_error_is_returned_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    with override_settings(**BROKEN_MAIL):
        error = send(channel(), NOW, NEW)
    assert "No module named" in error
    assert error in caplog.text
    assert "internal address" in send(channel(way="webhook", url="http://127.0.0.1:9/"), NOW, NEW)


def test_code_of_the_site_gets_a_signal_and_what_it_raises_is_an_error() -> None:
    got: list[dict[str, Any]] = []

    def receive(sender: Any, **values: Any) -> None:
        got.append(values)
        if values["test"]:
            raise ValueError("no such number")

    alert.connect(receive)
    try:
        assert send(channel(way="signal"), NOW, NEW, OVER) == ""
        assert send(channel(way="signal"), NOW, test=True) == "ValueError: no such number"
    finally:
        alert.disconnect(receive)
    assert (got[0]["channel"], got[0]["raised"], got[0]["over"]) == ("ops", NEW, OVER)
    assert got[0]["text"].startswith("login refuses 120 requests a minute.")
