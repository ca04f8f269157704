"""PostgreSQL, alone or behind pgbouncer in transaction mode, where every statement may meet another connection."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testproject.redis_server import free_port

START_TIMEOUT_S = 60.0
USER = "postgres"  # neither server runs as root


def programs() -> tuple[Path, Path] | None:
    """The folder of PostgreSQL's programs, and pgbouncer; None where one of them is not installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    bouncer = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
    return (folders[-1].parent, Path(bouncer)) if folders and bouncer else None


def database(port: int) -> dict[str, Any]:
    """The entry of ``DATABASES`` for a server, or for the pool before it."""
    server = {"HOST": "127.0.0.1", "PORT": port, "USER": USER, "NAME": "postgres"}
    return {"ENGINE": "django.db.backends.postgresql", **server}


@contextlib.contextmanager
def server() -> Iterator[int]:
    """The port of a server with a database ``postgres``."""
    programs_folder, _ = _found()
    with tempfile.TemporaryDirectory(prefix="ratewindow-postgres-") as name:
        folder, port = _own_folder(name), free_port()
        initdb = [programs_folder / "initdb", "-D", folder / "data", "-U", USER, "-A", "trust", "--no-sync", "-E", "UTF8"]
        subprocess.run(_as_user([str(each) for each in initdb]), check=True, capture_output=True, cwd=folder)
        options = f"-D {folder}/data -h 127.0.0.1 -p {port} -k {folder} -c fsync=off"
        with _running([f"{programs_folder}/postgres", *options.split()], folder):
            _wait_until_ready(programs_folder, port)
            yield port


@contextlib.contextmanager
def pooled() -> Iterator[int]:
    """The port of a pgbouncer before a server."""
    with server() as port, pool_before(port) as pool_port:
        yield pool_port


@contextlib.contextmanager
def pool_before(port: int) -> Iterator[int]:
    """The port of a pgbouncer before the server at this port; its connections take turns, transaction by transaction."""
    programs_folder, bouncer = _found()
    with tempfile.TemporaryDirectory(prefix="ratewindow-pgbouncer-") as name:
        folder, pool_port = _own_folder(name), free_port()
        settings = folder / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n* = host=127.0.0.1 port={port} user={USER}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {pool_port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n"
            "default_pool_size = 5\nmin_pool_size = 5\nserver_round_robin = 1\nignore_startup_parameters = extra_float_digits\n"
        )
        with _running([str(bouncer), str(settings)], folder):
            _wait_until_ready(programs_folder, pool_port)
            yield pool_port


def _found() -> tuple[Path, Path]:
    found = programs()
    if found is None:
        pytest.skip("NO POSTGRESQL AND PGBOUNCER HERE: apt-get install postgresql pgbouncer")
    return found


def _own_folder(name: str) -> Path:
    if os.getuid() == 0:
        shutil.chown(name, USER, USER)
    return Path(name)


def _as_user(command: list[str]) -> list[str]:
    if os.getuid():
        return command
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *command]


@contextlib.contextmanager
def _running(command: list[str], folder: Path) -> Iterator[None]:
    with (folder / f"{Path(command[0]).name}.log").open("wb") as log:
        process = subprocess.Popen(
            _as_user(command), cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)  # to PostgreSQL the fast way to end
        try:
            process.wait(START_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(programs_folder: Path, port: int) -> None:
    deadline_s = time.monotonic() + START_TIMEOUT_S
    command = [str(programs_folder / "psql"), "-h", "127.0.0.1", "-p", str(port), "-U", USER, "-c", "SELECT 1", "postgres"]
    while subprocess.run(command, capture_output=True).returncode:
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"nothing answers at port {port}")
        time.sleep(0.05)  # between two attempts, not in the hope of anything
