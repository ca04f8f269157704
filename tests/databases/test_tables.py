"""Migrations with rows in all tables, the admin's pages, commands, and what databases tell apart."""

import contextlib
from typing import Any

import pytest

from tests.databases.sites import Site
from tests.support import programs
from tests.support.made_offenders import refused, sent_who

pytestmark = pytest.mark.slow

# What the other tests try on SQLite, and `tests/serving/test_pgbouncer.py` on PostgreSQL.
on_mariadb = pytest.mark.parametrize("databases", ["mariadb"], indirect=True, scope="session")

COLLECTORS, ROUNDS, MINUTES = 4, 3, range(1, 40)


def test_tables_full_of_rows_go_back_to_every_migration_and_forward_again(new_site: Site) -> None:
    new_site.run(
        """
        from functools import partial
        from django.core.management import call_command
        from django.db import connection
        from ratewindow.models import RateRule
        from tests.databases.full_tables import fill
        migrate = partial(call_command, "migrate", verbosity=0)
        tables = lambda: {name for name in connection.introspection.table_names() if name.startswith("ratewindow")}
        migrate()
        made = tables()
        fill()
        for number in ("0002", "0001"):
            migrate("ratewindow", number)
        migrate()
        assert tables() == made
        rule = RateRule.objects.get()
        assert rule.penalty == "15m" and rule.windows.count() == 2 and "🎉" in rule.description
        for name in ("ratewindow", "ratewindow_alerts", "ratewindow_history"):
            migrate(name, "zero")
        assert tables() == set()
        migrate()
        assert tables() == made
        """
    )


@pytest.fixture(scope="module")
def site(databases: Any, redis_url: str) -> Site:
    """A site with rows in all tables, and an administrator."""
    made = Site(databases("shared"), redis_url)
    made.run(
        """
        from django.contrib.auth import get_user_model
        from django.core.management import call_command
        from tests.databases.full_tables import fill
        call_command("migrate", verbosity=0)
        fill()
        get_user_model().objects.create_superuser("admin")
        """
    )
    return made


@on_mariadb
def test_all_pages_work(site: Site) -> None:
    statuses = programs.statuses(site.run(programs.PAGES))
    assert len(statuses) > 10 and set(statuses.values()) == {"200"}


@on_mariadb
def test_all_commands_and_tasks_work(site: Site) -> None:
    told = site.run(programs.COMMANDS)
    assert "blocks 1" in told and "rows 3" in told


def test_values_that_differ_in_case_are_two_and_every_character_is_kept(site: Site) -> None:
    site.run(
        """
        from tests.databases.full_tables import PARTY, START
        from ratewindow.models import OffenderStat, Override, RateRule
        from ratewindow.operations import clients
        from ratewindow.overrides.subjects import as_subject
        of_login = {"rule": "names", "resolution": "hour", "start": START, "kind": "client"}
        rows = [OffenderStat(**of_login, value=f"header:x-who:{name}") for name in ("ANN", "ann", "änn", PARTY)]
        OffenderStat.objects.bulk_create(rows, ignore_conflicts=True)
        assert OffenderStat.objects.filter(rule="names").count() == 4
        Override.objects.block("header:x-who:bob")
        clients.release(as_subject("header:x-who:BOB"))
        assert Override.objects.get(identity="header:x-who:bob").state == "in force"
        assert not Override.objects.filter(identity="header:x-who:Bob").exists()
        assert RateRule.objects.get(name="login").description == PARTY
        """
    )


COLLECT = """
    import sys
    from ratewindow.counting.collecting import collect_stats
    from tests.support.made_counts import NOW_S
    print("ready", flush=True)
    for _ in sys.stdin:
        collect_stats(NOW_S)
        print("done", flush=True)
"""


def test_collectors_that_run_at_once_add_up_what_was_counted(site: Site) -> None:
    with contextlib.ExitStack() as stack:
        collectors = [stack.enter_context(programs.started(COLLECT, site.environment)) for _ in range(COLLECTORS)]
        for collector in collectors:
            assert collector.stdout.readline() == "ready\n", collector.stderr.read()
        for number in range(ROUNDS):
            for ago in MINUTES:
                sent_who(ago, {"sign-up": refused(a=2, b=1), "api": refused(c=1)}, f"p{number}")
            for collector in collectors:
                collector.stdin.write("collect\n")
                collector.stdin.flush()
            for collector in collectors:
                assert collector.stdout.readline() == "done\n", collector.stderr.read()
    told = site.run(
        """
        from django.db.models import Sum
        from ratewindow.models import OffenderStat, ThrottleStat
        for rows in (ThrottleStat.objects, OffenderStat.objects.filter(kind="all"), OffenderStat.objects.filter(kind="client")):
            for resolution in ("minute", "hour", "day"):
                found = rows.filter(resolution=resolution)
                print("counted", *(found.filter(rule=rule).aggregate(sum=Sum("refused"))["sum"] for rule in ("sign-up", "api")))
        """
    )
    times = ROUNDS * len(MINUTES)
    assert told.splitlines() == [f"counted {3 * times} {times}"] * 9
