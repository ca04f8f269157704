"""`manage.py ratewindow off` and `on`."""

import pytest
import time_machine
from django.conf import settings
from django.test import override_settings

from ratewindow.management.subcommands.limiting import who
from tests.support.commands import define, from_me, run, wrong

pytestmark = pytest.mark.django_db(transaction=True)


def test_no_limit_holds_until_they_are_on_again() -> None:
    define("all", "1/h", applies_to="all")
    run("off")
    assert from_me(3) == [200, 200, 200]
    assert run("on").startswith("Limits are on.")
    assert from_me(2) == [200, 429]


@time_machine.travel("2026-11-20 12:00:00+00:00", tick=False)
def test_it_says_until_when_by_whom_and_why() -> None:
    said = run("off", "--for", "30m", "--reason", "a campaign")
    assert said.startswith(f"Limits are off until 12:30, by {who()}: a campaign.")
    assert "off until somebody switches them on" in run("off")


def test_a_duration_without_a_unit_is_named() -> None:
    assert wrong("off", "--for", "30").startswith("'30'")


def test_the_setting_that_overrides_it_is_named() -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ENABLED": False}):
        assert "RATEWINDOW['ENABLED'] is False in the settings, which overrides this" in run("off")


def test_how_soon_others_follow_is_said_as_it_is() -> None:
    assert run("off").endswith(" Every process follows within 5 s.")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
        said = run("on")
    assert said.startswith("Limits are on. Redis was not reached (")
    assert said.endswith("learn of it within 2 s, those that reach it within 30 s.")
