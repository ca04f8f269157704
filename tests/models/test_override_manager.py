"""Overrides made from code, and the query sets of those in force and ended."""

from datetime import datetime, timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from ratewindow.conf import time_zone
from ratewindow.models import Override
from ratewindow.models.overrides import MOST_DURATION, after
from ratewindow.overrides.subjects import parse_subject

pytestmark = pytest.mark.django_db


def clients(found: "object") -> list[str]:
    return sorted(override.identity for override in found)  # type: ignore[attr-defined]


def test_what_is_in_force_has_begun_and_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now()
    Override.objects.block("user:1")
    Override.objects.block("user:2", duration="1h")
    Override.objects.block("user:3", starts_at=now + timedelta(minutes=30))
    assert clients(Override.objects.in_force()) == ["user:1", "user:2"]
    monkeypatch.setattr(time_zone, "now", lambda: now + timedelta(hours=2))
    assert clients(Override.objects.in_force()) == ["user:1", "user:3"]


def test_a_client_is_found_however_it_was_stored(settings) -> None:  # type: ignore[no-untyped-def]
    for anonymize in ("none", "all"):
        settings.RATEWINDOW = {**settings.RATEWINDOW, "ANONYMIZE": anonymize}
        Override.objects.block("user:1")
    assert Override.objects.naming(parse_subject("user:1")).count() == 2


def test_ending_ends_each_once() -> None:
    Override.objects.block("user:1")
    Override.objects.block("user:2", duration="1h")
    rows = Override.objects.all()
    assert (clients(rows.end()), rows.end()) == (["user:1", "user:2"], [])
    assert clients(Override.objects.in_force()) == []


def test_another_rate_is_stored_as_it_is_written() -> None:
    assert Override.objects.rate("user:42", "1000/h", rule="api").rate == "1000/h"


@pytest.mark.parametrize(
    ("duration", "begin", "message"),
    [
        ("soon", None, "soon"),
        (MOST_DURATION + timedelta(days=1), None, "write at most 10000d"),
    ],
)
def test_an_end_that_cannot_be_is_an_error_of_that_field(duration: str, begin: datetime | None, message: str) -> None:
    with pytest.raises(ValidationError) as raised:
        after(duration, begin)
    assert message in raised.value.message_dict["expires_at"][0]
