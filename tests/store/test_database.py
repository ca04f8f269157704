"""One address for each database, however its settings spell it."""

import os
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from ratewindow.models import RateRule
from ratewindow.store import database, state_keys

POSTGRES = {"ENGINE": "django.db.backends.postgresql", "HOST": "db.internal", "PORT": "", "NAME": "shop", "OPTIONS": {}}
LIBPQ = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGOPTIONS", "PGSERVICE")
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

    for name in (*LIBPQ, "PGSERVICEFILE", "PGSYSCONFDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/nowhere")
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


SERVICE: dict[str, Any] = {"HOST": "", "NAME": "", "OPTIONS": {"service": "s1"}}
SERVICES = "# ours\n[other]\nhost=db.other\n[s1]\n  host=db.internal\n  port=5433\n  dbname=shop%s\n  password=%(x)\n"


@pytest.fixture(params=["PGSERVICEFILE", "HOME", "PGSYSCONFDIR", "servicefile"])
def write_services(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes a file of services where libpq finds it; returns the settings of a database that names one."""

    def write(text: str) -> dict[str, Any]:
        path = tmp_path / {"HOME": ".pg_service.conf"}.get(request.param, "pg_service.conf")
        path.write_text(text)
        if request.param == "servicefile":
            return {**SERVICE, "OPTIONS": {"service": "s1", "servicefile": str(path)}}
        monkeypatch.setenv(request.param, str(path if request.param == "PGSERVICEFILE" else tmp_path))
        return SERVICE

    return write


@pytest.mark.parametrize("other", ["host=db.staging", "hostaddr=10.0.0.7", "port=5434", "dbname=x", "options=-c search_path=x"])
def test_a_service_of_postgresql_is_where_its_file_says(address_of: Any, write_services: Any, other: str) -> None:
    plain = "[s1]\nhost=db.internal\n"
    here = address_of(POSTGRES, **write_services(plain))
    assert here == address_of(POSTGRES, NAME="", OPTIONS={"service": "s1"})
    assert address_of(POSTGRES, **write_services(f"[s1]\n{other}\n")) != here
    assert address_of(POSTGRES, **write_services(f"[x]\n{other}\n{plain}[y]\n{other}\n")) == here


def test_the_settings_come_before_the_service_and_the_service_before_the_environment(
    address_of: Any, write_services: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = write_services(SERVICES)["OPTIONS"]
    there = {"HOST": "db.internal", "PORT": 5433, "NAME": "shop%s", "OPTIONS": options}
    assert address_of(POSTGRES, **there) == address_of(POSTGRES, HOST="", NAME="", OPTIONS=options)
    monkeypatch.setenv("PGHOST", "db.elsewhere")
    monkeypatch.setenv("PGDATABASE", "elsewhere")
    assert address_of(POSTGRES, **there) == address_of(POSTGRES, HOST="", NAME="", OPTIONS=options)
    first = {"HOST": "db.first", "PORT": "1", "NAME": "first", "OPTIONS": options}
    assert address_of(POSTGRES, **first).startswith("postgresql db.first 1 first ")
    by_options = {"HOST": "", "NAME": "", "OPTIONS": {**options, "host": "db.first", "port": 1, "dbname": "first"}}
    assert address_of(POSTGRES, **by_options) == address_of(POSTGRES, **first)


def test_the_environment_names_the_service_where_the_settings_do_not(
    address_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "services").write_text(SERVICES)
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    named = address_of(POSTGRES, **SERVICE)
    monkeypatch.setenv("PGSERVICE", "s1")
    assert address_of(POSTGRES, HOST="", NAME="") == named
    assert address_of(MYSQL, HOST="") == address_of(MYSQL, HOST="localhost")


@pytest.mark.parametrize(
    "text", ["", "host=db.internal\n", "[s1", "[other]\nhost=x\n", "\0", "[s1]\nldap://x/y?z\n[S1]\nhost=x\n"]
)
def test_a_file_of_services_that_says_nothing_leaves_the_name(address_of: Any, write_services: Any, text: str) -> None:
    assert address_of(POSTGRES, **write_services(text)) == "postgresql localhost 5432  service=s1"


def test_a_file_of_services_that_cannot_be_read_leaves_the_name(
    address_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "binary").write_bytes(b"[s1]\nhost=\xff\n")
    for path in (tmp_path, tmp_path / "none", tmp_path / "binary"):
        monkeypatch.setenv("PGSERVICEFILE", str(path))
        assert address_of(POSTGRES, **SERVICE) == "postgresql localhost 5432  service=s1"


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
