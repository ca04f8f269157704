"""What the conditions of alerts are decided by, read once for all channels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Count, Sum

from ratewindow import conf
from ratewindow.models import AlertChannel, Mode, RateRule, ThrottleStat
from ratewindow.reporting.met import met_since
from ratewindow.reporting.periods import DAY, MINUTE, between, last
from ratewindow.reporting.report import report, sums_by_rule, waiting
from ratewindow.reporting.stored import Resolution, span_start
from ratewindow.reporting.sums import NUMBERS, Sums
from ratewindow.reporting.unusual import REFUSED, Spell, spells
from ratewindow.reporting.usual import earlier

LATELY = 5 * MINUTE


class Tried(NamedTuple):
    """What a rule in shadow did on whole days: on how many of them it met requests, and the sums of these."""

    days: int
    sums: Sums


@dataclass(frozen=True)
class Facts:
    """Without Redis (`live` is False) the last minutes are not known. What is by days is by the number of days."""

    live: bool
    minutes: float = 5.0
    lately: Mapping[str, Sums] = field(default_factory=dict)  # of those minutes
    spells: Sequence[Spell] = ()
    waits_since: datetime | None = None  # the oldest minute that is not collected
    unmet: Mapping[int, Sequence[str]] = field(default_factory=dict)  # enforced rules
    tried: Mapping[int, Mapping[str, Tried]] = field(default_factory=dict)  # rules in shadow


def read(channels: Iterable[AlertChannel], now: datetime) -> Facts:
    channels, kept = list(channels), conf.current().retention
    known = waiting(now.timestamp())
    lately = between(now - LATELY, now, now, kept)
    found: list[Spell] = []
    if any(channel.unusual for channel in channels):
        quarter = last("15m", now, kept)
        found = spells(report(quarter, known=known), earlier(quarter, "", known, now), "", known, now)
    modes = names_by_mode()
    return Facts(
        live=known.live,
        minutes=(now - lately.start) / MINUTE,
        lately=sums_by_rule(lately, "", known),
        spells=[spell for spell in found if spell.outcome == REFUSED and spell.ongoing],
        waits_since=min((start for start, _ in known.sums), default=None),
        unmet={
            days: unmet(modes.get(Mode.ENFORCE, []), now - days * DAY, known.live)
            for days in {channel.never_met_days for channel in channels}
            if days
        },
        tried={
            days: tried(modes.get(Mode.SHADOW, []), days * DAY, now)
            for days in {channel.ready_days for channel in channels}
            if days
        },
    )


def names_by_mode() -> dict[str, list[str]]:
    modes: dict[str, list[str]] = {}
    for name, mode in RateRule.objects.order_by("name").values_list("name", "mode"):
        modes.setdefault(mode, []).append(name)
    return modes


def unmet(enforced: Sequence[str], start: datetime, ask_redis: bool) -> list[str]:
    """None of them as long as it is not known what happened since then."""
    met = met_since(start, ask_redis)
    return [name for name in enforced if name not in met.names] if met.since == start else []


def tried(shadow: Sequence[str], length: timedelta, now: datetime) -> dict[str, Tried]:
    """By the days before this one."""
    end = span_start(now, Resolution.DAY)
    rows = ThrottleStat.objects.filter(resolution=Resolution.DAY, rule__in=shadow, start__gte=end - length, start__lt=end)
    sums = (Sum(each) for each in NUMBERS)
    found = rows.filter(passed__gt=0).order_by().values_list("rule").annotate(Count("start"), *sums)
    return {rule: Tried(days, Sums.of(numbers)) for rule, days, *numbers in found}
