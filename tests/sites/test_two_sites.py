"""Two sites with one SECRET_KEY, one KEY_PREFIX and one name of their databases: the second is a copy of the first."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.support.postgres import pool_before, server, url
from tests.support.programs import CHECKOUT, run

pytestmark = pytest.mark.slow


class Site:
    """A site whose programs run in a folder of its own."""

    def __init__(self, folder: Path, redis_url: str, **environment: str) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "RATEWINDOW_REDIS_URL": redis_url, **environment}

    def _run(self, program: str) -> str:
        return run(program, self.environment, self.folder)

    def live(self) -> None:
        """What a process of the site does within its first minute, with a rule and a count."""
        self._run(
            """
            import ratewindow
            from django.core.management import call_command
            from ratewindow.models import RateRule
            from ratewindow.store import shared_prefix
            call_command("migrate", verbosity=0)
            RateRule.objects.define("login", "5/m", path="/login/", mode="enforce", overwrite=True)
            shared_prefix.announce_unless_tested()
            assert ratewindow.hit("login", "ip:203.0.113.9")
            """
        )

    def look(self) -> dict[str, Any]:
        """What another program of the site sees by `check` and `clean` another site."""
        told = self._run(
            """
            import json
            from django.core.checks import run_checks
            from django.core.management import CommandError, call_command
            call_command("migrate", verbosity=0)
            found = {"warned": any(each.id == "ratewindow.W022" for each in run_checks(databases=["default"]))}
            try:
                call_command("ratewindow", "clean")
            except CommandError as error:
                found["refused"] = "Another site uses the key prefix" in str(error)
            print(json.dumps(found))
            """
        )
        found: dict[str, Any] = json.loads(told.splitlines()[-1])
        return found


ALONE = {"warned": False}


def assert_apart(production: Site, staging: Site, client: redis.Redis) -> None:
    production.live()
    assert production.look() == ALONE
    states = client.keys("rw:s:*")
    assert states
    assert staging.look() == {"warned": True, "refused": True}
    assert client.keys("rw:s:*") == states
    staging.live()
    assert production.look() == {"warned": True, "refused": True}


def test_files_of_one_name_in_two_folders(tmp_path: Path, redis_url: str, redis_client: redis.Redis) -> None:
    given = {"DJANGO_SETTINGS_MODULE": "testproject.settings", "TESTPROJECT_DATABASE": "db.sqlite3"}
    production, staging = (Site(tmp_path / name, redis_url, **given) for name in ("production", "staging"))
    assert_apart(production, staging, redis_client)


@pytest.fixture(scope="module")
def postgres_port() -> Iterator[int]:
    pytest.importorskip("psycopg")
    with server() as port:
        yield port


def on_postgres(folder: Path, redis_url: str, port: int) -> Site:
    given = {"DJANGO_SETTINGS_MODULE": "testproject.settings", "TESTPROJECT_DATABASE": url(port)}
    return Site(folder, redis_url, **given)


def test_databases_of_one_name_on_two_servers(
    tmp_path: Path, postgres_port: int, redis_url: str, redis_client: redis.Redis
) -> None:
    with server() as other_port:
        production, staging = (on_postgres(tmp_path, redis_url, port) for port in (postgres_port, other_port))
        assert_apart(production, staging, redis_client)


def test_one_database_behind_a_pool_and_without_it_is_one_site(
    tmp_path: Path, postgres_port: int, redis_url: str, redis_client: redis.Redis
) -> None:
    with pool_before(postgres_port) as pool_port:
        web, worker = (on_postgres(tmp_path, redis_url, port) for port in (pool_port, postgres_port))
        web.live()
        assert worker.look() == ALONE
        worker.live()
        assert worker.look() == web.look() == ALONE
        assert redis_client.hlen("rw:sites") == 2
