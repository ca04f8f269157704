"""What is said of a block or an exemption of which the rule may not be what was meant."""

import pytest

from ratewindow.models import Override

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("rule", "told"), [("", ""), ("demo.limited", ""), ("logn", "There is no rule 'logn' yet: this applies once there is one.")]
)
def test_a_rule_that_does_not_exist_is_said(rule: str, told: str) -> None:
    assert Override(action="block", identity="ip:203.0.113.9", rule=rule).unknown_name() == told


def test_a_permission_that_django_does_not_know_is_told() -> None:
    assert Override(action="allow", identity="permission:auth.change_group").unknown_name() == ""
    told = Override(action="allow", identity="permission:auth.chang_group").unknown_name()
    assert told.startswith("There is no 'permission:auth.chang_group' in Django: this applies to superusers alone, ")
