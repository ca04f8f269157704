"""The throttles of Django REST framework as shadow rules."""

import pytest

from ratewindow.contrib.moving.importers import drf
from tests.support.other_limits import found_by, rule
from tests.support.other_limits_urls import Files

pytestmark = pytest.mark.django_db


def test_a_scope_is_a_shadow_rule_for_exactly_its_views() -> None:
    rules, _ = found_by(drf)
    assert rules == {
        "burst": rule("burst", ("prefix", "/api/"), "user_or_ip", "60/60s"),
        "uploads": rule("uploads", ("route", "files"), "user_or_ip", "20/86400s"),
    }


def test_a_view_that_lists_its_throttles_only_in_a_request_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Files, "throttle_classes", None)
    rules, _ = found_by(drf)
    assert set(rules) == {"burst"}


def test_what_no_rule_can_do_is_said_with_a_reason() -> None:
    _, found = found_by(drf, REST_FRAMEWORK={"DEFAULT_THROTTLE_RATES": {"unused": "5/h"}})
    assert len(found.left_out) == 3
    assert any("Anonymous: its scope 'anon' counts only visitors who are not signed in" in each for each in found.left_out)
    assert any("Own: code of its own decides" in each for each in found.left_out)
    assert "DEFAULT_THROTTLE_RATES['unused']: no view uses it." in found.left_out
