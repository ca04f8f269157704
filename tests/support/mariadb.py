"""MariaDB, a server of its own on loopback."""

import contextlib
import importlib.util
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from testproject.redis_server import free_port
from tests.support.daemons import as_user, own_folder, running, wait_until_ready

USER = "mysql"
PROGRAM = Path("/usr/sbin/mariadbd")  # of Debian; few paths of programs name that folder
# As little written to the disk as it allows.
OPTIONS = "--innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=32M --innodb-log-file-size=16M --skip-log-bin"


def url(port: int, name: str) -> str:
    """For ``TESTPROJECT_DATABASE``."""
    return f"mysql://root@127.0.0.1:{port}/{name}"


@contextlib.contextmanager
def server() -> Iterator[int]:
    """The port of a server without databases, which makes them as MariaDB does that nobody has configured, but in UTF-8."""
    if not PROGRAM.exists() or importlib.util.find_spec("MySQLdb") is None:
        pytest.skip("NO MARIADB AND MYSQLCLIENT HERE: apt-get install mariadb-server, pip install mysqlclient")
    with own_folder("ratewindow-mariadb-", USER) as folder:
        port = free_port()
        data = f"--no-defaults --datadir={folder}/data"
        install = f"mariadb-install-db {data} --auth-root-authentication-method=normal --skip-test-db"
        subprocess.run(as_user(install.split(), USER), check=True, capture_output=True, cwd=folder)
        places = f"--socket={folder}/socket --pid-file={folder}/pid --bind-address=127.0.0.1 --port={port}"
        serve = f"{PROGRAM} {data} {places} --character-set-server=utf8mb4 {OPTIONS}"
        with running(serve.split(), folder, USER, signal.SIGTERM):
            wait_until_ready([*_client(port), "-e", "SELECT 1"])
            yield port


@contextlib.contextmanager
def made_database(port: int, name: str) -> Iterator[str]:
    """The address of a new database without tables, which is dropped at the end."""
    subprocess.run([*_client(port), "-e", f"CREATE DATABASE {name}"], check=True)
    try:
        yield url(port, name)
    finally:
        subprocess.run([*_client(port), "-e", f"DROP DATABASE {name}"], check=True)


def _client(port: int) -> list[str]:
    return ["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{port}", "-uroot"]
