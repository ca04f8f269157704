"""One address for each database, however its settings spell it."""

import os
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from ratewindow.models import RateRule
from ratewindow.store import database, state_keys

POSTGRES = {"ENGINE": "django.db.backends.postgresql", "HOST": "db.internal", "PORT": "", "NAME": "shop", "OPTIONS": {}}
MYSQL = {**POSTGRES, "ENGINE": "django.db.backends.mysql"}
SQLITE = {**POSTGRES, "ENGINE": "django.db.backends.sqlite3", "HOST": ""}


class Wrapper:
    """What of a connection is asked: the driver need not be installed."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings_dict = settings
        self.vendor = settings["ENGINE"].rpartition(".")[2].removesuffix("3").removesuffix("_backend")


@pytest.fixture
def address_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    def address_of(settings: dict[str, Any], **other: Any) -> str:
        monkeypatch.setattr(database, "held", lambda: Wrapper({**settings, **other}))
        return database.address()

    for name in ("PGHOST", "PGPORT"):
        monkeypatch.delenv(name, raising=False)
    return address_of


@pytest.mark.parametrize(
    "other",
    [
        {"ENGINE": "django_prometheus.db.backends.postgresql"},
        {"ENGINE": "django_tenants.postgresql_backend"},
        {"HOST": "DB.Internal."},
        {"PORT": 5432},
        {"PORT": "5432"},
        {"HOST": "", "OPTIONS": {"host": "db.internal", "port": 5432}},
        {"NAME": "", "OPTIONS": {"dbname": "shop"}},
        {"USER": "worker", "PASSWORD": "x", "CONN_MAX_AGE": 60, "TIME_ZONE": "UTC"},
        {"OPTIONS": {"sslmode": "require", "connect_timeout": 3, "pool": True, "options": "-c statement_timeout=30000"}},
    ],
    ids=str,
)
def test_a_database_has_one_address_whoever_connects_and_how(address_of: Any, other: dict[str, Any]) -> None:
    assert address_of(POSTGRES, **other) == address_of(POSTGRES)


@pytest.mark.parametrize("host", ["", "localhost", "LOCALHOST", "127.0.0.1", "127.0.1.1", "::1", "[::1]", "0:0:0:0:0:0:0:1"])
def test_this_machine_is_one_host(address_of: Any, host: str) -> None:
    assert address_of(POSTGRES, HOST=host) == address_of(POSTGRES, HOST="localhost")


@pytest.mark.parametrize(
    "other",
    [
        {"ENGINE": "django.db.backends.mysql"},
        {"HOST": "db.staging"},
        {"HOST": "10.0.0.7"},
        {"HOST": "db.internal,db2.internal"},
        {"HOST": "/srv/staging/socket"},
        {"PORT": 5433},
        {"NAME": "SHOP"},
        {"OPTIONS": {"hostaddr": "10.0.0.7"}},
        {"HOST": "", "OPTIONS": {"service": "staging"}},
        {"OPTIONS": {"options": "-c search_path=staging,public"}},
    ],
    ids=str,
)
def test_another_engine_server_name_or_schema_is_another_address(address_of: Any, other: dict[str, Any]) -> None:
    assert address_of(POSTGRES, **other) != address_of(POSTGRES)


def test_two_services_files_and_sockets_are_two_addresses(address_of: Any) -> None:
    for name in ("service", "read_default_file", "unix_socket", "dsn"):
        one, two = ({"HOST": "", "NAME": "", "OPTIONS": {name: each}} for each in ("/one", "/two"))
        assert address_of(MYSQL, **one) != address_of(MYSQL, **two)


def test_the_environment_names_the_server_of_postgresql_where_the_settings_do_not(
    address_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGHOST", "db.staging")
    assert address_of(POSTGRES, HOST="") == address_of(POSTGRES, HOST="db.staging")
    assert address_of(MYSQL, HOST="") == address_of(MYSQL, HOST="localhost")


def test_a_file_is_the_same_by_every_path_and_another_one_in_another_folder(
    address_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("production", "staging"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "db.sqlite3").touch()
    (tmp_path / "current").symlink_to(tmp_path / "production")
    monkeypatch.chdir(tmp_path / "production")
    whole = address_of(SQLITE, NAME=tmp_path / "production" / "db.sqlite3")
    for name in (
        "db.sqlite3",
        "./db.sqlite3",
        "../current/db.sqlite3",
        "file:db.sqlite3?mode=rw",
        f"file://{os.getcwd()}/db.sqlite3",
    ):
        assert address_of(SQLITE, NAME=name) == whole
    monkeypatch.chdir(tmp_path / "staging")
    assert address_of(SQLITE, NAME="db.sqlite3") != whole


def test_the_router_says_which_database_by_where_it_writes_to(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Router:
        def db_for_read(self, model: type, **hints: Any) -> str:
            pytest.fail("it may choose another replica each time")

        def db_for_write(self, model: type, **hints: Any) -> str:
            assert model is RateRule
            return "limits"

    before = state_keys.fingerprint()
    settings.DATABASE_ROUTERS = [Router()]
    monkeypatch.setitem(connections.settings, "limits", {**connections.settings["default"], "NAME": "/srv/limits.sqlite3"})
    assert database.address() == "sqlite /srv/limits.sqlite3"
    assert state_keys.fingerprint() != before
