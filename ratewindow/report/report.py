"""What rules did in a period: the sums of its rows, and of what its minutes in Redis have more than their rows.

One reader for all who ask: pages, the export, alerts. Each sum is read when it is asked for, by two queries whatever there is.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, reduce
from itertools import chain
from typing import Any

import redis
from django.db.models import Min, Q, Sum
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from ratewindow import conf
from ratewindow.conf import time_zone
from ratewindow.counting import minutes
from ratewindow.counting.collecting import SPANS, Key, added_up, by_start, of_keys, read_sums, span_start
from ratewindow.counting.counters import counters
from ratewindow.counting.sheets import ALL
from ratewindow.counting.sums import NOTHING, NUMBERS, TALLIES, Name, Sums, Value, Who, added, tally_of
from ratewindow.models import ThrottleStat
from ratewindow.models.stats import Resolution
from ratewindow.rules.rule import BLOCKS
from ratewindow.store import process_clients

MINUTE, HOUR, DAY = SPANS[Resolution.MINUTE], SPANS[Resolution.HOUR], SPANS[Resolution.DAY]
MOST_STEPS = 100  # in a chart or table
MOST_HOURS = timedelta(days=60)  # a longer period is read in days, so that a report never reads too many rows
LONGEST = timedelta(days=3 * 366)

# What a person can choose: length, label of the link, words in a sentence; texts are lazy.
CHOICES: Mapping[str, tuple[timedelta, Any, Any]] = {
    "15m": (timedelta(minutes=15), _("15 min"), _("the last 15 minutes")),
    "1h": (HOUR, _("1 h"), _("the last hour")),
    "24h": (DAY, _("24 h"), _("the last 24 hours")),
    "7d": (timedelta(days=7), _("7 d"), _("the last 7 days")),
    "30d": (timedelta(days=30), _("30 d"), _("the last 30 days")),
    "1y": (timedelta(days=365), _("1 y"), _("the last year")),
}
_STEPS = (*(n * MINUTE for n in (1, 5, 15)), *(n * HOUR for n in (1, 2, 6)), *(n * DAY for n in (1, 7, 30)))


@dataclass(frozen=True)
class Period:
    """From `start` until before `end`; `resolution` is that of the rows to read."""

    start: datetime
    end: datetime
    step: timedelta
    resolution: Resolution
    words: str = ""  # "the last hour"; empty for a period between two dates

    def step_of(self, moment: datetime) -> datetime:
        """The start of the step that contains `moment`, by the wall clock of the current time zone."""
        if self.step < HOUR:
            return span_start(moment, self.step)
        local = self.local(moment).replace(minute=0, second=0, microsecond=0)
        if self.step < DAY:
            return local.replace(hour=local.hour - local.hour % (self.step // HOUR)).astimezone(UTC)
        day = local.replace(hour=0, fold=0)
        return (day - timedelta(days=(day.toordinal() - 1) % (self.step // DAY))).astimezone(UTC)

    def local(self, moment: datetime) -> datetime:
        """`moment` as shown: in the current time zone, or in UTC where the rows are of days in UTC."""
        return moment.astimezone(UTC) if self.resolution == Resolution.DAY else time_zone.local(moment)

    @property
    def zone(self) -> str:
        """The name of the time zone in which `local` shows."""
        return "UTC" if self.resolution == Resolution.DAY else timezone.get_current_timezone_name()

    def steps(self) -> list[datetime]:
        """The start of every step."""
        first, span = span_start(self.start, SPANS[self.resolution]), SPANS[self.resolution]
        moments = (first + number * span for number in range((self.end - first) // span + 1))
        # Midnight in India is at half past in UTC: the row of that hour began the day before, and is left out.
        return [*dict.fromkeys(self.step_of(moment) for moment in moments if self.start <= moment < self.end)]


def last(choice: str, now: datetime) -> Period:
    """One of CHOICES, up to and including the current minute."""
    length, __, words = CHOICES[choice]
    return replace(between(now - length, now, now), words=str(words))


def between(start: datetime, end: datetime, now: datetime) -> Period:
    """From the start of the step of `start` to `end`, by the finest rows that fit and that are kept for so long."""
    kept = conf.current().retention
    step = next((step for step in _STEPS if (end - start) / step <= MOST_STEPS), _STEPS[-1])
    resolution = Resolution.MINUTE if step < HOUR else Resolution.HOUR if end - start <= MOST_HOURS else Resolution.DAY
    if resolution == Resolution.MINUTE and now - start > kept["minute"]:
        resolution = Resolution.HOUR
    if resolution == Resolution.HOUR and now - start > kept["hour"]:
        resolution = Resolution.DAY
    period = Period(start, end, max(step, SPANS[resolution]), resolution)
    return replace(period, start=period.step_of(start))


WITHOUT_BLOCKS = f"~{BLOCKS}"  # all rules, and no requests of blocked clients that matched none of them
LEFT_OUT = {"": [ALL], WITHOUT_BLOCKS: [ALL, BLOCKS]}  # names that are no rule, by what stands for all rules

_COARSER = {Resolution.MINUTE: Resolution.HOUR, Resolution.HOUR: Resolution.DAY}


@dataclass(frozen=True)
class Waiting:
    """The minutes in Redis, collected or not, read once for a page; with memory://, those of this process."""

    sums: Mapping[Key, Sums]
    live: bool  # False if Redis could not be read: the last minutes may be missing
    minutes: Collection[int] = ()

    @cached_property
    def who(self) -> Mapping[Key, Who]:
        """Who was refused in them; nobody if Redis has stopped answering."""
        if process_clients.in_memory():
            return by_start(counters.held_who())
        try:
            return by_start(minutes.read_who(self.minutes)) if self.minutes else {}
        except (redis.RedisError, OSError):
            return {}


