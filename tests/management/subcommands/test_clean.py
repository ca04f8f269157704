"""`manage.py ratewindow clean`."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings
from django.utils import timezone

from ratewindow.models import Override, RateRule
from ratewindow.rulebook import reading
from testproject.redis_server import free_port
from tests.support.commands import define, from_me, run, wrong

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_state_of_a_deleted_rule_and_overrides_that_ended_long_ago_are_deleted(redis_client: Any) -> None:
    define("gone", "1/h", applies_to="all")
    assert from_me(1) == [200]
    (name,) = reading.freeze(RateRule.objects.get()).state_names
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


def test_its_rate_is_that_of_the_option(redis_client: Any) -> None:
    redis_client.mset({f"rw:s:{'gone' * 4}:{{{number}}}": 1 for number in range(3000)})
    run("clean", "--rate", "100000")
    assert not redis_client.keys("rw:s:*")


@pytest.mark.parametrize("rate", ["0", "-5", "many"])
def test_a_rate_that_is_none_is_an_error(rate: str) -> None:
    assert f"'{rate}' is not a rate" in wrong("clean", f"--rate={rate}")
