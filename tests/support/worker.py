"""A Celery worker that tests start, of a site on a database file, and a broker to send it tasks by."""

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from celery import Celery

from tests.support.demo import CHECKOUT

PATIENCE_S = 30.0


class Site:
    """A site on a database file, its workers, and a broker to send them tasks by: the limiter's Redis if no other is named."""

    def __init__(self, environment: dict[str, str], folder: Path, broker: str = "") -> None:
        self.database = folder / "db.sqlite3"
        self.log = folder / "worker.log"
        broker = broker or environment["RATEWINDOW_REDIS_URL"]
        self.environment = {**environment, "TESTPROJECT_DATABASE": str(self.database), "CELERY_BROKER_URL": broker}
        self.app = Celery(broker=broker)
        self._workers: list[subprocess.Popen[bytes]] = []
        subprocess.run(
            [sys.executable, "manage.py", "migrate"], cwd=CHECKOUT, env=self.environment, check=True, capture_output=True
        )

    def start(self, *options: str) -> None:
        """One worker more; it works on one task at a time."""
        words = "-m celery -A testproject worker --concurrency 1 --include tests.support.trial_tasks"
        words += f" --hostname w{len(self._workers)}@%h"
        with self.log.open("ab") as log:
            self._workers.append(
                subprocess.Popen(
                    [sys.executable, *words.split(), *options], cwd=CHECKOUT, env=self.environment, stdout=log, stderr=log
                )
            )

    def send(self, name: str, *arguments: object) -> None:
        self.app.send_task(name, arguments)

    def rows(self) -> list[tuple[str, str, int]]:
        with closing(sqlite3.connect(self.database)) as database:
            return database.execute("SELECT resolution, rule, passed FROM ratewindow_throttlestat ORDER BY resolution").fetchall()

    def wait_for(self, condition: Callable[[], object]) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not condition():
            alive = all(worker.poll() is None for worker in self._workers)
            assert alive and time.monotonic() < deadline_s, self.log.read_text()
            time.sleep(0.02)  # between two looks, not in the hope of anything

    def kill(self) -> None:
        """The worker that was started last, at once."""
        worker = self._workers.pop()
        worker.kill()
        worker.wait()

    def end(self) -> None:
        for worker in self._workers:
            if worker.poll() is None:
                worker.send_signal(signal.SIGTERM)
        for worker in self._workers:
            with suppress(subprocess.TimeoutExpired):
                worker.wait(PATIENCE_S)
            worker.kill()
            worker.wait()
        self.app.close()
