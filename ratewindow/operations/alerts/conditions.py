"""The conditions of alerts: which of them hold, by the report's numbers and the thresholds of a channel."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.utils.translation import gettext, ngettext

from ratewindow.conf import time_zone
from ratewindow.models import AlertChannel
from ratewindow.operations.alerts.facts import Facts, Tried
from ratewindow.reporting.periods import HOUR
from ratewindow.reporting.summary import number, percent
from ratewindow.reporting.unusual import FEW

READY_PERCENT = 1  # a rule in shadow that would refuse more of its requests is not ready
REFUSED_A_MINUTE, REFUSED_PERCENT, UNUSUAL = "refused_a_minute", "refused_percent", "unusual"
WITHOUT_REDIS, NOT_COLLECTED, NEVER_MET, READY = "without_redis", "not_collected", "never_met_days", "ready_days"
KINDS = (REFUSED_A_MINUTE, REFUSED_PERCENT, UNUSUAL, WITHOUT_REDIS, NOT_COLLECTED, NEVER_MET, READY)  # as the model's fields
BY_REDIS = (REFUSED_A_MINUTE, REFUSED_PERCENT, UNUSUAL, NOT_COLLECTED, NEVER_MET)  # not known without it


class Condition(NamedTuple):
    """One that holds; `text` is a sentence in the current language."""

    kind: str
    rule: str
    text: str

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.rule}"


def watched(channel: AlertChannel) -> set[str]:
    return {kind for kind in KINDS if getattr(channel, kind)}


def unknown(facts: Facts) -> set[str]:
    """The kinds of which nothing can be said: they neither begin nor end."""
    return set() if facts.live else set(BY_REDIS)


def holding(channel: AlertChannel, facts: Facts, now: datetime) -> Iterator[Condition]:
    kinds = watched(channel) - unknown(facts)
    for condition in _all(channel, facts, now):
        if condition.kind in kinds:
            yield condition


def _all(channel: AlertChannel, facts: Facts, now: datetime) -> Iterator[Condition]:
    yield from _lately(channel, facts)
    for spell in facts.spells:
        text = gettext("%(rule)s refuses far more requests than usual: %(count)s since %(start)s.")
        values = {"rule": spell.rule, "count": number(spell.count), "start": time_zone.in_short(spell.start)}
        yield Condition(UNUSUAL, spell.rule, text % values)
    yield from state(facts, now)
    never_met_days, ready_days = channel.never_met_days or 0, channel.ready_days or 0
    yield from never_met(facts.unmet.get(never_met_days, ()), never_met_days)
    yield from ready(facts.tried.get(ready_days, {}), ready_days)


def _lately(channel: AlertChannel, facts: Facts) -> Iterator[Condition]:
    for rule, sums in sorted(facts.lately.items()):
        a_minute = sums.refused / facts.minutes
        if channel.refused_a_minute and a_minute >= channel.refused_a_minute:
            text = ngettext(
                "%(rule)s refuses %(count)s request a minute.", "%(rule)s refuses %(count)s requests a minute.", int(a_minute)
            )
            yield Condition(REFUSED_A_MINUTE, rule, text % {"rule": rule, "count": number(int(a_minute))})
        if channel.refused_percent and sums.refused >= FEW and 100 * sums.refused >= channel.refused_percent * sums.met:
            text = gettext("%(rule)s refuses %(share)s of the requests that it meets.")
            yield Condition(REFUSED_PERCENT, rule, text % {"rule": rule, "share": percent(sums.refused, sums.met)})


def state(facts: Facts, now: datetime) -> Iterator[Condition]:
    fallback = sum(sums.fallback for sums in facts.lately.values())
    if not facts.live:
        yield Condition(WITHOUT_REDIS, "", gettext("Redis does not answer, so requests are decided without it."))
    elif fallback:
        text = ngettext(
            "%s request was lately decided without Redis.", "%s requests were lately decided without Redis.", fallback
        )
        yield Condition(WITHOUT_REDIS, "", text % number(fallback))
    if facts.waits_since and now - facts.waits_since > HOUR:
        text = gettext("Nobody has collected counts since %s. Let Celery or cron run manage.py ratewindow collect every minute.")
        yield Condition(NOT_COLLECTED, "", text % time_zone.in_short(facts.waits_since))


def never_met(rules: Sequence[str], days: int) -> Iterator[Condition]:
    for rule in rules:
        text = ngettext(
            "No request has met %(rule)s, which is enforced, for %(days)d day.",
            "No request has met %(rule)s, which is enforced, for %(days)d days.",
            days,
        )
        yield Condition(NEVER_MET, rule, text % {"rule": rule, "days": days})


def ready(tried: Mapping[str, Tried], days: int) -> Iterator[Condition]:
    for rule, (met_on, sums) in sorted(tried.items()):
        if met_on < days or sums.refused or 100 * sums.would_refuse > READY_PERCENT * sums.met:
            continue
        text = ngettext(
            "%(rule)s is ready to be enforced: in %(days)d day it would have refused %(would)s of %(met)s requests.",
            "%(rule)s is ready to be enforced: in %(days)d days it would have refused %(would)s of %(met)s requests.",
            days,
        )
        values = {"rule": rule, "days": days, "would": number(sums.would_refuse), "met": number(sums.met)}
        yield Condition(READY, rule, text % values)
