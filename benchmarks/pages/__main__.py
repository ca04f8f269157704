"""``python -m benchmarks.pages``: how long the admin's pages take on a large site, beside Django's plain lists of the same rows.

On a file of SQLite, or with ``--postgres`` on PostgreSQL. Filling takes a minute or two.
"""

import argparse
import contextlib
import os
import statistics
import tempfile
import time
from datetime import UTC, datetime

import django
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import Client

from benchmarks.machine import described
from benchmarks.tables import table
from testproject.databases import database
from testproject.redis_server import redis_server
from tests.support import postgres

ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--postgres", action="store_true", help="fill and time PostgreSQL, which must be installed")
    asked = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if asked.postgres:
            place = postgres.url(stack.enter_context(postgres.server()))
        else:
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="ratewindow-pages-")) + "/db.sqlite3"
        os.environ["RATEWINDOW_REDIS_URL"] = stack.enter_context(redis_server())
        os.environ["DJANGO_SETTINGS_MODULE"] = "testproject.settings"
        settings.DATABASES = {"default": database(place)}
        settings.ROOT_URLCONF = "benchmarks.pages.visits"
        django.setup()
        stack.callback(connection.close)
        _measure()


def _measure() -> None:
    from benchmarks.pages import filling, visits

    call_command("migrate", verbosity=0)
    filling.fill(filling.LARGE, datetime.now(UTC))
    with connection.cursor() as cursor:  # what a server does by itself after a while
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")
    client = visits.visitor()
    asked = visits.queries(client, filling.LARGE.overrides)
    lines = []
    for name, (ours, theirs) in visits.addresses(filling.LARGE.overrides).items():
        plain = f"{_median_ms(client, theirs):.0f}" if theirs else ""
        lines.append((name, f"{_median_ms(client, ours):.0f}", plain, str(asked[name])))
    print(f"{described()}\n\n{connection.display_name}:\n")
    print(table([("page", "ms", "plain list, ms", "queries"), *lines]))


def _median_ms(client: Client, address: str) -> float:
    times = []
    for _ in range(ROUNDS):
        began_s = time.perf_counter()
        client.get(address)
        times.append(1000 * (time.perf_counter() - began_s))
    return statistics.median(times)


if __name__ == "__main__":
    main()
