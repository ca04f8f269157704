"""The conditions of alerts: which of them hold, by the report's numbers."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from django.utils.translation import gettext, ngettext

from ratewindow.conf import time_zone
from ratewindow.conf.in_words import filled, number
from ratewindow.contrib.alerts.models import AlertChannel
from ratewindow.counting.collecting import minute_start, span_start
from ratewindow.counting.sums import NOTHING, Sums
from ratewindow.health import emergency
from ratewindow.models import Mode, RateRule
from ratewindow.models.stats import Resolution
from ratewindow.report.report import DAY, HOUR, MINUTE, Period, Report, began, between, last, waiting
from ratewindow.report.spells import REFUSED, Spell, spells, usual

UNMATCHED_DAYS, READY_DAYS = 30, 7
READY_PERCENT = 1  # a rule in shadow that would refuse more of its requests is not ready

Texts = Iterable[tuple[str, str]]  # each with the name of a rule, or empty text, and a sentence in the current language


class SiteState:
    """What conditions are decided by. Each part is read once, when a channel first asks for it.

    Without Redis (`live` is False) the last minutes are not known.
    """

    def __init__(self, now: datetime) -> None:
        self.now = now
        self._waiting = waiting(now.timestamp(), newest=20)  # more than are asked for, however many wait
        self._lately = between(now - 5 * MINUTE, now, now)
        self.live = self._waiting.live
        self.minutes = (now - self._lately.start) / MINUTE  # that `lately` is about

    @cached_property
    def lately(self) -> Mapping[str, Sums]:
        """By rule."""
        return Report(self._lately, self._waiting).rules

    @cached_property
    def spells(self) -> Sequence[Spell]:
        """The unusual refusals that go on."""
        quarter = Report(last("15m", self.now), self._waiting)
        return [
            spell for spell in spells(quarter, usual(quarter, self.now), self.now) if spell.outcome == REFUSED and spell.ongoing
        ]

    @cached_property
    def waits_since(self) -> datetime | None:
        """The oldest minute that Redis still has."""
        return min(map(minute_start, self._waiting.minutes), default=None)

    @cached_property
    def unmatched(self) -> Sequence[str]:
        """Enforced rules; none of them while it is not known what happened since then."""
        start = self.now - UNMATCHED_DAYS * DAY
        first = began(self._waiting)
        if first is None or first > start:
            return []
        sums = Report(Period(span_start(start, DAY), self.now, DAY, Resolution.DAY), self._waiting).rules
        return [name for name in _names(Mode.ENFORCE) if not sums.get(name, NOTHING).met]

    @cached_property
    def tried(self) -> Mapping[str, Sums]:
        """Rules in shadow that had requests on each of the days before this one."""
        end = span_start(self.now, DAY)
        days = Report(Period(end - READY_DAYS * DAY, end, DAY, Resolution.DAY), self._waiting)
        passed = Counter(rule for (_, rule), sums in days.steps_of_rules.items() if sums.passed)
        return {rule: days.rules[rule] for rule in _names(Mode.SHADOW) if passed[rule] == READY_DAYS}


def _names(mode: str) -> Sequence[str]:
    return list(RateRule.objects.filter(mode=mode).order_by("name").values_list("name", flat=True))


class Condition(NamedTuple):
    """One that holds; `text` is a sentence in the current language. Those of one `key` are one event."""

    kind: str
    rule: str
    text: str

    @property
    def key(self) -> str:
        return f"{'refusals' if self.kind in REFUSALS else self.kind}:{self.rule}"


def watched(channel: AlertChannel) -> set[str]:
    return {kind for kind in KINDS if getattr(channel, kind)}


def unknown(state: SiteState) -> set[str]:
    """The kinds of which nothing can be said: they neither begin nor end."""
    return set() if state.live else BY_REDIS


def holding(channel: AlertChannel, state: SiteState) -> Iterator[Condition]:
    """Of one event the strongest first."""
    for kind in KINDS:
        if kind in watched(channel) - unknown(state):
            yield from (Condition(kind, rule, text) for rule, text in KINDS[kind](state, channel))


def _refused_a_minute(state: SiteState, channel: AlertChannel) -> Texts:
    for rule, sums in sorted(state.lately.items()):
        a_minute = int(sums.refused / state.minutes)
        if a_minute >= (channel.refused_a_minute or 1):
            text = ngettext(
                "%(rule)s refuses %(count)s request a minute.", "%(rule)s refuses %(count)s requests a minute.", a_minute
            )
            yield rule, filled(text, rule=rule, count=a_minute)


def _unusual(state: SiteState, _: AlertChannel) -> Texts:
    for spell in state.spells:
        yield (
            spell.rule,
            filled(
                gettext("%(rule)s refuses far more requests than usual: %(count)s since %(start)s."),
                rule=spell.rule,
                count=spell.count,
                start=time_zone.in_short(spell.start),
            ),
        )


def _without_redis(state: SiteState, _: AlertChannel) -> Texts:
    fallback = sum(sums.fallback for sums in state.lately.values())
    if not state.live:
        yield "", gettext("Redis does not answer, so requests are decided without it.")
    elif fallback:
        text = ngettext(
            "%s request was lately decided without Redis.", "%s requests were lately decided without Redis.", fallback
        )
        yield "", text % number(fallback)


def _not_collected(state: SiteState, _: AlertChannel) -> Texts:
    if state.waits_since and state.now - state.waits_since > HOUR:
        yield (
            "",
            gettext("Nobody has collected counts since %s. Let Celery or cron run manage.py ratewindow collect every minute.")
            % time_zone.in_short(state.waits_since),
        )


def _unmatched(state: SiteState, _: AlertChannel) -> Texts:
    for rule in state.unmatched:
        yield (
            rule,
            gettext("No request has matched %(rule)s, which is enforced, for %(days)d days.")
            % {"rule": rule, "days": UNMATCHED_DAYS},
        )


def _ready(state: SiteState, _: AlertChannel) -> Texts:
    for rule, sums in sorted(state.tried.items()):
        if not sums.refused and 100 * sums.would_refuse <= READY_PERCENT * sums.met:
            text = gettext(
                "%(rule)s is ready to be enforced: in %(days)d days it would have refused %(would)s of %(met)s requests."
            )
            yield rule, text % {"rule": rule, "days": READY_DAYS, "would": number(sums.would_refuse), "met": number(sums.met)}


# Named as the model's fields. Those of refusals are ordered by strength.
KINDS: Mapping[str, Callable[[SiteState, AlertChannel], Texts]] = {
    "everybody": lambda *_: emergency.now(),
    "unusual": _unusual,
    "refused_a_minute": _refused_a_minute,
    "without_redis": _without_redis,
    "not_collected": _not_collected,
    "unmatched": _unmatched,
    "ready": _ready,
}
REFUSALS = {"everybody", "unusual", "refused_a_minute"}  # of one rule they are one event
BY_REDIS = {*REFUSALS, "not_collected", "unmatched"}  # not known without it
