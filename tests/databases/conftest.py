"""New databases of each kind, and sites whose programs use them."""

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from tests.databases.sites import Site
from tests.support import mariadb, postgres

_numbers = itertools.count()


@pytest.fixture(scope="session", params=["sqlite", "postgresql", "mariadb"])
def databases(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Makes databases of one kind, each for ``TESTPROJECT_DATABASE``, by name."""
    with contextlib.ExitStack() as stack:
        if request.param == "sqlite":
            folder = tmp_path_factory.mktemp("databases")
            yield lambda name: str(folder / f"{name}.sqlite3")
        elif request.param == "postgresql":
            pytest.importorskip("psycopg")
            port = stack.enter_context(postgres.server())
            yield lambda name: stack.enter_context(postgres.made_database(port, name))
        else:
            port = stack.enter_context(mariadb.server())
            yield lambda name: stack.enter_context(mariadb.made_database(port, name))


@pytest.fixture
def new_site(databases: Any, redis_url: str, redis_client: redis.Redis) -> Site:
    """A site without tables."""
    return Site(databases(f"site{next(_numbers)}"), redis_url)
