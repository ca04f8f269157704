"""Digests by real workers, two of them and two beats, some killed at their work: each day is sent once, late rather than never.

The demo's mails are written to the terminal, which is the workers' log here.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from tests.support.demo import CHECKOUT
from tests.support.worker import Site

pytestmark = pytest.mark.slow

SEND = "ratewindow.tasks.send_report"
HANG = "tests.support.trial_tasks.send_and_hang"
A_CHANNEL = """
from datetime import timedelta
from ratewindow.conf import time_zone
from ratewindow.models import AlertChannel
AlertChannel.objects.create(name="ops", addresses="ann@example.com", digest="day", digest_hour=0)
AlertChannel.objects.update(digest_until=time_zone.now().date() - timedelta(days=3))
"""
STATE = "SELECT digest_until, error, sent_at IS NOT NULL FROM ratewindow_alertchannel"


@pytest.fixture
def site(program_environment: dict[str, str], tmp_path: Path) -> Iterator[Site]:
    """Three days are due."""
    site = Site(program_environment, tmp_path)
    words = [sys.executable, "manage.py", "shell", "-c", A_CHANNEL]
    subprocess.run(words, cwd=CHECKOUT, env=site.environment, check=True, capture_output=True)
    yield site
    site.end()


def subjects(site: Site) -> list[str]:
    return re.findall(r"Subject: Rate limits, (\w+ \d+ \w+)", site.log.read_text())


def claimed(site: Site) -> str:
    ((until, *_),) = site.asked(STATE)
    return str(until)


def test_two_beats_and_two_workers_send_each_day_that_was_missed_once(site: Site) -> None:
    for _ in range(2):
        site.start("--pool", "solo")
    for number in range(2):
        site.start_beat(str(number))
    site.wait_for(lambda: len(subjects(site)) >= 3)
    for _ in range(4):
        site.send(SEND)
    site.end()  # when all that was sent has been done
    found = subjects(site)
    assert len(found) == len(set(found)) >= 3  # a fourth if the test ran over midnight
    ((_, error, _),) = site.asked(STATE)
    assert error == ""


@pytest.mark.parametrize(("name", "sent"), [("attach_alternative", 3), ("send", 2)])
def test_a_worker_that_is_killed_at_it_sends_nothing_twice_and_leaves_what_it_has_not_begun(
    name: str, sent: int, site: Site, redis_client: redis.Redis
) -> None:
    """While it makes the first mail, and while the mail server takes it."""
    before = claimed(site)
    site.start("--pool", "solo")
    site.send(HANG, name)
    site.wait_for(lambda: redis_client.exists("hanging"))
    ((until, error, _),) = site.asked(STATE)
    assert (str(until) == before, "may not have arrived" in error) == (sent == 3, sent == 2)
    site.kill()
    site.start("--pool", "solo")
    for _ in range(2):
        site.send(SEND)
    site.wait_for(lambda: len(subjects(site)) >= sent)
    site.end()
    found = subjects(site)
    assert len(found) == len(set(found)) >= sent
