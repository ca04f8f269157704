"""The rows of OffenderStat as values of `who`: how they are read, and how they are set.

All rows of one rule and span of time are set together, and replaced only by those of a report that has seen more requests: what a
rule met only grows, so a smaller number means that Redis has lost counts, or that another collector has seen more. So
collecting twice, late, or at once with another collector ends with the same rows.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from ratewindow.models import OffenderStat
from ratewindow.models.batches import in_batches
from ratewindow.reporting import distinct
from ratewindow.reporting.stored import BATCH, Resolution
from ratewindow.reporting.who import NOBODY, Counted, Group, Known, Who

Kind = OffenderStat.Kind
EVERY_RULE = ""  # as `rule`, the names of all rules together, of a day that is over
Key = tuple[datetime, str]  # start and rule

_COLUMNS = ("start", "rule", "kind", "value", "refused", "would_refuse", "met", "signed_in", "network", "distinct")


def read(rows: "QuerySet[OffenderStat]") -> dict[Key, Who]:
    """The rows by start and rule."""
    totals: dict[Key, Who] = {}
    found: dict[Key, dict[str, tuple[dict[str, Known], list[Counted]]]] = {}
    for _, start, rule, kind, value, refused, would_refuse, met, signed_in, network, registers in in_batches(rows, *_COLUMNS):
        counted = Counted(refused, would_refuse, met)
        if kind == Kind.ALL:
            totals[start, rule] = Who(counted, {}, *registers_of(registers))
            continue
        named, bounds = found.setdefault((start, rule), {}).setdefault(kind, ({}, []))
        if value:
            named[value] = Known(counted, signed_in, network)
        else:
            bounds.append(counted)
    return {
        key: total._replace(groups={kind: Group(named, Counted.largest(bounds)) for kind, (named, bounds) in groups.items()})
        for key, total in totals.items()
        for groups in [found.get(key, {})]
    }


def set_rows(resolution: Resolution, wanted: Mapping[Key, Who]) -> int:
    """Set the rows of all that has seen more requests than the rows have; return of how many rules and spans."""
    wanted = {key: wanted[key] for key in sorted(wanted) if wanted[key].total.met}
    if not wanted:
        return 0
    heads = OffenderStat.objects.filter(resolution=resolution, kind=Kind.ALL, start__in={start for start, _ in wanted})
    with transaction.atomic():
        # Writing first takes SQLite's only lock before reading; other databases lock the rows, always in the same order.
        OffenderStat.objects.bulk_create(
            [OffenderStat(resolution=resolution, start=start, rule=rule, kind=Kind.ALL) for start, rule in wanted],
            BATCH,
            ignore_conflicts=True,
        )
        raised = []
        for head in heads.select_for_update().order_by("start", "rule"):
            news = wanted.get((head.start, head.rule), NOBODY)
            if news.total.met > head.met:
                head.refused, head.would_refuse, head.met = news.total
                head.distinct = {"refused": news.refused, "would_refuse": news.would_refuse}
                raised.append(head)
        if raised:
            _delete_named(resolution, [(head.start, head.rule) for head in raised])
            named = [row for head in raised for row in _rows(head, wanted[head.start, head.rule])]
            OffenderStat.objects.bulk_create(named, BATCH, ignore_conflicts=True)  # two names, where case makes no difference
            OffenderStat.objects.bulk_update(raised, ["refused", "would_refuse", "met", "distinct"], BATCH)
    return len(raised)


def _delete_named(resolution: Resolution, keys: Iterable[Key]) -> None:
    by_start: dict[datetime, list[str]] = {}
    for start, rule in keys:
        by_start.setdefault(start, []).append(rule)
    for start, rules in by_start.items():
        OffenderStat.objects.filter(resolution=resolution, start=start, rule__in=rules).exclude(kind=Kind.ALL).delete()


def _rows(head: OffenderStat, found: Who) -> Iterator[OffenderStat]:
    for kind, group in found.groups.items():
        bounds = {"": Known(group.bound)} if any(group.bound) else {}
        for value, known in {**bounds, **group.named}.items():
            refused, would_refuse, met = known.counted
            yield OffenderStat(
                rule=head.rule,
                resolution=head.resolution,
                start=head.start,
                kind=kind,
                value=value,
                refused=refused,
                would_refuse=would_refuse,
                met=met,
                signed_in=known.signed_in,
                network=known.network,
            )


def registers_of(value: Any) -> tuple[str, str]:
    """Those of a row, which may have any JSON, since people can edit rows."""
    found = value if isinstance(value, dict) else {}
    refused, would_refuse = (found.get(name, "") for name in ("refused", "would_refuse"))
    return refused if distinct.is_registers(refused) else "", would_refuse if distinct.is_registers(would_refuse) else ""
