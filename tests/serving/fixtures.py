"""Fixtures: a place for servers, and one server of each kind for tests that only ask it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.servers import KINDS, Place, Served, make_database, needs_a_server, place


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


@pytest.fixture(scope="module", params=list(KINDS))
def served(request: pytest.FixtureRequest, site_database: Path) -> Iterator[Served]:
    """The site under each kind of server, for all tests of a module; each test asks from addresses of its own."""
    needs_a_server()
    with place(site_database) as made:
        yield made.serve(request.param)
