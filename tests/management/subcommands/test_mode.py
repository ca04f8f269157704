"""``manage.py ratewindow mode``."""

import pytest
from django.core.management import CommandError, call_command

from ratewindow.models import RateRule
from tests.support.doors import behind_middleware, decorated, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_rule_that_locks_everybody_out_is_undone_from_the_command_line(capsys):
    RateRule.objects.define("all", "0/m", applies_to="all", mode="enforce")
    assert statuses(behind_middleware(plain(False)), 1, "/admin/") == [429]
    call_command("ratewindow", "mode", "all", "shadow")
    assert "all: shadow (was: enforce)." in capsys.readouterr().out
    assert statuses(behind_middleware(plain(False)), 1, "/admin/") == [200]
    call_command("ratewindow", "mode", "all", "shadow")
    assert "all: shadow, unchanged." in capsys.readouterr().out


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


def test_a_rule_that_would_refuse_whoever_works_in_the_admin_is_enforced_only_after_a_yes(capsys):
    RateRule.objects.define("all", "3/m", applies_to="all")
    with pytest.raises(CommandError, match=r"meets /admin/ and \d+ more pages of the admin\.") as asked:
        call_command("ratewindow", "mode", "all", "enforce")
    assert "You would be refused there after 3 requests in 1 minute." in str(asked.value)
    assert "In the last hour no request met it." in str(asked.value)
    assert str(asked.value).endswith("add --yes.")
    assert RateRule.objects.get().mode == "shadow"
    call_command("ratewindow", "mode", "all", "enforce", "--yes")
    assert "all: enforce (was: shadow)." in capsys.readouterr().out
    call_command("ratewindow", "mode", "all", "enforce")
    assert "all: enforce, unchanged." in capsys.readouterr().out


@pytest.mark.parametrize("fields", [{"path": "/search/"}, {"path": "/admin/", "methods": "PUT"}])
def test_any_other_rule_is_enforced_at_once(fields):
    RateRule.objects.define("search", "3/m", **fields)
    call_command("ratewindow", "mode", "search", "enforce")
    assert RateRule.objects.get().mode == "enforce"


@pytest.mark.urls("tests.sites.without_admin_urls")
def test_without_the_admin_nothing_is_asked():
    RateRule.objects.define("all", "3/m", applies_to="all")
    call_command("ratewindow", "mode", "all", "enforce")
    assert RateRule.objects.get().mode == "enforce"
