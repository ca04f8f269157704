"""Penalties become text, and durations again where a site goes back."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from ratewindow.models import RateRule

BEFORE, AFTER = "0002_used", "0003_limits"

pytestmark = pytest.mark.django_db(transaction=True)


def migrated(name: str) -> Any:
    """The model of rules after this migration, to which the database has been brought."""
    executor = MigrationExecutor(connection)
    executor.migrate([("ratewindow", name)])
    return executor.loader.project_state([("ratewindow", name)]).apps.get_model("ratewindow", "RateRule")


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes("ratewindow"))


def test_every_penalty_is_kept_and_of_a_list_the_first_when_a_site_goes_back() -> None:
    rules = migrated(BEFORE)
    for number, penalty in enumerate([None, timedelta(minutes=15), timedelta(days=40, milliseconds=1)]):
        rules.objects.create(name=f"r{number}", penalty=penalty)
    migrated(AFTER)
    assert [*RateRule.objects.values_list("penalty", "forgive")] == [(None, False), ("15m", False), ("5w5d1ms", False)]
    RateRule.objects.filter(name="r0").update(penalty="90s; 5m")
    told = migrated(BEFORE).objects.values_list("penalty", flat=True)
    assert [*told] == [timedelta(seconds=90), timedelta(minutes=15), timedelta(days=40, milliseconds=1)]


def test_what_only_raw_sql_can_have_written_stops_no_migration() -> None:
    rules = migrated(BEFORE)
    for name, microseconds in {"a": 0, "b": -1000, "c": 1500}.items():
        rules.objects.create(name=name)
        with connection.cursor() as cursor:
            value = timedelta(microseconds=microseconds) if connection.vendor == "postgresql" else microseconds
            cursor.execute("UPDATE ratewindow_raterule SET penalty = %s WHERE name = %s", [value, name])
    migrated(AFTER)
    assert [*RateRule.objects.values_list("penalty", flat=True)] == [None, None, "1ms"]


def test_a_data_migration_before_it_defines_rules_as_ever() -> None:
    rules = migrated(BEFORE)
    rules.objects.define("login", "5/m", path="/login/", penalty="15m")
    migrated(AFTER)
    assert RateRule.objects.get().penalty == "15m"
