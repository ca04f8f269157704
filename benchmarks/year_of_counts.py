"""A year of collected statistics, of so many rules: the sums of each day, and who was refused."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import transaction

from ratewindow.counting.collecting import add_sums
from ratewindow.counting.sums import Sums
from ratewindow.models import OffenderStat
from ratewindow.models.stats import Resolution

CLIENTS, NETWORKS = 10, 3  # names of each day and rule
BATCH = 500
LATENCY = {"0.128": 5000, "0.181": 3000, "0.256": 900, "0.362": 100, "0.512": 50, "1.02": 9}


def make(rules: int, until: datetime, days: int = 365, first: int = 0) -> None:
    """Rows of days that end before `until`, the same in each run."""
    chance = random.Random(1)
    starts = [until.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=day) for day in range(1, days + 1)]
    names = [f"rule-{number}" for number in range(first, first + rules)]
    for start in starts:
        with transaction.atomic():
            add_sums(Resolution.DAY, {(start, name): _sums(chance) for name in names})
    OffenderStat.objects.bulk_create((row for start in starts for name in names for row in _who(start, name, chance)), BATCH)


def _sums(chance: random.Random) -> Sums:
    refused = chance.randrange(1, 500)
    return Sums(passed=9000, refused=refused, reasons={"limit": refused, "store:timeout": 3}, latency=LATENCY)


def _who(start: datetime, rule: str, chance: random.Random) -> Iterator[OffenderStat]:
    def row(kind: str, value: str) -> OffenderStat:
        refused = chance.randrange(1, 50)
        return OffenderStat(rule=rule, resolution="day", start=start, kind=kind, value=value, refused=refused, met=9 * refused)

    yield row("all", "")
    yield row("client", "")
    for number in range(CLIENTS):
        yield row("client", f"ip:10.{chance.randrange(200)}.{number}.1")
    yield from (row("network", f"ip:10.{start.day}.{number}.0/24") for number in range(NETWORKS))
