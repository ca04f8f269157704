"""Fixtures: a place for servers, and the servers of the run, one of each kind, for tests that only ask."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serving.servers import KINDS, Place, Served, make_database, needs_a_server, place

USUAL = ("preload", "uvicorn")
"""What each test asks: a WSGI server that forks, and an ASGI server. The other kinds have a target, `make serving`."""


def kinds(*wanted: str) -> list[Any]:
    """Parameters for these kinds of servers, where the usual ones are tried by `make test`."""
    return [kind if kind in USUAL else elsewhere(kind) for kind in wanted]


def elsewhere(*values: Any) -> Any:
    """Parameters of a case that only `make serving` tries."""
    return pytest.param(*values, marks=pytest.mark.serving)


@pytest.fixture(scope="session")
def site_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the served site's rules, to be copied."""
    path = tmp_path_factory.mktemp("served") / "template.sqlite3"
    make_database(path)
    return path


@pytest.fixture
def served_place(site_database: Path) -> Iterator[Place]:
    """A Redis and a database, for the servers of one test."""
    needs_a_server()
    with place(site_database) as made:
        yield made


class Servers:
    """The site under each kind of server with each of some settings, started when a test first asks for it."""

    def __init__(self, template: Path, open_until_the_end: contextlib.ExitStack) -> None:
        self._template, self._open = template, open_until_the_end
        self._running: dict[str, Served] = {}

    def get(self, kind: str, **ratewindow: Any) -> Served:
        """A server that the whole run asks, from addresses that nobody used before; nothing of it may be broken."""
        name = f"{kind} {json.dumps(ratewindow)}"
        if name not in self._running:
            needs_a_server()
            self._running[name] = self._open.enter_context(place(self._template)).serve(kind, **ratewindow)
        self._running[name].listen()
        return self._running[name]


@pytest.fixture(scope="session")
def servers(site_database: Path) -> Iterator[Servers]:
    with contextlib.ExitStack() as stack:
        yield Servers(site_database, stack)


@pytest.fixture(params=kinds(*KINDS))
def served(request: pytest.FixtureRequest, servers: Servers) -> Served:
    """The site under each kind of server; each test asks from addresses of its own."""
    return servers.get(request.param)
