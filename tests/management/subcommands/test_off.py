"""`manage.py ratewindow off`."""

import pytest
from django.conf import settings
from django.test import override_settings

from tests.support.commands import define, from_me, run, wrong

pytestmark = pytest.mark.django_db(transaction=True)


def test_no_limit_holds_and_the_reason_is_shown() -> None:
    define("all", "1/h", applies_to="all")
    said = run("off", "--for", "30m", "--reason", "a campaign")
    assert said.startswith("Limits are off until ") and ": a campaign." in said
    assert from_me(3) == [200, 200, 200]


def test_a_duration_without_a_unit_is_named() -> None:
    assert wrong("off", "--for", "30").startswith("--for: ")


def test_the_setting_that_overrides_it_is_named() -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ENABLED": False}):
        assert "RATEWINDOW['ENABLED'] is False in the settings, which overrides this" in run("off")
