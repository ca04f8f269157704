"""Documents that would lock staff out of the admin."""

from typing import Any

import pytest

from ratewindow.operations.documents.applying import apply, preview
from ratewindow.operations.documents.lockouts import new_lockouts
from tests.support.documents import LOGIN, SEARCH, document

pytestmark = pytest.mark.django_db

LIMIT = {"limit": 2, "period": "1h"}
WIDE: dict[str, Any] = {"name": "all", "mode": "enforce", "applies_to": "all", "limits": [LIMIT]}


def found(*rules: dict[str, Any]) -> list[str]:
    return [each.rule.name for each in new_lockouts(preview(document(rules=[*rules])))]


def test_only_enforced_rules_that_meet_the_admin_are_said() -> None:
    assert found(WIDE, LOGIN, SEARCH) == ["all"]
    assert found({**WIDE, "mode": "shadow"}) == []


def test_a_rule_that_has_locked_out_before_is_not_said_again() -> None:
    apply(document(rules=[WIDE]))
    assert found({**WIDE, "description": "known"}) == []
    assert found({**WIDE, "limits": [{**LIMIT, "limit": 1}]}) == ["all"]
