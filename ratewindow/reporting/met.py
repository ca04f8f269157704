"""Which rules were met since a time: by the rows of days, and by the minutes in Redis that are not collected yet."""

import time
from dataclasses import dataclass
from datetime import datetime

import redis
from django.db.models import Min, Q

from ratewindow.models import ThrottleStat
from ratewindow.reporting.report import waiting_counts
from ratewindow.reporting.stored import Resolution, span_start


@dataclass(frozen=True)
class Met:
    """The names of the rules that were met, and since when that is known; None if nothing was ever counted."""

    names: frozenset[str]
    since: datetime | None


def met_since(start: datetime, ask_redis: bool = True) -> Met:
    days = ThrottleStat.objects.filter(resolution=Resolution.DAY, start__gte=span_start(start, Resolution.DAY))
    some = Q(passed__gt=0) | Q(refused__gt=0) | Q(other__gt=0)
    names = set(days.filter(some).order_by().values_list("rule", flat=True).distinct())
    first = ThrottleStat.objects.filter(resolution=Resolution.DAY).aggregate(first=Min("start"))["first"]
    try:
        fresh = [(moment, rule) for (moment, rule), sums in waiting_counts(time.time()).items() if sums.met] if ask_redis else []
    except (redis.RedisError, OSError):
        fresh = []
    firsts = [moment for moment in (first, *(moment for moment, _ in fresh)) if moment is not None]
    return Met(frozenset(names.union(rule for _, rule in fresh)), max(start, min(firsts)) if firsts else None)
