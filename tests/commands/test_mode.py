"""``manage.py ratewindow mode``."""

import pytest
from django.core.management import CommandError, call_command

from ratewindow.models import RateRule
from tests.doors import behind_middleware, decorated, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_rule_that_locks_everybody_out_is_undone_from_the_command_line(capsys):
    RateRule.objects.define("all", "0/m", applies_to="all", mode="enforce")
    assert statuses(behind_middleware(plain(False)), 1, "/admin/") == [429]
    call_command("ratewindow", "mode", "all", "shadow")
    assert "all: shadow (was: enforce)." in capsys.readouterr().out
    assert statuses(behind_middleware(plain(False)), 1, "/admin/") == [200]
    call_command("ratewindow", "mode", "all", "shadow")
    assert "all: shadow, as it was." in capsys.readouterr().out


def test_a_name_that_is_none_is_told_with_what_it_may_mean():
    RateRule.objects.define("login", "5/m")
    with pytest.raises(CommandError, match=r"There is no rule 'logn'\. Did you mean login\?"):
        call_command("ratewindow", "mode", "logn", "off")
    decorated(False, "coded", "1/m")
    with pytest.raises(CommandError, match="'coded' has a rate in code"):
        call_command("ratewindow", "mode", "coded", "off")


def test_a_mode_that_is_none_is_refused():
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("ratewindow", "mode", "login", "on")
