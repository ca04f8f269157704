"""Celery in trouble: whatever becomes of workers, schedules and the broker, counts are neither lost nor doubled."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from ratewindow.counting import minutes
from ratewindow.counting.collecting import collect_stats
from ratewindow.counting.sums import Sums
from tests.faults.injectors import OwnServer, own_server
from tests.support.made_offenders import refused
from tests.support.trial_tasks import STEPS
from tests.support.worker import Site, own_statistics

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

MINUTE = int(time.time()) // 60
COLLECT = "ratewindow.tasks.collect_stats"
HANG = "tests.support.trial_tasks.collect_and_hang"
LAST = "all rows are stored"


@pytest.fixture
def broker() -> Iterator[OwnServer]:
    with own_server() as server:
        yield server


@pytest.fixture
def empty_site(program_environment: dict[str, str], tmp_path: Path, broker: OwnServer) -> Iterator[Site]:
    site = Site(program_environment, tmp_path, broker.url)
    yield site
    site.end()


@pytest.fixture
def site(empty_site: Site) -> Site:
    empty_site.start("--pool", "solo")  # of one process, so that nothing is left of it when it is killed
    return empty_site


def counted(process: str, passed: int) -> None:
    """A process of the site has let so many pass, all in all, and refused a client as often."""
    who = {MINUTE: {f"{process}|login": refused(ann=passed)}}
    minutes.send({MINUTE: {f"{process}|login": Sums(passed=passed, refused=passed)}}, time.time(), who)


def all_say(site: Site, passed: int) -> bool:
    """Whether the rows of both tables do: a run reads who was refused first, and may find later counts in the sums alone."""
    who = site.asked("SELECT resolution, rule, refused FROM ratewindow_offenderstat WHERE kind = 'all' ORDER BY resolution")
    return site.rows() == who == [(resolution, "login", passed) for resolution in ("day", "hour", "minute")]


def as_one_calm_run_has_them(site: Site) -> None:
    """The rows of the site, clients and all, are those that a single collection makes of the same counts."""
    collect_stats()
    assert site.statistics() == own_statistics()


@pytest.mark.parametrize("step", STEPS)
def test_a_worker_that_is_killed_after_any_step_of_collecting_loses_and_doubles_nothing(
    site: Site, redis_client: redis.Redis, step: str
) -> None:
    counted("p1", 7)
    site.send(HANG, step)
    site.wait_for(lambda: redis_client.exists("hanging"))
    counted("p2", 5)
    site.kill()
    site.start("--pool", "solo")
    site.send(COLLECT)
    site.wait_for(lambda: all_say(site, 12))
    as_one_calm_run_has_them(site)


def test_a_process_of_a_pool_that_is_killed_is_replaced_and_the_next_run_does_its_work(
    empty_site: Site, redis_client: redis.Redis
) -> None:
    empty_site.start()
    counted("p1", 7)
    empty_site.send(HANG, LAST)
    empty_site.wait_for(lambda: redis_client.exists("hanging"))
    counted("p1", 9)
    os.kill(int(str(redis_client.get("hanging"))), signal.SIGKILL)
    empty_site.send(COLLECT)
    empty_site.wait_for(lambda: all_say(empty_site, 9))
    as_one_calm_run_has_them(empty_site)


def test_two_schedules_and_two_workers_collect_everything_twice_and_count_it_once(site: Site) -> None:
    site.start("--pool", "solo")
    for passed in (3, 8, 20):
        counted("p1", passed)
        counted("p2", 1)
        for _ in range(4):
            site.send(COLLECT)
        site.wait_for(lambda passed=passed: all_say(site, passed + 1))  # type: ignore[misc]
    site.end()  # when all that was sent has been done
    as_one_calm_run_has_them(site)


def test_while_the_broker_is_away_counts_wait_and_afterwards_they_are_all_collected(site: Site, broker: OwnServer) -> None:
    counted("p1", 4)
    site.send(COLLECT)
    site.wait_for(lambda: all_say(site, 4))
    broker.stop()
    counted("p1", 9)
    counted("p2", 2)
    broker.start()
    site.send(COLLECT)
    site.wait_for(lambda: all_say(site, 11))


def test_two_beats_outlive_a_killed_worker_and_a_lost_broker_and_nobody_counts_twice(site: Site, broker: OwnServer) -> None:
    site.start("--pool", "solo")
    for number in range(2):
        site.start_beat(str(number))
    counted("p1", 3)
    site.wait_for(lambda: all_say(site, 3))  # nobody but the schedules asks for it
    site.kill()
    counted("p2", 5)
    site.wait_for(lambda: all_say(site, 8))
    broker.stop()
    counted("p1", 11)
    broker.start()
    site.wait_for(lambda: all_say(site, 16))
    site.start("--pool", "solo")
    counted("p2", 20)
    site.wait_for(lambda: all_say(site, 31))
    site.end()
    as_one_calm_run_has_them(site)
