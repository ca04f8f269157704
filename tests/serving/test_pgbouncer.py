"""PostgreSQL behind pgbouncer in transaction mode: rules, edits, all pages, commands and tasks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.edits import editing
from tests.serving.servers import Place, new_address, place, until
from tests.support import programs
from tests.support.postgres import pooled, url

pytestmark = pytest.mark.slow

BLOCKS = 1500  # of fewer all are read by one query


@pytest.fixture(scope="module")
def site(site_database: Path) -> Iterator[Place]:
    """A place whose servers and programs use the pooled database, with rules, and many blocks."""
    pytest.importorskip("psycopg")
    with pooled() as port, place(site_database) as made, pytest.MonkeyPatch.context() as patch:
        environment = made.environment

        def pooled_environment(**more: str) -> dict[str, str]:
            return environment(**more) | {"TESTPROJECT_DATABASE": url(port)}

        patch.setattr(made, "environment", pooled_environment)
        run(made, "from tests.serving.site import prepare; prepare.main()")
        run(
            made,
            f"""
            from django.contrib.auth.models import Group, User
            from ratewindow.models import Override
            Override.objects.bulk_create(
                Override(action="block", identity=f"ip:198.18.{{number // 256}}.{{number % 256}}") for number in range({BLOCKS})
            )
            Group.objects.create(name="crew").user_set.add(*User.objects.all())
            Override.objects.allow("group:crew", rule="each")
            """,
        )
        yield made


def run(site: Place, program: str) -> str:
    return programs.run(program, site.environment())


def test_processes_that_start_hold_rules_and_blocks_and_hear_of_edits(site: Place) -> None:
    served = site.serve("sync")
    assert served.statuses("/login/", 3) == [200, 200, 429]
    assert served.get("/login/", "198.18.5.219").status == 429  # the last of the blocks
    with editing(site) as editor:
        editor.edit("save", "login", 4)
        until(lambda: all(answer.json()["limits"]["login"] == [4] for answer in served.workers().values()), "an edit did not act")
    assert served.statuses("/login/", 5, new_address()) == [200] * 4 + [429]
    assert "cannot be read" not in served.said()
    served.end()


def test_all_pages_work(site: Place) -> None:
    assert set(programs.statuses(run(site, programs.PAGES)).values()) == {"200"}


def test_a_report_of_a_year_takes_as_many_queries_for_many_rules_as_for_few(site: Place) -> None:
    program = """
        from django.contrib.auth import get_user_model
        from django.db import connection
        from django.test import Client
        from django.test.utils import CaptureQueriesContext
        from django.urls import reverse
        from django.utils import timezone
        from benchmarks import year_of_counts
        client = Client(SERVER_NAME="localhost")
        client.force_login(get_user_model().objects.get(username="admin"))
        year = reverse("admin:ratewindow_report") + "?period=1y"
        for first, rules in ((0, 2), (2, 8)):
            year_of_counts.make(rules, timezone.now(), days=20, first=first)
            client.get(year)
            with CaptureQueriesContext(connection) as queries:
                page = client.get(year)
            assert page.status_code == 200 and f"rule-{first}" in page.content.decode()
            print("queries", len(queries))
    """
    counted = [line for line in run(site, program).splitlines() if line.startswith("queries")]
    assert len(counted) == 2 and counted[0] == counted[1]


def test_all_commands_and_tasks_work(site: Place) -> None:
    told = run(site, programs.COMMANDS)
    assert f"blocks {BLOCKS + 1}" in told and "rows 3" in told
