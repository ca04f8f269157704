"""How many queries the pages of the admin take, of some rows and of many."""

from collections.abc import Mapping
from datetime import UTC, datetime

import time_machine
from django.db import transaction
from django.test import override_settings

from benchmarks.pages import filling, visits
from benchmarks.pages.filling import Size
from ratewindow.contrib.history.models import Edit
from ratewindow.models import OffenderStat, Override, RateRule, ThrottleStat

# The report compares 30 days with those before, and reads a week in hours: both know as many of these.
SOME = Size(rules=110, busy=8, overrides=2200, minutes=30, hours=200, days=70)
MANY = Size(rules=220, busy=16, overrides=4400, minutes=60, hours=200, days=140)
# One moment for both: if an hour ended between them, their reports would read other spans.
NOW = datetime(2026, 11, 18, 12, 30, 30, tzinfo=UTC)


def by_size() -> list[Mapping[str, int]]:
    """By page, first of `SOME` rows, then of `MANY`; the rows are left as they were."""
    with override_settings(ROOT_URLCONF="benchmarks.pages.visits"):
        return [_of(size) for size in (SOME, MANY)]


class _Undone(Exception):
    pass


@time_machine.travel(NOW, tick=False)
def _of(size: Size) -> Mapping[str, int]:
    found: Mapping[str, int] = {}
    try:
        with transaction.atomic():
            for model in (RateRule, Override, Edit, ThrottleStat, OffenderStat):
                model._base_manager.get_queryset()._raw_delete(using="default")
            filling.fill(size, NOW)
            found = visits.queries(visits.visitor(), size.overrides)
            raise _Undone
    except _Undone:
        return found
