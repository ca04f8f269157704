"""One run of the alerts: for each channel what is new and what is over, claimed first, so that two runs do not both send it."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import F
from django.utils import translation

from ratewindow.conf import time_zone
from ratewindow.models import AlertChannel
from ratewindow.operations.alerts.changes import Changes, changes
from ratewindow.operations.alerts.conditions import holding, unknown, watched
from ratewindow.operations.alerts.facts import Facts, read
from ratewindow.operations.alerts.sending import language, outcome, send


def raise_alerts(dry_run: bool = False, now: datetime | None = None) -> list[str]:
    """A line for each alert; a dry run sends and keeps nothing."""
    channels = list(AlertChannel.objects.filter(active=True))
    if not channels:
        return ["no active alert channel"]
    now = now or time_zone.now()
    facts = read(channels, now)
    lines: list[str] = []
    for channel in channels:
        found = _changes(channel, facts, now)
        if dry_run:
            lines += _lines(channel, found, "would send")
        elif _claim(channel, found) and found:
            error = send(channel, now, found.new, found.over)
            _settle(channel, error, now)
            lines += _lines(channel, found, outcome(error))
    return lines or ["nothing new"]


def send_test(channel: AlertChannel) -> str:
    """Why it could not be sent; empty if it was."""
    now = time_zone.now()
    error = send(channel, now, test=True)
    AlertChannel.objects.filter(pk=channel.pk).update(error=error, **({} if error else {"sent_at": now}))
    return error


def _changes(channel: AlertChannel, facts: Facts, now: datetime) -> Changes:
    with translation.override(language(channel)):
        return changes(channel.raised, holding(channel, facts, now), watched(channel), unknown(facts), now)


def _claim(channel: AlertChannel, found: Changes) -> bool:
    """Whether this run may send: of several that have read the same, one may."""
    if found.raised == channel.raised:
        return False
    mine = AlertChannel.objects.filter(pk=channel.pk, revision=channel.revision)
    return bool(mine.update(raised=found.raised, revision=F("revision") + 1))


def _settle(channel: AlertChannel, error: str, now: datetime) -> None:
    """What could not be sent is tried again by the next run."""
    mine = AlertChannel.objects.filter(pk=channel.pk)
    if error:
        mine.update(error=error)
        mine.filter(revision=channel.revision + 1).update(raised=channel.raised, revision=F("revision") + 1)
    else:
        mine.update(error="", sent_at=now)


def _lines(channel: AlertChannel, found: Changes, done: str) -> Iterable[str]:
    for what, said in (("new", found.new), ("over", found.over)):
        for each in said:
            yield f"{channel.name}: {done}, {what}: {each['text']}"
