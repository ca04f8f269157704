"""PostgreSQL behind pgbouncer in transaction mode: rules, edits, all pages, commands and tasks."""

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.edits import editing
from tests.serving.servers import CHECKOUT, Place, new_address, place, until
from tests.support.postgres import pooled

pytestmark = pytest.mark.slow

BLOCKS = 1500  # of fewer all are read by one query


@pytest.fixture(scope="module")
def site(site_database: Path) -> Iterator[Place]:
    """A place whose servers and programs use the pooled database, with rules, and many blocks."""
    pytest.importorskip("psycopg")
    with pooled() as port, place(site_database) as made, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SERVED_POSTGRES_PORT", str(port))
        environment = made.environment

        def pooled_environment(**more: str) -> dict[str, str]:
            return environment(SERVED_POSTGRES_PORT=str(port), **more)

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
    code = f"import django; django.setup()\n{textwrap.dedent(program)}"
    command = [sys.executable, "-c", code]
    told = subprocess.run(command, cwd=CHECKOUT, env=site.environment(), capture_output=True, text=True, timeout=120)
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout + told.stderr


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
    program = """
        from django.contrib.auth import get_user_model
        from django.test import Client
        from django.urls import reverse
        from ratewindow.models import Override, RateRule
        client = Client(SERVER_NAME="localhost")
        client.force_login(get_user_model().objects.get(username="admin"))
        rule, block = RateRule.objects.get(name="login"), Override.objects.first()
        single = "report state switch override_release"
        pages = [reverse(f"admin:ratewindow_{name}") for name in single.split()]
        for name in "raterule override throttlestat".split():
            pages.append(reverse(f"admin:ratewindow_{name}_changelist"))
        for name in "raterule override".split():
            pages.append(reverse(f"admin:ratewindow_{name}_add"))
        pages += [reverse("admin:ratewindow_raterule_change", args=[rule.pk])]
        pages += [reverse("admin:ratewindow_override_change", args=[block.pk]), reverse("admin:index")]
        for page in pages:
            print(client.get(page).status_code, page)
    """
    assert {line.split()[0] for line in run(site, program).splitlines() if line[:3].isdigit()} == {"200"}


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
    program = """
        import time
        from django.core.management import call_command
        from ratewindow import tasks
        from ratewindow.limiter.types import RuleDecision
        from ratewindow.models import ThrottleStat
        from ratewindow.counting.counters import counters
        from ratewindow.rulebook import current, reading
        reading.reload()
        assert current.rulebook().overrides.count > 1500, reading.problem()
        counters.record([RuleDecision(rule="pooled")] * 3)
        counters.flush()
        for words in (
            "rules; mode login enforce; off --for 1m; on; collect; clean --dry-run; clean; block ip:203.0.113.77 --for 1h;"
            "allow user:1 --for 1h; release ip:203.0.113.77; export --format json"
        ).split(";"):
            call_command("ratewindow", *words.split())
        tasks.collect_stats()
        tasks.clean_orphans()
        call_command("ratewindow", "check")
        print("rows", ThrottleStat.objects.filter(rule="pooled", passed=3).count())
    """
    assert "rows 3" in run(site, program)
