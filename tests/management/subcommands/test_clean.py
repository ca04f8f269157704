"""`manage.py ratewindow clean`."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings
from django.utils import timezone

from ratewindow.models import Override, RateRule
from ratewindow.rulebook import rule_rows
from testproject.redis_server import free_port
from tests.support.commands import define, from_me, run, wrong

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_state_of_a_deleted_rule_and_overrides_that_ended_long_ago_are_deleted(redis_client: Any) -> None:
    define("gone", "1/h", applies_to="all")
    assert from_me(1) == [200]
    (name,) = rule_rows.freeze(RateRule.objects.get()).state_names
    RateRule.objects.all().delete()
    Override.objects.create(action="block", identity="user:1", expires_at=timezone.now() - timedelta(days=40))
    state = [key for key in redis_client.scan_iter() if name in key]
    assert state
    run("clean", "--dry-run")
    assert redis_client.exists(*state) == len(state) and Override.objects.exists()
    run("clean")
    assert not redis_client.exists(*state) and not Override.objects.exists()


def test_without_redis_it_is_an_error_without_a_traceback() -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": f"redis://127.0.0.1:{free_port()}/0"}):
        assert "refused" in wrong("clean")


def test_time_and_rate_are_those_of_the_options(redis_client: Any) -> None:
    redis_client.mset({f"rw:s:{'gone' * 4}:{{{number}}}": 1 for number in range(3000)})
    assert "out of time" in run("clean", "--for", "1ms")
    assert "3000 keys seen" not in run("clean", "--for", "10m", "--rate", "100000")
    assert not redis_client.keys("rw:s:*")


def test_options_that_make_no_sense_are_refused_with_the_remedy() -> None:
    assert "--for: '10' has no unit: write 10s for seconds" in wrong("clean", "--for", "10")
    assert "--rate: '0' is not a rate: write a whole number of keys a second" in wrong("clean", "--rate", "0")
