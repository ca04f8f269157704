"""Celery workers and beats that tests start, of a site on a database file, and a broker to send it tasks by."""

import functools
import io
import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from celery import Celery
from django.core.management import call_command

from tests.support.demo import CHECKOUT

PATIENCE_S = 180.0
DUMPED = ("dumpdata", "ratewindow.ThrottleStat", "ratewindow.OffenderStat")


def own_statistics() -> list[dict[str, Any]]:
    """The rows of statistics in the database of the test, in an order that is always the same."""
    out = io.StringIO()
    call_command(*DUMPED, stdout=out)
    return _rows(out.getvalue())


def _rows(dumped: str) -> list[dict[str, Any]]:
    return sorted((each["fields"] for each in json.loads(dumped)), key=lambda fields: json.dumps(fields, sort_keys=True))


@functools.cache
def _migrated() -> bytes:
    """The database of a site, migrated once for all tests of this process."""
    with tempfile.TemporaryDirectory(prefix="ratewindow-worker-") as folder:
        path = Path(folder) / "db.sqlite3"
        given = {"DJANGO_SETTINGS_MODULE": "testproject.settings", "RATEWINDOW_REDIS_URL": "memory://"}
        environment = {**os.environ, **given, "TESTPROJECT_DATABASE": str(path)}
        command = [sys.executable, "manage.py", "migrate"]
        subprocess.run(command, cwd=CHECKOUT, env=environment, check=True, capture_output=True)
        return path.read_bytes()


class Site:
    """A site on a database file, its workers, and a broker to send them tasks by: the limiter's Redis if no other is named."""

    def __init__(self, environment: dict[str, str], folder: Path, broker: str = "") -> None:
        self.database = folder / "db.sqlite3"
        self.log = folder / "worker.log"
        broker = broker or environment["RATEWINDOW_REDIS_URL"]
        self.environment = {**environment, "TESTPROJECT_DATABASE": str(self.database), "CELERY_BROKER_URL": broker}
        self.app = Celery(broker=broker)
        self._folder = folder
        self._workers: list[subprocess.Popen[bytes]] = []
        self._beats: list[subprocess.Popen[bytes]] = []
        self._numbers = itertools.count()
        self.database.write_bytes(_migrated())

    def start(self, *options: str) -> None:
        """One worker more; it works on one task at a time."""
        words = "-m celery -A testproject worker --concurrency 1 --include tests.support.trial_tasks"
        words += f" --hostname w{next(self._numbers)}@%h"
        self._workers.append(self._started(*words.split(), *options))

    def start_beat(self, name: str) -> None:
        """One beat more, with a schedule that waits for nothing."""
        words = f"-m celery -A tests.support.hasty_beat beat --pidfile= --schedule {self._folder / f'beat{name}'}"
        self._beats.append(self._started(*words.split()))

    def _started(self, *words: str) -> "subprocess.Popen[bytes]":
        with self.log.open("ab") as log:
            return subprocess.Popen([sys.executable, *words], cwd=CHECKOUT, env=self.environment, stdout=log, stderr=log)

    def send(self, name: str, *arguments: object) -> None:
        self.app.send_task(name, arguments)

    def rows(self) -> list[tuple[str, str, int]]:
        with closing(sqlite3.connect(self.database)) as database:
            return database.execute("SELECT resolution, rule, passed FROM ratewindow_throttlestat ORDER BY resolution").fetchall()

    def statistics(self) -> list[dict[str, Any]]:
        """All rows of statistics, as `own_statistics` has them."""
        words = [sys.executable, "manage.py", *DUMPED]
        return _rows(subprocess.run(words, cwd=CHECKOUT, env=self.environment, check=True, capture_output=True, text=True).stdout)

    def asked(self, query: str) -> list[tuple[Any, ...]]:
        """Rows of the site's database; a query that changes some is committed."""
        with closing(sqlite3.connect(self.database, timeout=20)) as database, database:
            return database.execute(query).fetchall()

    def wait_for(self, condition: Callable[[], object]) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not condition():
            alive = all(each.poll() is None for each in [*self._workers, *self._beats])
            assert alive and time.monotonic() < deadline_s, self.log.read_text()
            time.sleep(0.02)  # between two looks, not in the hope of anything

    def kill(self) -> None:
        """The worker that was started last, at once."""
        worker = self._workers.pop()
        worker.kill()
        worker.wait()

    def end(self) -> None:
        running = [*self._beats, *self._workers]
        for each in running:
            if each.poll() is None:
                each.send_signal(signal.SIGTERM)
        for each in running:
            with suppress(subprocess.TimeoutExpired):
                each.wait(PATIENCE_S)
            each.kill()
            each.wait()
        self.app.close()