def waiting(now_s: float | None = None, ask_redis: bool = True, newest: int = minutes.MOST_MINUTES) -> Waiting:
    """What Redis has now, with the sums of the `newest` minutes; nothing if it does not answer, or is not asked."""
    if process_clients.in_memory():
        return Waiting(by_start(counters.held()), live=True)
    if ask_redis:
        try:
            numbers = minutes.waiting(time.time() if now_s is None else now_s)
            return Waiting(by_start(minutes.read(numbers[-newest:])), live=True, minutes=numbers)
        except (redis.RedisError, OSError):
            pass
    return Waiting({}, live=False)


@dataclass(frozen=True)
class Report:
    """Sums of one rule or of all in a period: by rule, and together. Of all, each request counts once in what is said of them
    together, and once in each rule that it matched. Reasons and latency are in `tallies` alone."""

    period: Period
    known: Waiting  # what was read from Redis before
    chosen: str = ""  # a rule; empty for all

    @cached_property
    def rules(self) -> Mapping[str, Sums]:
        """By the name of each rule that requests matched."""
        return added((rule, sums) for (rule,), sums in self._read(within(self.period), "rule"))

    @cached_property
    def steps(self) -> Mapping[datetime, Sums]:
        """By the start of each step of the period."""
        together = self._together(lambda report: added((step, sums) for (step, _), sums in report.steps_of_rules.items()))
        return {step: together.get(step, NOTHING) for step in self.period.steps()}

    @cached_property
    def steps_of_rules(self) -> Mapping[tuple[datetime, str], Sums]:
        """By step and rule, where there are any."""
        lines = self._read(rows_of(self.period), "start", "rule")
        return added(((self.period.step_of(start), rule), sums) for (start, rule), sums in lines)

    @cached_property
    def tallies(self) -> Sums:
        """Reasons and latency, which databases cannot add up. The numbers are of a part of the period."""
        return self._together(lambda report: {"": report._tallies()}).get("", NOTHING)

    def _tallies(self) -> Sums:
        lines = ThrottleStat.objects.filter(of_rules(self.chosen), within(self.period)).order_by().values_list(*TALLIES)
        stored = (Sums.of(NOTHING.numbers, *map(tally_of, tallies)) for tallies in lines)
        return reduce(Sums.plus, chain(stored, self._beyond().values()), NOTHING)

    @cached_property
    def total(self) -> Sums:
        return reduce(Sums.plus, self.steps.values(), NOTHING)

    def _together(self, read: Callable[["Report"], Mapping[Name, Sums]]) -> Mapping[Name, Sums]:
        """What the report of one rule says; or that of ALL, without the requests of blocked clients that matched no rule. Where
        ALL was not counted yet, requests count once for each rule."""
        of_rules = read(self)
        if self.chosen not in LEFT_OUT:
            return of_rules
        whole = read(replace(self, chosen=ALL))
        blocks = read(replace(self, chosen=BLOCKS)) if self.chosen else {}
        return {name: whole.get(name, NOTHING).beyond(blocks.get(name, NOTHING)) or sums for name, sums in of_rules.items()}

    def _read(self, condition: Q, *by: str) -> Iterator[tuple[tuple[Any, ...], Sums]]:
        """The numbers by these columns of the rows, and of what waits beyond them."""
        lines = ThrottleStat.objects.filter(of_rules(self.chosen), condition).order_by().values_list(*by)
        for line in lines.annotate(*(Sum(name) for name in NUMBERS)):
            yield line[: len(by)], Sums.of(line[len(by) :])
        for (start, rule), sums in self._beyond().items():
            columns = {"start": start, "rule": rule}
            yield tuple(columns[name] for name in by), Sums.of(sums.numbers)

    def _beyond(self) -> dict[Key, Sums]:
        """What Redis has more than the rows of its minutes, by the span of time in which it will be stored.

        Called after other rows were read: of what is collected in between, too little is shown for a moment, never too much.
        """
        return beyond(self.known.sums, self.period, self.chosen, read_sums, NOTHING)


