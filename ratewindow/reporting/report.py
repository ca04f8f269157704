"""What the rules decided in a period: the rows of the database and the minutes in Redis that are not collected yet."""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, reduce
from operator import add
from typing import Any, TypeVar

import redis
from django.db.models import ExpressionWrapper, F, Q, QuerySet, Sum, TextField

from ratewindow.models import ThrottleStat, TotalStat
from ratewindow.reporting import compared, counters, minutes, open_spans, tallies
from ratewindow.reporting.periods import Period
from ratewindow.reporting.stored import minute_start, rows_as_sums
from ratewindow.reporting.sums import NOTHING, NUMBERS, TALLIES, Sums
from ratewindow.rules.rule import BLOCKS
from ratewindow.store import process_clients

Key = TypeVar("Key")
Rules = str | Collection[str]  # one rule by its name, several, or, if empty text, all
WITHOUT_BLOCKS: Rules = f"{compared.MARK}{BLOCKS}"  # all rules, and no requests of blocked clients that met none of them
Settled = tuple[dict[str, Sums], dict[datetime, Sums], Sums]  # by rule, by start, and the tallies

_TEXTS = tuple(ExpressionWrapper(F(name), TextField()) for name in TALLIES)


@dataclass(frozen=True)
class Waiting:
    """The minutes that are not collected yet; of one that is the same as its rows."""

    sums: Mapping[tuple[datetime, str], Sums]
    live: bool  # False if Redis could not be read: the last minutes may be missing


@dataclass(frozen=True)
class Report:
    """Sums of a period: by step for the chart, by rule for the table, and the reasons and latency of all rules together."""

    period: Period
    steps: Mapping[datetime, Sums]
    rules: Mapping[str, Sums]
    live: bool
    tallies: Sums = NOTHING

    @cached_property
    def total(self) -> Sums:
        return _sum(self.rules.values()).plus(self.tallies)


def report(
    period: Period, rules: Rules = "", now_s: float | None = None, ask_redis: bool = True, known: Waiting | None = None
) -> Report:
    """Read the sums of one rule, several or all in `period`; `known` is what was read from Redis before."""
    known = known or waiting(now_s, ask_redis)
    opened = opened_in(period, rules, known)
    by_rule, by_start, tallied = (_of_all_rules(period, opened) if rules == "" else None) or _one_by_one(period, rules, opened)
    steps = dict.fromkeys(period.steps(), NOTHING)
    for start, sums in by_start.items():
        _add(steps, period.step_of(start), sums)
    for (start, name), sums in opened.items():
        numbers = Sums.of(sums.numbers)
        _add(steps, period.step_of(start), numbers)
        _add(by_rule, name, numbers)
        tallied = tallied.plus(Sums(reasons=sums.reasons, latency=sums.latency))
    return Report(period, steps, by_rule, known.live, tallied)


def sums_by_rule(period: Period, rules: Rules, known: Waiting) -> dict[str, Sums]:
    """The numbers of each rule in `period`, without reasons and latency."""
    opened = opened_in(period, rules, known)
    found = _by_rule(rules, open_spans.settled(period, opened))
    for (_, name), sums in opened.items():
        _add(found, name, Sums.of(sums.numbers))
    return found


def sums_by_step(period: Period, rules: Rules, known: Waiting) -> dict[tuple[datetime, str], Sums]:
    """The numbers of each step and rule in `period` for which there are any."""
    opened = opened_in(period, rules, known)
    rows = ThrottleStat.objects.filter(of_rules(rules)).filter(open_spans.settled(period, opened))
    step_of, numbers_of = dict[datetime, datetime](), dict[tuple[datetime, str], list[int]]()
    for start, name, *numbers in rows.order_by().values_list("start", "rule", *NUMBERS):
        key = (step_of.get(start) or step_of.setdefault(start, period.step_of(start)), name)
        numbers_of[key] = [*map(add, numbers_of[key], numbers)] if key in numbers_of else numbers
    found = {key: Sums.of(numbers) for key, numbers in numbers_of.items()}
    for (start, name), sums in opened.items():
        _add(found, (period.step_of(start), name), Sums.of(sums.numbers))
    return found


