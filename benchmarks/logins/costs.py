"""What a right login asks of Redis and the database: ``python -m benchmarks.logins.costs`` tells it behind one guard."""

import json
import logging
import os
import statistics
import time
from typing import NamedTuple

import django
import redis
from django.test import Client
from redis.client import Monitor

from benchmarks.logins.attacks import browser, known_device, log_in
from benchmarks.logins.children import told
from benchmarks.logins.rows import Count
from benchmarks.logins.site.names import OTHERS, VICTIM
from benchmarks.logins.ways import stranger
from benchmarks.tables import Row, Section
from testproject.redis_server import redis_server

LOGINS = 41
BEGINS, ENDS = "begins", "ends"  # marks among what the monitor tells
CALLS, QUERIES = 2, 1  # at most; of queries, more than without the room
ABOUT = f"""\
At Django's login view, in one process, with ratewindow's middleware in both: the medians of {LOGINS} logins. Calls are the
commands that Redis gets, by its MONITOR; times are those of as many more logins, unwatched. A stranger is a browser without a
cookie, at an address of its own. A hasher as a site has it adds some hundred milliseconds to both."""


def section() -> Section:
    seen = {}
    for guard in ("none", "ours"):
        with redis_server() as url:
            seen[guard] = told("costs", guard, LOGINS_REDIS=url)
    rows: list[Row] = []
    for who, (calls, queries, ms) in seen["ours"].items():
        calls_without, queries_without, ms_without = seen["none"][who]
        rows.append(_row(f"{who}: calls of Redis", calls_without, calls, CALLS))
        rows.append(_row(f"{who}: queries", queries_without, queries, queries_without + QUERIES))
        rows.append(Count(f"{who}: ms", (f"{ms_without:.1f}", f"{ms:.1f}")))
    return Section("What a right login costs", ABOUT, rows, ("", "without the room", "with it", "at most"))


def _row(name: str, without: float, with_it: float, at_most: float) -> Row:
    return Count(name, (f"{without:g}", f"{with_it:g}"), at_most, with_it)


def main() -> None:
    django.setup()
    logging.disable(logging.CRITICAL)
    from benchmarks.logins.site.accounts import make_site

    make_site([VICTIM, *OTHERS[: 2 * LOGINS]])
    device = known_device()
    visits = {
        "a stranger": _strangers(),
        "the same again, without a cookie": _strangers(),
        "a known device": [Visit(device, stranger(2 * LOGINS), VICTIM)] * 2 * LOGINS,
    }
    print(json.dumps({who: (*_asked(each[:LOGINS]), _ms(each[LOGINS:])) for who, each in visits.items()}))


class Visit(NamedTuple):
    visitor: Client
    address: str
    name: str

    def log_in(self) -> None:
        self.visitor.cookies.pop("sessionid", None)
        status = log_in(*self).status_code
        assert status == 302, f"a right login was answered with {status}"


def _strangers() -> list[Visit]:
    """Each another name, at an address of its own."""
    return [Visit(browser(), stranger(number), name) for number, name in enumerate(OTHERS[: 2 * LOGINS])]


def _asked(visits: list[Visit]) -> tuple[float, float]:
    """Calls of Redis and queries of a login."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    calls, queries = [], []
    with redis.Redis.from_url(os.environ["LOGINS_REDIS"]) as client, client.monitor() as monitor:
        for visit in visits:
            client.echo(BEGINS)
            with CaptureQueriesContext(connection) as captured:
                visit.log_in()
            client.echo(ENDS)
            calls.append(_calls(monitor))
            queries.append(len(captured))
    return statistics.median(calls), statistics.median(queries)


def _calls(monitor: Monitor) -> int:
    """How many commands came between the two marks; what a script does is part of the call that runs it."""
    commands: list[str] = []
    while not commands or commands[-1] != f"ECHO {ENDS}":
        heard = monitor.next_command()
        if heard["client_type"] != "lua":
            commands.append(heard["command"])
    return len(commands) - commands.index(f"ECHO {BEGINS}") - 2


def _ms(visits: list[Visit]) -> float:
    taken = []
    for visit in visits:
        began_s = time.perf_counter()
        visit.log_in()
        taken.append((time.perf_counter() - began_s) * 1000)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
