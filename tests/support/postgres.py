"""PostgreSQL, alone or behind pgbouncer in transaction mode, where every statement may meet another connection."""

import contextlib
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from testproject.redis_server import free_port
from tests.support.daemons import as_user, own_folder, running, wait_until_ready

USER = "postgres"  # neither server runs as root
FAST = signal.SIGINT  # to PostgreSQL the fast way to end


def programs() -> tuple[Path, Path] | None:
    """The folder of PostgreSQL's programs, and pgbouncer; None where one of them is not installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    bouncer = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
    return (folders[-1].parent, Path(bouncer)) if folders and bouncer else None


def url(port: int, name: str = USER) -> str:
    """For ``TESTPROJECT_DATABASE``: a server, or the pool before it."""
    return f"postgresql://{USER}@127.0.0.1:{port}/{name}"


@contextlib.contextmanager
def server() -> Iterator[int]:
    """The port of a server with a database ``postgres``."""
    programs_folder, _ = _found()
    with own_folder("ratewindow-postgres-", USER) as folder:
        port = free_port()
        initdb = [programs_folder / "initdb", "-D", folder / "data", "-U", USER, "-A", "trust", "--no-sync", "-E", "UTF8"]
        subprocess.run(as_user(initdb, USER), check=True, capture_output=True, cwd=folder)
        options = f"-D {folder}/data -h 127.0.0.1 -p {port} -k {folder} -c fsync=off"
        with running([programs_folder / "postgres", *options.split()], folder, USER, FAST):
            _wait_until_ready(programs_folder, port)
            yield port


@contextlib.contextmanager
def made_database(port: int, name: str) -> Iterator[str]:
    """The address of a new database without tables, which is dropped at the end."""
    programs_folder, _ = _found()
    subprocess.run([*_client(programs_folder, port), f"CREATE DATABASE {name}"], check=True, capture_output=True)
    try:
        yield url(port, name)
    finally:
        subprocess.run([*_client(programs_folder, port), f"DROP DATABASE {name} WITH (FORCE)"], check=True, capture_output=True)


@contextlib.contextmanager
def pooled() -> Iterator[int]:
    """The port of a pgbouncer before a server."""
    with server() as port, pool_before(port) as pool_port:
        yield pool_port


@contextlib.contextmanager
def pool_before(port: int) -> Iterator[int]:
    """The port of a pgbouncer before the server at this port; its connections take turns, transaction by transaction."""
    programs_folder, bouncer = _found()
    with own_folder("ratewindow-pgbouncer-", USER) as folder:
        pool_port = free_port()
        settings = folder / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n* = host=127.0.0.1 port={port} user={USER}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {pool_port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n"
            "default_pool_size = 5\nmin_pool_size = 5\nserver_round_robin = 1\nignore_startup_parameters = extra_float_digits\n"
        )
        with running([bouncer, settings], folder, USER, FAST):
            _wait_until_ready(programs_folder, pool_port)
            yield pool_port


def _found() -> tuple[Path, Path]:
    found = programs()
    if found is None:
        pytest.skip("NO POSTGRESQL AND PGBOUNCER HERE: apt-get install postgresql pgbouncer")
    return found


def _wait_until_ready(programs_folder: Path, port: int) -> None:
    wait_until_ready([*_client(programs_folder, port), "SELECT 1"])


def _client(programs_folder: Path, port: int) -> list[str]:
    """To be followed by a statement."""
    return [str(programs_folder / "psql"), "-h", "127.0.0.1", "-p", str(port), "-U", USER, "postgres", "-c"]