def waiting(now_s: float | None = None, ask_redis: bool = True) -> Waiting:
    """What Redis has now; nothing if it does not answer, or is not asked."""
    if ask_redis:
        try:
            return Waiting(waiting_counts(time.time() if now_s is None else now_s), live=True)
        except (redis.RedisError, OSError):
            pass
    return Waiting({}, live=False)


def waiting_counts(now_s: float) -> dict[tuple[datetime, str], Sums]:
    """The minutes in Redis, collected or not; with memory://, those of this process."""
    by_minute = counters.held() if process_clients.in_memory() else minutes.read(minutes.waiting(now_s))
    return {(minute_start(minute), rule): sums for minute, by_rule in by_minute.items() for rule, sums in by_rule.items()}


def of_rules(rules: Rules) -> Q:
    """The rows of these rules; those of comparisons with candidates are of none."""
    if rules == WITHOUT_BLOCKS:
        return of_rules("") & ~Q(rule=BLOCKS)
    if isinstance(rules, str):
        return Q(rule=rules) if rules else ~Q(rule__startswith=compared.MARK)
    return Q(rule__in=rules)


def concerns(rules: Rules, name: str) -> bool:
    """Whether a rule of that name is one of `rules`."""
    if rules in ("", WITHOUT_BLOCKS):
        return not compared.is_line(name) and (rules == "" or name != BLOCKS)
    return name == rules if isinstance(rules, str) else name in rules


def opened_in(period: Period, rules: Rules, known: Waiting) -> dict[tuple[datetime, str], Sums]:
    """The spans in `period` that have minutes waiting, complete."""
    rows = ThrottleStat.objects.filter(of_rules(rules))
    mine = {key: sums for key, sums in known.sums.items() if concerns(rules, key[1])}
    opened = open_spans.complete(mine, period.resolution, lambda condition: rows_as_sums(rows.filter(condition)))
    return {key: sums for key, sums in opened.items() if period.start <= key[0] < period.end}


def _by_rule(rules: Rules, condition: Q) -> dict[str, Sums]:
    """Of all rules, lines of comparisons are left out here: a database compares the name of each row."""
    rows = ThrottleStat.objects.filter(condition) if rules == "" else ThrottleStat.objects.filter(condition, of_rules(rules))
    return {name: Sums.of(numbers) for name, *numbers in _added_up(rows, "rule") if concerns(rules, name)}


def _of_all_rules(period: Period, opened: Mapping[Any, Sums]) -> Settled | None:
    """By the rows of all rules together. None if there are none, or if these are not what the rules did one by one, in hours
    and days, since some rows may be missing."""
    of_period = TotalStat.objects.filter(open_spans.settled(period, opened))
    lines = list(of_period.order_by().values_list("start", *NUMBERS, *_TEXTS))
    by_start = {start: Sums.of(columns[: len(NUMBERS)]) for start, *columns in lines}
    if not lines:
        return None
    by_rule = _by_rule("", open_spans.settled_coarsely(period, opened))
    if _sum(by_start.values()) != _sum(by_rule.values()):
        return None
    return by_rule, by_start, _tallied(line[-len(_TEXTS) :] for line in lines)


def _one_by_one(period: Period, rules: Rules, opened: Mapping[Any, Sums]) -> Settled:
    rows, settled = ThrottleStat.objects.filter(of_rules(rules)), open_spans.settled(period, opened)
    by_start = {start: Sums.of(numbers) for start, *numbers in _added_up(rows.filter(settled), "start")}
    texts = rows.filter(open_spans.settled_coarsely(period, opened)).order_by().values_list(*_TEXTS)
    return _by_rule(rules, settled), by_start, _tallied(texts)


def _tallied(lines: Iterable[Sequence[str]]) -> Sums:
    """Reasons and latency of many rows: databases cannot add up JSON, so it is read as text, and parsed all at once."""
    reasons, latency = map(tallies.of_texts, [*zip(*lines, strict=True)] or ((), ()))
    return Sums(reasons=reasons, latency=latency)


def _sum(several: Iterable[Sums]) -> Sums:
    return reduce(Sums.plus, several, NOTHING)


def _added_up(rows: "QuerySet[ThrottleStat]", by: str) -> Iterable[tuple[Any, ...]]:
    return rows.order_by().values_list(by).annotate(*(Sum(name) for name in NUMBERS))


def _add(to: dict[Key, Sums], key: Key, sums: Sums) -> None:
    to[key] = to.get(key, NOTHING).plus(sums)
