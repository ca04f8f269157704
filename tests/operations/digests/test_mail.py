"""A digest as a mail: what stands around its picture, and what is too large for it."""

import html
import re
from typing import Any

import pytest
from django.core.mail import EmailMessage

from ratewindow.models import AlertChannel
from ratewindow.operations.digests import mail as mails
from ratewindow.operations.digests.content import digest, read
from ratewindow.operations.digests.mail import bar_height, mail
from ratewindow.operations.digests.spans import DAILY, WEEKLY, newest
from tests.support.made_yesterday import NOW, make
from tests.support.pseudo_locale import untranslated, wide_letters

pytestmark = pytest.mark.django_db


def made(kind: str = DAILY) -> Any:
    span = newest(kind, NOW)
    reading = read(span, NOW)
    return mail(digest(AlertChannel(name="ops", digest=kind), span, reading), reading, ["ann@example.com"], False)


def files(message: EmailMessage) -> list[str]:
    return [each.filename for each in message.attachments if hasattr(each, "filename")]


def test_a_file_that_is_too_large_stays_in_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    make()
    monkeypatch.setattr(mails, "MOST_BYTES", 1000)
    message = made()
    assert files(message) == ["ratewindow-rules-20270114-0000.csv", "ratewindow-who-20270114-0000.csv"]
    assert "ratewindow-time-20270114-0000.csv is too large for a mail: export it from the report." in " ".join(
        message.body.split()
    )
    monkeypatch.setattr(mails, "MOST_BYTES", 0)
    assert [part.get_content_type() for part in made().message().get_payload()] == ["multipart/alternative"]


def test_without_a_picture_nothing_is_left_of_its_place() -> None:
    types = [part.get_content_type() for part in made().message().walk()]
    assert types[:4] == ["multipart/mixed", "multipart/alternative", "text/plain", "multipart/related"]
    assert "image/png" not in types


@pytest.mark.parametrize("kind", [DAILY, WEEKLY])
def test_every_word_of_it_can_be_translated(kind: str) -> None:
    make()
    data = re.compile(r"login|search|forgotten|ops|Redis|ip:|user:\S+|UTC|ratewindow-\S+|https\S+")
    with wide_letters():
        message = made(kind)
    assert untranslated(message.alternatives[0][0], data) == []
    assert untranslated(html.escape(f"{message.subject}\n{message.body}"), data) == []


@pytest.mark.parametrize(("kind", "first", "count"), [(DAILY, "00:00", 4), (WEEKLY, "4 Jan", 7)])
def test_hours_or_days_stand_below_the_picture(kind: str, first: str, count: int) -> None:
    make()
    page = made(kind).alternatives[0][0]
    assert f">{first}</td>" in page
    assert page.count(f'width="{100 // count}%"') == count


def test_the_highest_bar_is_said() -> None:
    assert bar_height(900, 2781) == "Each bar is 15 minutes, the highest is 2,781."
    assert bar_height(3600, 1) == "Each bar is 1 hour, the highest is 1."
