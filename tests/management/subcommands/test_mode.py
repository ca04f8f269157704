"""``manage.py ratewindow mode``."""

import pytest
from django.core.management import CommandError, call_command

from ratewindow.models import RateRule
from tests.support.doors import behind_middleware, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_rule_that_locks_everybody_out_is_undone_from_the_command_line(capsys):
    RateRule.objects.define("all", "0/m", applies_to="all", mode="enforce")
    assert statuses(behind_middleware(plain(False)), 1, "/admin/") == [429]
    call_command("ratewindow", "mode", "all", "shadow")
    assert "all: shadow (was: enforce)." in capsys.readouterr().out
    assert statuses(behind_middleware(plain(False)), 1, "/admin/") == [200]


def test_a_name_that_is_none_is_told():
    RateRule.objects.define("login", "5/m")
    with pytest.raises(CommandError, match=r"There is no rule 'logn' in the database"):
        call_command("ratewindow", "mode", "logn", "off")


def test_a_mode_that_is_none_is_refused():
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("ratewindow", "mode", "login", "on")
