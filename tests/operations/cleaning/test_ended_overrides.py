"""Blocks and exemptions that are long over leave the database, and what others still need stays."""

import io
from datetime import timedelta

import pytest
import time_machine
from django.core.management import call_command
from django.utils import timezone

from ratewindow import tasks
from ratewindow.limiter.rates import parse_rates
from ratewindow.models import Override, RateRule
from ratewindow.operations.cleaning.ended_overrides import clean_ended
from ratewindow.operations.cleaning.orphans import clean_orphans
from ratewindow.store import state_keys

pytestmark = pytest.mark.django_db(transaction=True)


def made(name, **ago):
    """One that ended so long ago."""
    override = Override.objects.allow("user:42", reason=name)
    Override.objects.get_queryset().filter(pk=override.pk).update(expires_at=timezone.now() - timedelta(**ago))


def reasons():
    return set(Override.objects.values_list("reason", flat=True))


def test_what_ended_a_month_ago_goes_and_all_others_stay():
    made("old", days=31)
    made("recent", days=29)
    Override.objects.allow("user:42", reason="endless")
    assert str(clean_ended(dry_run=True)) == "1 block or exemption that ended 30 days ago would be deleted"
    assert reasons() == {"old", "recent", "endless"}
    assert str(clean_ended()) == "1 block or exemption that ended 30 days ago deleted"
    assert reasons() == {"recent", "endless"}


def test_many_go_in_pieces(monkeypatch):
    from ratewindow.models import override_manager

    monkeypatch.setattr(override_manager, "_BATCH", 3)
    for _ in range(8):
        made("old", days=99)
    assert clean_ended().overrides == 8


def test_the_command_and_the_task_do_it():
    made("old", days=31)
    out = io.StringIO()
    call_command("ratewindow", "clean", "--dry-run", stdout=out)
    assert "1 block or exemption that ended 30 days ago would be deleted" in out.getvalue()
    done = tasks.clean_orphans()
    assert "1 block or exemption that ended 30 days ago deleted; " in done and "; 0 keys seen" in done
    assert not reasons()


@pytest.mark.parametrize("rule", ["login", ""])
def test_the_counts_of_another_rate_stay_while_it_holds(redis_client, rule):
    RateRule.objects.define("login", "5/m")
    RateRule.objects.define("api", "5/m")
    (window,) = parse_rates("7/2h")
    keys = [
        "rw" + state_keys.state_name(name, window, is_beside=False) + state_keys.client_tag("ip:203.0.113.9")
        for name in ("login", "api")
    ]
    for key in keys:
        redis_client.set(key, 1, ex=7200)  # what never expires is none of ours
    Override.objects.rate("ip:203.0.113.9", "7/2h", rule=rule, duration="1h")
    clean_orphans()
    assert sorted(redis_client.keys("rw:s:*")) == sorted(keys if not rule else keys[:1])
    with time_machine.travel(timezone.now() + timedelta(hours=2)):
        clean_orphans()
    assert not redis_client.keys("rw:s:*")
