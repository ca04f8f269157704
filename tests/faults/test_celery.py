"""Celery in trouble: whatever becomes of workers, schedules and the broker, counts are neither lost nor doubled."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from ratewindow.reporting import minutes
from ratewindow.reporting.sums import Sums
from tests.faults.injectors import OwnServer, own_server
from tests.support.worker import Site

pytestmark = pytest.mark.slow

MINUTE = int(time.time()) // 60
COLLECT = "ratewindow.tasks.collect_stats"


@pytest.fixture
def broker() -> Iterator[OwnServer]:
    with own_server() as server:
        yield server


@pytest.fixture
def site(program_environment: dict[str, str], tmp_path: Path, broker: OwnServer) -> Iterator[Site]:
    site = Site(program_environment, tmp_path, broker.url)
    site.start("--pool", "solo")  # of one process, so that nothing is left of it when it is killed
    yield site
    site.end()


def counted(process: str, passed: int) -> None:
    """A process of the site has let so many pass, all in all."""
    minutes.send({MINUTE: {f"{process}|login": Sums(passed=passed)}}, time.time())


def all_say(site: Site, passed: int) -> bool:
    return site.rows() == [(resolution, "login", passed) for resolution in ("day", "hour", "minute")]


def test_a_worker_that_is_killed_while_it_collects_loses_and_doubles_nothing(site: Site, redis_client: redis.Redis) -> None:
    counted("p1", 7)
    site.send("tests.support.trial_tasks.collect_and_hang")
    site.wait_for(lambda: redis_client.exists("hanging"))
    assert all_say(site, 7)
    counted("p2", 5)
    site.kill()
    site.start("--pool", "solo")
    site.send(COLLECT)
    site.wait_for(lambda: all_say(site, 12))


def test_two_schedules_and_two_workers_collect_everything_twice_and_count_it_once(site: Site) -> None:
    site.start("--pool", "solo")
    for passed in (3, 8, 20):
        counted("p1", passed)
        counted("p2", 1)
        for _ in range(4):
            site.send(COLLECT)
        site.wait_for(lambda passed=passed: all_say(site, passed + 1))  # type: ignore[misc]
    site.end()  # when all that was sent has been done
    assert all_say(site, 21)


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
