"""Rows of collected statistics."""

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError

from ratewindow.models import ThrottleStat

START = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def test_a_row_names_its_rule_and_minute() -> None:
    assert str(ThrottleStat(rule="login", resolution="minute", start=START)) == "login minute 2026-01-02 03:04"


@pytest.mark.django_db
def test_a_rule_has_one_row_for_each_start_and_resolution() -> None:
    ThrottleStat.objects.create(rule="login", resolution="minute", start=START)
    ThrottleStat.objects.create(rule="login", resolution="hour", start=START)
    with pytest.raises(IntegrityError):
        ThrottleStat.objects.create(rule="login", resolution="minute", start=START)
