"""Edits of rules while a Celery worker runs: each of its processes obeys, and counts as web servers do."""

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from celery import Celery

from tests.serving.edits import editing
from tests.serving.servers import CHECKOUT, END_TIMEOUT_S, Place, manage

pytestmark = pytest.mark.slow

PROCESSES = 2
PATIENCE_S = 60.0


class Worker:
    """A Celery worker with several processes, and what they say of the limit that each of them obeys."""

    def __init__(self, place: Place) -> None:
        self.place, self.log = place, place.folder / "celery.log"
        self.app = Celery(broker=place.redis_url)
        # Quiet among workers: a test needs neither gossip nor heartbeats.
        quietly = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        worker = [
            "-m",
            "celery",
            "-A",
            "testproject",
            "worker",
            "--concurrency",
            str(PROCESSES),
            "--include",
            "tests.support.trial_tasks",
        ]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, *worker, *quietly],
                cwd=CHECKOUT,
                env=place.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def until_all_obey(self, limit: int | None) -> None:
        deadline_s, told = time.monotonic() + PATIENCE_S, {}
        while list(told.values()) != [str(limit)] * PROCESSES:
            assert self.process.poll() is None and time.monotonic() < deadline_s, (told, self.log.read_text())
            for _ in range(2 * PROCESSES):
                self.app.send_task("tests.support.trial_tasks.tell_limit", ["edited"])
            for _ in range(2 * PROCESSES):
                found = self.place.redis.blpop(["limits"], timeout=1)
                if found is not None:
                    process, _, obeyed = found[1].partition(" ")
                    told[process] = obeyed

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(END_TIMEOUT_S)
        self.app.close()


@pytest.fixture
def worker(served_place: Place) -> Iterator[Worker]:
    made = Worker(served_place)
    yield made
    made.end()


def test_an_edit_is_obeyed_by_all_processes_of_a_worker(worker: Worker) -> None:
    with editing(worker.place) as editor:
        worker.until_all_obey(1000)
        for limit in (5001, 5002):
            editor.edit("save", limit=limit)
            worker.until_all_obey(limit)


def test_the_kill_switch_acts_in_all_processes_of_a_worker_with_the_database_away_too(worker: Worker) -> None:
    worker.until_all_obey(1000)
    assert manage(worker.place, "off", "--for", "1h").returncode == 0
    worker.until_all_obey(None)
    worker.place.stop_database()
    assert manage(worker.place, "on").returncode == 0
    worker.until_all_obey(1000)
    worker.place.start_database()
