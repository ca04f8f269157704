"""Reading a report of a year: all that the page shows of fifty rules, and of one of them."""

import time
from collections.abc import Callable
from statistics import median

from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmarks import year_of_counts
from benchmarks.tables import Section
from ratewindow.conf import time_zone
from ratewindow.models import OffenderStat, ThrottleStat
from ratewindow.report.reading import read
from ratewindow.report.report import last

RULES, TIMES, AIM_MS = 50, 7, 300


def measure() -> Section:
    year_of_counts.make(RULES, time_zone.now())
    try:
        rows = ThrottleStat.objects.count() + OffenderStat.objects.count()
        lines = [_line(f"all {RULES} rules", ""), _line("one rule", "rule-7")]
    finally:
        for model in (ThrottleStat, OffenderStat):
            model.objects.all().delete()
    table = "\n".join(["| report of a year | ms | queries |", "|---|---|---|", *lines])
    return Section(
        "Reading a report of a year",
        f"What the report page reads, from {rows:,} rows in SQLite. Milliseconds "
        f"of processor time, the median of {TIMES}; the aim is {AIM_MS}. The number of queries is the same for any number of "
        f"rules.\n\n{table}",
    )


def _line(name: str, rule: str) -> str:
    with CaptureQueriesContext(connection) as queries:
        _read(rule)
    return f"| {name} | {median(_ms(lambda: _read(rule)) for _ in range(TIMES)):.0f} | {len(queries)} |"


def _read(rule: str) -> None:
    now = time_zone.now()
    found = read(last("1y", now), rule, now, most=40).report
    assert found.total.met == sum(sums.met for sums in found.steps.values()) and found.tallies.reasons


def _ms(read: Callable[[], None]) -> float:
    started = time.process_time()
    read()
    return 1000 * (time.process_time() - started)
