"""The rows of a site: rules, blocks with their history, and statistics as long as they are kept."""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Model

from benchmarks.overrides import action, subject
from ratewindow.contrib.history.models import Edit
from ratewindow.models import OffenderStat, Override, RateRule, RuleWindow, ThrottleStat

REASONS = ("scraping", "password guessing", "asked by support", "spam in comments", "a partner")
STAFF = 20
FOR_A_RULE = 20  # one of so many overrides


class Size(NamedTuple):
    """How many rows there are; `busy` rules have counts of every minute and hour, all rules of each day before these."""

    rules: int
    busy: int
    overrides: int
    minutes: int
    hours: int
    days: int


LARGE = Size(rules=1000, busy=50, overrides=1_000_000, minutes=2880, hours=1440, days=365)


def fill(size: Size, now: datetime) -> None:
    """Fill the tables, which are empty."""
    with transaction.atomic():
        _rules(size)
        _store(Override, _overrides(size, now))
        _store(Edit, _edits(size, now))
        _store(ThrottleStat, _stats(size, now))
        _store(OffenderStat, _offenders(size, now))


def rule(number: int) -> str:
    return f"rule-{number:04}"


def _rules(size: Size) -> None:
    modes = ("enforce", "shadow", "off")
    rules = (
        RateRule(name=rule(n), mode=modes[n % 3], applies_to="prefix", pattern=f"/part-{n}/", key="ip") for n in range(size.rules)
    )
    made = RateRule.objects.bulk_create(rules)
    RuleWindow.objects.bulk_create(
        RuleWindow(rule=each, limit=100, period=period) for each in made for period in (timedelta(minutes=1), timedelta(hours=1))
    )


def _overrides(size: Size, now: datetime) -> Iterator[dict[str, Any]]:
    """Of eight, three have ended, two will end, one has yet to begin, and two have no end."""
    for n in range(size.overrides):
        spread = timedelta(seconds=n * 31)
        starts_at = expires_at = None
        if n % 8 < 3:
            expires_at = now - timedelta(seconds=1) - spread / 4
        elif n % 8 < 5:
            expires_at = now + timedelta(days=1) + spread
        elif n % 8 == 5:
            starts_at = now + timedelta(days=1) + spread
        made = now - timedelta(seconds=30 * (size.overrides - n))
        yield {
            "action": action(n),
            "identity": subject(n),
            "rule": "" if n % FOR_A_RULE else rule(n // FOR_A_RULE % size.rules),
            "rate": "",
            "starts_at": starts_at,
            "expires_at": expires_at,
            "reason": REASONS[n % len(REASONS)],
            "source": "admin",
            "created_at": made,
        }


def _edits(size: Size, now: datetime) -> Iterator[dict[str, Any]]:
    """That of each override, and for each override of a rule one of that rule."""
    for n in range(size.overrides):
        by, reason = f"staff-{n % STAFF}", REASONS[n % len(REASONS)]
        known = {"at": now - timedelta(seconds=30 * (size.overrides - n)), "by": by, "way": "admin", "reason": reason}
        after = json.dumps({"action": action(n), "identity": subject(n), "reason": reason})
        yield {**known, "kind": "override", "subject": str(n), "action": "added", "before": None, "after": after}
        if n % FOR_A_RULE == 0:
            name = rule(n // FOR_A_RULE % size.rules)
            before, after = (json.dumps({"name": name, "mode": mode}) for mode in ("shadow", "enforce"))
            yield {**known, "kind": "rule", "subject": name, "action": "changed", "before": before, "after": after}


def _spans(size: Size, now: datetime) -> Iterator[tuple[str, datetime, int, range]]:
    """Resolution, start, length in minutes, and the numbers of the rules that have counts of it."""
    for resolution, minutes, count in (("minute", 1, size.minutes), ("hour", 60, size.hours), ("day", 1440, size.days)):
        last = int(now.timestamp()) // (60 * minutes) * 60 * minutes
        for ago in range(count):
            everybody = resolution == "day" and 24 * ago >= size.hours
            start = datetime.fromtimestamp(last - ago * 60 * minutes, UTC)
            yield resolution, start, minutes, range(size.rules if everybody else size.busy)


def _stats(size: Size, now: datetime) -> Iterator[dict[str, Any]]:
    for resolution, start, minutes, rules in _spans(size, now):
        for n in rules:
            yield {"rule": rule(n), "resolution": resolution, "start": start, **_counts(minutes, [n])}


def _counts(minutes: int, numbers: Sequence[int]) -> dict[str, Any]:
    """Of the rules with these numbers together: hours and days are the sums of their minutes."""
    each, refused = minutes * len(numbers), minutes * sum(n % 30 for n in numbers)
    counts = {"passed": 90 * each, "refused": refused, "other": 0, "would_refuse": 0, "fallback": 0, "near": 5 * each}
    reasons, latency = {"limit": refused} if refused else {}, {"0.181": 50 * each, "0.256": 40 * each}
    return {**counts, "reasons": json.dumps(reasons), "latency": json.dumps(latency)}


def _offenders(size: Size, now: datetime) -> Iterator[dict[str, Any]]:
    """Of each busy rule, as in calm times: all, two clients and a network."""
    kinds = (("all", ""), ("client", "user:{}"), ("client", "ip:203.0.113.{}"), ("network", "ip:198.51.{}.0/24"))
    for resolution, start, *_ in _spans(size, now):
        rules = [(rule(n), n) for n in range(size.busy)]
        for name, n in rules:
            for kind, value in kinds:
                counted = {"refused": n % 30, "would_refuse": 0, "met": 95 + n % 30 if kind == "all" else 0}
                row = {"rule": name, "resolution": resolution, "start": start, "kind": kind, **counted}
                yield {**row, "value": value.format((n + start.day) % 250), "distinct": "{}"}


def _store(model: type[Model], rows: Iterable[dict[str, Any]]) -> None:
    """Without the ORM, which would take minutes."""
    rows = iter(rows)
    first = next(rows)
    columns, table = ", ".join(f'"{name}"' for name in first), model._meta.db_table
    values = (tuple(row.values()) for row in chain([first], rows))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f'COPY "{table}" ({columns}) FROM STDIN') as copy:
                for each in values:
                    copy.write_row(each)
        else:
            marks = ", ".join("?" * len(first))
            cursor.connection.executemany(f'INSERT INTO "{table}" ({columns}) VALUES ({marks})', map(_as_text, values))


def _as_text(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Times as SQLite has them."""
    return tuple(each.strftime("%Y-%m-%d %H:%M:%S.%f") if isinstance(each, datetime) else each for each in values)
