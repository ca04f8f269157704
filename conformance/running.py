"""A site behind one limiter: its processes, its database, its Redis, and what a case may ask of it."""

import contextlib
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance.adapter import Adapter
from conformance.client import Client
from conformance.store import Store, free_port

PACKAGE = Path(__file__).resolve().parent
START_TIMEOUT_S = 60.0
RIGHT = "right-horse-7"

# How the site is set up. Some are as installed, and apart only so that their cases do not disturb others.
KINDS = {
    "plain": "as installed",
    "proxied": "behind a proxy of 10.0.0.0/8",
    "asgi": "as installed, under ASGI",
    "open": "told to let requests pass while the store is down",
    "closed": "told to refuse requests while the store is down",
    "edits": "with a limit that is edited",
    "logins": "as installed",
    "memory": "as installed",
}


def wrong_password() -> str:
    """Another one each time, as a guesser tries them."""
    return f"wrong-{secrets.token_hex(6)}"


@dataclass
class Site:
    adapter: Adapter
    port: int
    store: Store
    folder: Path

    def client(self, address: str = "") -> Client:
        return Client(self.port, address) if address else Client(self.port)

    def checked(self) -> int:
        """How many wrong passwords have been compared with that of an account, by however many backends."""
        notes = self.folder / "checked"
        return len(set(notes.read_text().split())) if notes.exists() else 0

    def log_in(self, client: Client, name: str, password: str = RIGHT) -> bool:
        """Whether this client is logged in afterwards, as the session's cookie tells."""
        client.cookies.pop("sessionid", None)
        client.post(self.adapter.login_path, **{self.adapter.login_field: name, "password": password})
        return bool(client.cookies.get("sessionid"))

    def guess(self, client: Client, name: str) -> None:
        self.log_in(client, name, wrong_password())


class Sites:
    """Starts the sites of one adapter; the database is made once."""

    def __init__(self, name: str, adapter: Adapter, python: Path, folder: Path) -> None:
        self._name, self._adapter, self._python, self._folder = name, adapter, python, folder
        self._path = folder / "path"
        self._path.mkdir()
        # Alone on the path, so that a limiter is imported from where its environment has it.
        self._path.joinpath("conformance").symlink_to(PACKAGE)
        self._template = folder / "template"
        self._template.mkdir()
        self._run(
            "-m", "conformance.site.prepare", environment=self._environment("plain", self._template, "redis://127.0.0.1:1/0")
        )

    @contextlib.contextmanager
    def running(self, kind: str) -> Iterator[Site]:
        folder = Path(tempfile.mkdtemp(dir=self._folder, prefix=f"{kind}-"))
        shutil.copy(self._template / "site.sqlite3", folder)
        store, port = Store(folder), free_port()
        with folder.joinpath("log").open("wb") as log:
            process = subprocess.Popen(
                [self._python, *_command(kind, port)],
                env=self._environment(kind, folder, store.url),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                _wait_for(port, process, folder)
                yield Site(self._adapter, port, store, folder)
            finally:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(5)
                process.kill()
                store.kill()

    def _environment(self, kind: str, folder: Path, redis_url: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(self._path),
            "DJANGO_SETTINGS_MODULE": "conformance.site.settings",
            "CONFORMANCE_ADAPTER": self._name,
            "CONFORMANCE_KIND": kind,
            "CONFORMANCE_FOLDER": str(folder),
            "CONFORMANCE_REDIS": redis_url,
        }

    def _run(self, *arguments: str, environment: dict[str, str]) -> None:
        done = subprocess.run([self._python, *arguments], env=environment, cwd=self._folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{self._adapter.title}: {done.stderr[-3000:]}")


def _command(kind: str, port: int) -> list[str]:
    """Two processes of eight threads by WSGI; one event loop by ASGI."""
    if kind == "asgi":
        options = f"-m uvicorn --no-proxy-headers --no-access-log --lifespan off --port {port}"
    else:
        options = f"-m gunicorn --workers 2 --threads 8 --no-control-socket --graceful-timeout 1 --bind 127.0.0.1:{port}"
    return [*options.split(), f"conformance.site.{'asgi' if kind == 'asgi' else 'wsgi'}:application"]


def _wait_for(port: int, process: "subprocess.Popen[bytes]", folder: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    client = Client(port)
    while process.poll() is None and time.monotonic() < deadline:
        if client.get("/free/").ran:
            return
        time.sleep(0.1)
    raise RuntimeError(f"The site did not start:\n{folder.joinpath('log').read_text()[-3000:]}")
