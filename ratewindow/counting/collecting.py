"""Collect counts from Redis into rows, and read these. What a minute has more than its row is added to that row, its hour and its
day at once.

A row of OffenderStat of kind ``all`` is the head of all rows of its rule and span of time: whoever changes one of these has
locked it.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from django.db import OperationalError, transaction
from django.db.models import Manager, Q

from ratewindow import conf
from ratewindow.counting import minutes
from ratewindow.counting.sums import NOBODY, REFUSING, Counted, Group, Sums, Value, Who, added, is_registers, of_columns
from ratewindow.models import OffenderStat, ThrottleStat
from ratewindow.models.batches import in_batches
from ratewindow.models.stats import Resolution
from ratewindow.store import process_clients

QUIET_S = 600  # a minute that no process has sent to for so long is collected no more, unless one does
MINUTES_AT_ONCE = 30  # in one transaction, so that a long backlog is stored piece by piece
# Rows of minutes that may still be read from Redis are kept, whatever `RETENTION` says: they say what is stored already.
LEAST_KEPT = timedelta(minutes=minutes.MOST_MINUTES)
SPANS = {Resolution.MINUTE: timedelta(minutes=1), Resolution.HOUR: timedelta(hours=1), Resolution.DAY: timedelta(days=1)}
BATCH = 500
TRIES, REST_S = 5, 1.0  # of a transaction, and between the first two: each rest is twice as long

Key = tuple[datetime, str]  # start and rule
Row = TypeVar("Row", ThrottleStat, OffenderStat)
Kind = OffenderStat.Kind


def collect_stats(now_s: float | None = None) -> str:
    """Bring the rows up to date with Redis, and delete those that are older than ``RETENTION``; returns what was done.

    Minutes leave Redis last: the next run finishes one that was killed, and running twice, or two at once, changes nothing.
    """
    if process_clients.in_memory():
        return "nothing to collect: counts are in memory"
    now_s = time.time() if now_s is None else now_s
    waiting = minutes.waiting(now_s)
    rows_set = 0
    for first in range(0, len(waiting), MINUTES_AT_ONCE):
        chunk = waiting[first : first + MINUTES_AT_ONCE]
        store_who(by_start(minutes.read_who(chunk)))
        rows_set += store_sums(by_start(minutes.read(chunk)))
    minutes.settle(quiet_since_s=now_s - QUIET_S)
    return f"minutes read: {len(waiting)}, rows set: {rows_set}, old rows deleted: {_prune(now_s)}"


def by_start(counted: Mapping[int, Mapping[str, Value]]) -> dict[Key, Value]:
    """What was counted in minutes, which are numbered since the epoch, by their start."""
    return {(minute_start(minute), rule): value for minute, by_rule in counted.items() for rule, value in by_rule.items()}


def minute_start(minute: int) -> datetime:
    return datetime.fromtimestamp(minute * 60, UTC)


def span_start(moment: datetime, span: timedelta) -> datetime:
    """The start of the minute, hour or day of `moment`. Days are days in UTC, all of one length."""
    span_s = int(span.total_seconds())
    return datetime.fromtimestamp(int(moment.timestamp()) // span_s * span_s, UTC)


def store_sums(counted: Mapping[Key, Sums]) -> int:
    return _store(counted, ThrottleStat, read_sums, add_sums)


def store_who(counted: Mapping[Key, Who]) -> int:
    return _store(counted, OffenderStat, read_who, add_who, kind=Kind.ALL)


def _store(
    counted: Mapping[Key, Value],
    model: type[Row],
    read: Callable[[Q], dict[Key, Value]],
    add: Callable[[Resolution, Mapping[Key, Value]], int],
    tries: int = TRIES,
    **columns: Any,
) -> int:
    """Raise the rows of minutes to what was counted, and those of their hours and days by as much; return how many were raised.

    No row is lowered: counts only grow, so a smaller number means that Redis has lost counts, or that another collector has
    seen more.
    """
    counted = {key: value for key, value in counted.items() if value}
    if not counted:
        return 0
    try:
        with transaction.atomic():
            _locked_rows(model, Resolution.MINUTE, counted, **columns)
            known = read(of_keys(Resolution.MINUTE, counted))
            grown = {key: more for key, value in counted.items() if (more := value.beyond(known[key]))}
            return sum(add(resolution, added_up(grown, resolution)) for resolution in Resolution) if grown else 0
    except OperationalError:  # such as a deadlock, from which MySQL frees one of two collectors
        if tries == 1 or transaction.get_connection().in_atomic_block:
            raise
        time.sleep(REST_S * 2 ** (TRIES - tries))
    return _store(counted, model, read, add, tries - 1, **columns)


def added_up(values: Mapping[Key, Value], resolution: Resolution) -> dict[Key, Value]:
    """By the span of time that each minute is in."""
    return added(((span_start(start, SPANS[resolution]), rule), value) for (start, rule), value in values.items())


def of_keys(resolution: Resolution, keys: Iterable[Key]) -> Q:
    """The rows of these rules that begin at any of these times."""
    starts, rules = (sorted(set(each)) for each in zip(*keys, strict=True))
    return Q(resolution=resolution, start__in=starts, rule__in=rules)


def _locked_rows(model: type[Row], resolution: Resolution, keys: Collection[Key], **more: Any) -> list[Row]:
    """The rows of these rules and times, which are made if they are missing, locked until the transaction is over."""
    # Writing first takes SQLite's only lock before reading; other databases lock the rows. Sorted, so that two collectors wait
    # for each other instead of deadlocking, except on MySQL, which also locks what it inserts in vain.
    rows: Manager[Row] = model._default_manager
    new = [model(resolution=resolution, start=start, rule=rule, **more) for start, rule in sorted(keys)]
    rows.bulk_create(new, BATCH, ignore_conflicts=True)
    return list(rows.select_for_update().filter(of_keys(resolution, keys), **more).order_by("start", "rule"))


def read_sums(condition: Q) -> dict[Key, Sums]:
    """The sums of the rows of ThrottleStat."""
    rows = in_batches(ThrottleStat.objects.filter(condition), "start", "rule", *Sums._fields)
    return {(start, rule): of_columns(dict(zip(Sums._fields, columns, strict=True))) for _, start, rule, *columns in rows}


def add_sums(resolution: Resolution, parts: Mapping[Key, Sums]) -> int:
    """Add to the rows, within a transaction; return how many there are."""
    changed = [row for row in _locked_rows(ThrottleStat, resolution, parts) if (row.start, row.rule) in parts]
    for row in changed:
        for name, value in of_columns(vars(row)).plus(parts[row.start, row.rule])._asdict().items():
            setattr(row, name, dict(value) if isinstance(value, Mapping) else value)
    ThrottleStat.objects.bulk_update(changed, Sums._fields, BATCH)
    return len(changed)


def read_who(condition: Q) -> dict[Key, Who]:
    """Who the rows of OffenderStat name."""
    heads: dict[Key, Who] = {}
    named: defaultdict[tuple[Key, str], dict[str, Counted]] = defaultdict(dict)
    columns = ("start", "rule", "kind", "value", "refused", "would_refuse", "met", "distinct")
    for _, start, rule, kind, value, *numbers, registers in in_batches(OffenderStat.objects.filter(condition), *columns):
        if kind == Kind.ALL:
            heads[start, rule] = Who(Counted(*numbers), Group(), Group(), *registers_of(registers))
        else:
            named[(start, rule), kind][value] = Counted(*numbers)
    return {
        key: head._replace(clients=_with_bound(named[key, Kind.CLIENT]), networks=_with_bound(named[key, Kind.NETWORK]))
        for key, head in heads.items()
    }


def registers_of(value: object) -> tuple[str, str]:
    """Those of a row, which may have any JSON, since people can edit rows."""
    refused, would_refuse = (str(value.get(name, "")) if isinstance(value, dict) else "" for name in REFUSING)
    return refused if is_registers(refused) else "", would_refuse if is_registers(would_refuse) else ""


def _with_bound(named: dict[str, Counted]) -> Group:
    """The row without a value has the bound."""
    bound = named.pop("", Counted())
    return Group(named, bound)


def add_who(resolution: Resolution, parts: Mapping[Key, Who]) -> int:
    """Add to the rows, within a transaction; return of how many rules and spans of time."""
    heads = [head for head in _locked_rows(OffenderStat, resolution, parts, kind=Kind.ALL) if (head.start, head.rule) in parts]
    known = read_who(of_keys(resolution, parts))
    folded = {} if resolution == Resolution.MINUTE else _folded(resolution, parts)
    rows: list[OffenderStat] = []
    for head in heads:
        key = (head.start, head.rule)
        who = known[key].plus(parts[key])
        if resolution != Resolution.MINUTE:  # of a minute all names are kept: by its row it is known what each has grown by
            who = max(folded.get(key, NOBODY), who, key=lambda one: one.total.met).cut()
        head.refused, head.would_refuse, head.met = who.total
        head.distinct = {"refused": who.registers_refused, "would_refuse": who.registers_would_refuse}
        rows += _rows(head, who)
    for start in {head.start for head in heads}:
        rules = [head.rule for head in heads if head.start == start]
        OffenderStat.objects.filter(resolution=resolution, start=start, rule__in=rules).exclude(kind=Kind.ALL).delete()
    OffenderStat.objects.bulk_create(rows, BATCH, ignore_conflicts=True)  # two names, where case makes no difference
    OffenderStat.objects.bulk_update(heads, ["refused", "would_refuse", "met", "distinct"], BATCH)
    return len(heads)


def _folded(resolution: Resolution, keys: Collection[Key]) -> dict[Key, Who]:
    """The rows of finer spans, added up: fewer names were dropped from these."""
    finer = Resolution.MINUTE if resolution == Resolution.HOUR else Resolution.HOUR
    within = Q()
    for start in {start for start, _ in keys}:
        within |= Q(start__gte=start, start__lt=start + SPANS[resolution])
    return added_up(read_who(within & Q(resolution=finer, rule__in={rule for _, rule in keys})), resolution)


def _rows(head: OffenderStat, who: Who) -> Iterator[OffenderStat]:
    span = {"rule": head.rule, "resolution": head.resolution, "start": head.start}
    for kind, group in ((Kind.CLIENT, who.clients), (Kind.NETWORK, who.networks)):
        bounds = {"": group.bound} if any(group.bound) else {}
        for value, (refused, would_refuse, _) in {**bounds, **group.named}.items():
            yield OffenderStat(**span, kind=kind, value=value, refused=refused, would_refuse=would_refuse)


def _prune(now_s: float) -> int:
    now = datetime.fromtimestamp(now_s, UTC)
    deleted = 0
    for resolution, kept in conf.current().retention.items():
        before = now - (max(kept, LEAST_KEPT) if resolution == Resolution.MINUTE else kept)
        for model in (ThrottleStat, OffenderStat):
            deleted += model.objects.filter(resolution=resolution, start__lt=before).delete()[0]
    return deleted
