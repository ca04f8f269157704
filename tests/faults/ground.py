"""A site with all that can be harmed of it: two web servers, their Redis, the way to it, their database and their rules."""

import contextlib
import os
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from tests.faults.catalogue import FAULTS
from tests.faults.injectors import OwnServer, own_server
from tests.faults.proxy import Proxy, proxied
from tests.serving.edits import Editor, editing, until_all_obey
from tests.serving.servers import Place, Served, make_database, place

KINDS = ("gthread", "uvicorn")


class Ground(NamedTuple):
    served: list[Served]
    place: Place
    server: OwnServer
    proxy: Proxy
    editor: Editor
    chance: random.Random


def template(folder: Path) -> Path:
    """The served site's database in this folder, to be copied."""
    path = folder / "template.sqlite3"
    if not path.exists():
        make_database(path)
    return path


@contextlib.contextmanager
def ground(folder: Path, timeout: str, seed: int, kinds: tuple[str, ...] = KINDS) -> Iterator[Ground]:
    with own_server() as server, proxied(server.port) as proxy, place(template(folder)) as made:
        url = f"redis://127.0.0.1:{proxy.port}/0"
        with editing(made, REDIS=url) as editor:
            served = [made.serve(kind, {"SERVED_TIMED": "1"}, REDIS=url, TIMEOUT=timeout, LOCAL_PROCESSES=4) for kind in kinds]
            yield Ground(served, made, server, proxy, editor, random.Random(seed))


@contextlib.contextmanager
def _database_away(ground: Ground) -> Iterator[None]:
    ground.place.stop_database()
    ground.server.tell("DEL", "rw:token")  # what makes each process read
    try:
        yield
    finally:
        ground.place.start_database()


@contextlib.contextmanager
def _script_flushed(ground: Ground) -> Iterator[None]:
    ground.server.tell("SCRIPT", "FLUSH")
    yield


@contextlib.contextmanager
def _emptied(ground: Ground) -> Iterator[None]:
    ground.server.tell("FLUSHALL")
    yield


@contextlib.contextmanager
def _clients_killed(ground: Ground) -> Iterator[None]:
    with ground.server.client() as client:
        client.client_kill_filter(skipme=True)
    yield


@contextlib.contextmanager
def _worker_killed(ground: Ground) -> Iterator[None]:
    """One of them, whichever; its server starts another."""
    served = ground.chance.choice(ground.served)
    victim = ground.chance.choice(sorted(served.workers()))
    os.kill(victim, signal.SIGKILL)
    yield


@contextlib.contextmanager
def _rule_edited(ground: Ground) -> Iterator[None]:
    limit = ground.chance.randrange(2_000, 1_000_000)
    ground.editor.edit("save", limit=limit)
    until_all_obey(ground.served, limit)
    yield


def _of_redis(name: str) -> Callable[[Ground], AbstractContextManager[None]]:
    return lambda ground: FAULTS[name](ground.server, ground.proxy)


HAPPENINGS: dict[str, Callable[[Ground], AbstractContextManager[None]]] = {
    **{name: _of_redis(name) for name in FAULTS},
    "SCRIPT FLUSH": _script_flushed,
    "FLUSHALL": _emptied,
    "CLIENT KILL": _clients_killed,
    "a worker killed (kill -9)": _worker_killed,
    "database away": _database_away,
    "a rule edited": _rule_edited,
}
"""Whatever can happen to a site, by name; each is over when its block ends."""
