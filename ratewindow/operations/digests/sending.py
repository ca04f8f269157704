"""Sends the digests that are due: each at most once, claimed just before it leaves, and late rather than never."""

import json
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone, translation

from ratewindow.conf import time_zone
from ratewindow.models import AlertChannel
from ratewindow.operations.alerts import webhook
from ratewindow.operations.alerts.sending import attempt, language, outcome
from ratewindow.operations.digests.content import Digest, digest, read
from ratewindow.operations.digests.mail import mail
from ratewindow.operations.digests.plain_text import plain_text
from ratewindow.operations.digests.spans import DAILY, DAYS, WEEKLY, Span, due, newest
from ratewindow.reporting.reading import Reading
from ratewindow.reporting.sums import NUMBERS

logger = logging.getLogger("ratewindow")

UNKNOWN = "A run ended while it sent the digest of {}: it may not have arrived."


def send_report(now: datetime | None = None) -> list[str]:
    """A line for each digest that was due."""
    now, lines, readings = now or time_zone.now(), list[str](), dict[Span, Reading]()
    with timezone.override(timezone.get_default_timezone()):
        for channel in AlertChannel.objects.filter(active=True, digest__in=DAYS):
            for span in due(channel, now):
                if span not in readings:
                    readings[span] = read(span, now)
                said = _send_once(channel, span, readings[span])
                lines.append(f"{channel.name}: {span}: {said}")
                if said != "sent":
                    break  # the next run goes on here
    return lines or ["no digest is due"]


def send_latest(channel: AlertChannel) -> tuple[Span, str]:
    """The newest one, whether it was sent or not, and why it could not be sent; empty if it was."""
    now = time_zone.now()
    with timezone.override(timezone.get_default_timezone()):
        span = newest(channel.digest if channel.digest in DAYS else DAILY, now)
        error = attempt(channel, "a digest", lambda: _prepared(channel, span, read(span, now), test=True)())
    AlertChannel.objects.filter(pk=channel.pk).update(error=error, **({} if error else {"sent_at": now}))
    return span, error


def newest_in_words(week: bool) -> str:
    """Of yesterday, or of the last whole week, as plain text."""
    now = time_zone.now()
    with timezone.override(timezone.get_default_timezone()):
        span = newest(WEEKLY if week else DAILY, now)
        made = digest(AlertChannel(digest=span.kind), span, read(span, now))
        return plain_text(made, [made.against] if made.against else [])


def _send_once(channel: AlertChannel, span: Span, reading: Reading) -> str:
    """All is made before the claim, so that a run that is killed meanwhile leaves it to the next one."""
    prepared: list[Callable[[], object]] = []
    error = attempt(channel, "a digest", lambda: prepared.append(_prepared(channel, span, reading)))
    mine, before = AlertChannel.objects.filter(pk=channel.pk), channel.digest_until
    if error:
        mine.update(error=error)
        return outcome(error)
    claimable = mine.filter(active=True, digest=channel.digest, digest_until=before)
    if not claimable.update(digest_until=span.end, error=UNKNOWN.format(span)):
        return "another run sends it"
    if error := attempt(channel, "a digest", prepared[0]):
        mine.filter(digest_until=span.end).update(digest_until=before, error=error)
        return outcome(error)
    mine.update(error="", sent_at=reading.now)
    channel.digest_until = span.end
    return "sent"


def _prepared(channel: AlertChannel, span: Span, reading: Reading, test: bool = False) -> Callable[[], object]:
    """What sends it."""
    with translation.override(language(channel)):
        made = digest(channel, span, reading)
        match channel.way:
            case AlertChannel.Way.MAIL:
                return mail(made, reading, channel.address_list(), test).send
            case AlertChannel.Way.LOG:
                return lambda: _log(in_short(made))
            case _:
                body = json.dumps(_values(made, reading, test)).encode()
                return lambda: webhook.post(channel.url, body, channel.secret, str(int(reading.now.timestamp())))


def in_short(made: Digest) -> list[str]:
    link = [made.url] if made.url else []
    return [f"{made.span}: {made.summary}", *(hint.text for hint in made.hints), *link]


def _log(lines: Sequence[str]) -> None:
    if not logger.isEnabledFor(logging.INFO):
        raise webhook.NotDelivered("the logger ratewindow does not log INFO: set its level in LOGGING")
    for line in lines:
        logger.info("ratewindow: digest: %s", line)


def _values(made: Digest, reading: Reading, test: bool) -> dict[str, Any]:
    rules, before = reading.report.rules, reading.earlier.total_before
    return {
        "channel": made.channel,
        "at": reading.now.isoformat(),
        "test": test,
        "text": "\n".join(in_short(made)),
        "digest": {
            "from": made.span.starts_at.isoformat(),
            "to": made.span.ends_at.isoformat(),
            "total": dict(zip(NUMBERS, reading.report.total.numbers, strict=True)),
            "before": dict(zip(NUMBERS, before.numbers, strict=True)) if before else None,
            "rules": {line.name: dict(zip(NUMBERS, rules[line.name].numbers, strict=True)) for line in made.rules},
            "hints": [{"rule": hint.rule, "text": hint.text} for hint in made.hints],
            "url": made.url,
        },
    }
