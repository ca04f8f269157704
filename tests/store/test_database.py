"""One fingerprint for each database."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from ratewindow.models import RateRule
from ratewindow.store import shared_prefix

POSTGRES = {"ENGINE": "django.db.backends.postgresql", "HOST": "db.internal", "PORT": "", "NAME": "shop", "OPTIONS": {}}
SQLITE = {**POSTGRES, "ENGINE": "django.db.backends.sqlite3", "HOST": ""}


class Wrapper:
    """What of a connection is asked: the driver need not be installed."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings_dict = settings
        self.vendor = settings["ENGINE"].rpartition(".")[2].removesuffix("3").removesuffix("_backend")


@pytest.fixture
def fingerprint_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    def fingerprint_of(settings: dict[str, Any], **other: Any) -> str:
        monkeypatch.setattr(shared_prefix, "database", lambda: Wrapper({**settings, **other}))
        return shared_prefix.fingerprint()

    return fingerprint_of


def test_a_database_has_one_fingerprint_whoever_connects(fingerprint_of: Any) -> None:
    worker = {"USER": "worker", "PASSWORD": "x", "CONN_MAX_AGE": 60, "OPTIONS": {"sslmode": "require"}}
    assert fingerprint_of(POSTGRES, **worker) == fingerprint_of(POSTGRES)


@pytest.mark.parametrize(
    "other", [{"ENGINE": "django.db.backends.mysql"}, {"HOST": "db.staging"}, {"PORT": 5433}, {"NAME": "SHOP"}], ids=str
)
def test_another_engine_server_or_name_is_another_fingerprint(fingerprint_of: Any, other: dict[str, Any]) -> None:
    assert fingerprint_of(POSTGRES, **other) != fingerprint_of(POSTGRES)


def test_a_file_is_the_same_by_every_path_and_another_one_in_another_folder(
    fingerprint_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("production", "staging"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "db.sqlite3").touch()
    (tmp_path / "current").symlink_to(tmp_path / "production")
    monkeypatch.chdir(tmp_path / "production")
    whole = fingerprint_of(SQLITE, NAME=tmp_path / "production" / "db.sqlite3")
    for name in ("db.sqlite3", "./db.sqlite3", "../current/db.sqlite3"):
        assert fingerprint_of(SQLITE, NAME=name) == whole
    monkeypatch.chdir(tmp_path / "staging")
    assert fingerprint_of(SQLITE, NAME="db.sqlite3") != whole


def test_the_router_says_which_database_by_where_it_writes_to(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Router:
        def db_for_read(self, model: type, **hints: Any) -> str:
            pytest.fail("it may choose another replica each time")

        def db_for_write(self, model: type, **hints: Any) -> str:
            assert model is RateRule
            return "limits"

    before = shared_prefix.fingerprint()
    settings.DATABASE_ROUTERS = [Router()]
    monkeypatch.setitem(connections.settings, "limits", {**connections.settings["default"], "NAME": "/srv/limits.sqlite3"})
    assert shared_prefix.fingerprint() != before