def beyond(
    waiting: Mapping[Key, Value], period: Period, rules: str, read: Callable[[Q], Mapping[Key, Value]], nothing: Value
) -> dict[Key, Value]:
    """What the waiting minutes of a period have more than their rows, by the span of time in which it will be stored."""
    mine = {
        key: value
        for key, value in waiting.items()
        if concerns(rules, key[1]) and period.start <= span_start(key[0], SPANS[period.resolution]) < period.end
    }
    if not mine:
        return {}
    stored = read(of_keys(Resolution.MINUTE, mine))
    return added_up({key: value.beyond(stored.get(key, nothing)) for key, value in mine.items()}, period.resolution)


def rows_of(period: Period) -> Q:
    """The rows of a period's own resolution."""
    return Q(resolution=period.resolution, start__gte=period.start, start__lt=period.end)


def within(period: Period) -> Q:
    """The same in fewer rows, where steps do not matter: of whole hours instead of minutes, or of days instead of hours, in a
    period of more than two of these."""
    coarser = _COARSER.get(period.resolution)
    if coarser is None or period.end - period.start <= 2 * SPANS[coarser]:
        return rows_of(period)
    first, last = span_start(period.start, SPANS[coarser]), span_start(period.end, SPANS[coarser])
    first = first if first == period.start else first + SPANS[coarser]
    whole = rows_of(replace(period, start=first, end=last, resolution=coarser))
    # Each with all that an index knows, so that databases join their ranges.
    return whole | rows_of(replace(period, end=first)) | rows_of(replace(period, start=last))


def of_rules(rules: str) -> Q:
    """The rows of one rule, or, for empty text, of all."""
    return ~Q(rule__in=LEFT_OUT[rules]) if rules in LEFT_OUT else Q(rule=rules)


def concerns(rules: str, name: str) -> bool:
    """Whether a rule of that name is one of `rules`."""
    return name not in LEFT_OUT[rules] if rules in LEFT_OUT else rules == name


def began(known: Waiting) -> datetime | None:
    """When counting began, as far as the rows of days know."""
    first = ThrottleStat.objects.filter(resolution=Resolution.DAY).aggregate(first=Min("start"))["first"]
    return min((start for start in (first, *(start for start, _ in known.sums)) if start), default=None)
