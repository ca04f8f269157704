"""`manage.py ratewindow collect`."""

import pytest
import time_machine
from django.conf import settings
from django.test import override_settings

from ratewindow.models import ThrottleStat
from testproject.redis_server import free_port
from tests.support.commands import run, wrong

pytestmark = pytest.mark.django_db(transaction=True)


def test_without_redis_it_is_an_error_without_a_traceback() -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": f"redis://127.0.0.1:{free_port()}/0"}):
        assert "refused" in wrong("collect")


def test_without_counts_it_writes_no_row() -> None:
    with time_machine.travel("2026-11-20 12:00:00+00:00", tick=False):
        assert run("collect")
    assert not ThrottleStat.objects.exists()
