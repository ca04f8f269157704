"""One run of the alerts: for each channel what is new and what is over, claimed first, so that two runs do not both send it, and
sent by its way. What came of it is kept at the channel."""

import json
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.core.mail import send_mail
from django.db.models import F
from django.utils import translation
from django.utils.translation import gettext

from ratewindow.conf import time_zone
from ratewindow.contrib.alerts import signals, webhook
from ratewindow.contrib.alerts.conditions import Condition, SiteState, holding, unknown, watched
from ratewindow.contrib.alerts.models import AlertChannel

logger = logging.getLogger("ratewindow")

NOT_SENT = "not sent"
Alerts = Sequence[dict[str, str]]  # each with condition, rule, since, last and text


def language(channel: AlertChannel) -> str:
    """Mails are in the site's language; programs read the others."""
    return str(settings.LANGUAGE_CODE) if channel.way == AlertChannel.Way.MAIL else "en"


def send(channel: AlertChannel, now: datetime, new: Alerts = (), over: Alerts = (), *, test: bool = False) -> str:
    """Why it could not be sent; empty if it was."""
    with translation.override(language(channel)):
        return attempt(channel, now, lambda: _send(channel, now, new, over, test))


def send_test(channel: AlertChannel) -> str:
    """Why it could not be sent; empty if it was."""
    return send(channel, time_zone.now(), test=True)


def outcome(error: str) -> str:
    """What the line of a run says: ``sent``, or ``not sent`` and why."""
    return f"{NOT_SENT} ({error})" if error else "sent"


def attempt(channel: AlertChannel, now: datetime, deliver: Callable[[], object]) -> str:
    """Why it could not be sent, or empty if it was; the channel keeps either."""
    why = ""
    try:
        deliver()
    except Exception as error:  # whatever the site's mail backend or receiver raises: shown at the channel
        why = str(error) if isinstance(error, webhook.NotDelivered) else f"{type(error).__name__}: {error}"
        logger.warning("ratewindow: nothing could be sent by the alert channel %s: %s", channel.name, why)
    kept = {"error": why[:500]} if why else {"error": "", "sent_at": now}
    AlertChannel.objects.filter(pk=channel.pk).update(**kept)
    return why[:500]


def send_lines(channel: AlertChannel, subject: str, lines: Sequence[str]) -> None:
    """A mail to all addresses."""
    send_mail(" ".join(subject.split())[:200], "\n\n".join(lines) + "\n", None, channel.address_list())


def _send(channel: AlertChannel, now: datetime, new: Alerts, over: Alerts, test: bool) -> None:
    lines = [each["text"] for each in new] + [gettext("Over: %s") % each["text"] for each in over]
    if test:
        lines.append(gettext("This is a test of the alert channel %s.") % channel.name)
    values: dict[str, object] = {
        "channel": channel.name,
        "at": now.isoformat(),
        "test": test,
        "text": "\n".join(lines),
        "raised": list(new),
        "over": list(over),
    }
    match channel.way:
        case AlertChannel.Way.MAIL:
            send_lines(channel, gettext("Rate limits: %s") % lines[0], lines)
        case AlertChannel.Way.LOG:
            for line in lines:
                logger.warning("ratewindow: alert: %s", line)
        case AlertChannel.Way.SIGNAL:
            signals.alert.send(AlertChannel, **values)
        case _:
            webhook.post(channel.url, json.dumps(values).encode(), channel.secret, str(int(now.timestamp())))


QUIET = timedelta(minutes=10)  # a condition is over once it has not held for so long


@dataclass(frozen=True)
class Changes:
    """`raised` is what holds now, by event; `new` and `over` are to be sent."""

    raised: dict[str, dict[str, str]]
    new: Alerts
    over: Alerts


def raise_alerts(dry_run: bool = False, now: datetime | None = None) -> list[str]:
    """A line for each alert; a dry run sends and keeps nothing. A site without any channel gets one that logs."""
    if not (dry_run or AlertChannel.objects.exists()):
        AlertChannel.objects.get_or_create({"way": "log", "unusual": False, "without_redis": False}, name="log")
    channels = list(AlertChannel.objects.filter(active=True))
    if not channels:
        return ["no active alert channel"]
    state = SiteState(now or time_zone.now())
    return [line for channel in channels for line in _raise(channel, state, dry_run)] or ["nothing new"]


def changes(
    before: Mapping[str, dict[str, str]],
    holds: Iterable[Condition],
    watched: Collection[str],
    unknown: Collection[str],
    now: datetime,
) -> Changes:
    """`holds` has the strongest condition of an event first. An event keeps the condition that was sent, and is new once more
    if it becomes the strongest of all. Of kinds that are no longer `watched` nothing is said, and those that are `unknown` stay
    as they are."""
    moment = now.isoformat()
    raised: dict[str, dict[str, str]] = {}
    for each in holds:
        alert = before.get(each.key)
        if alert is None or (each.kind == "everybody" and alert["condition"] != "everybody"):
            alert = {"condition": each.kind, "rule": each.rule, "since": moment}
        raised.setdefault(each.key, {**alert, "last": moment, "text": each.text})
    new = [alert for alert in raised.values() if alert["since"] == moment]
    quiet = {key: alert for key, alert in before.items() if key not in raised and alert["condition"] in watched}
    over = [
        alert
        for alert in quiet.values()
        if alert["condition"] not in unknown and now - datetime.fromisoformat(alert["last"]) >= QUIET
    ]
    return Changes({**raised, **{key: alert for key, alert in quiet.items() if alert not in over}}, new, over)


def _raise(channel: AlertChannel, state: SiteState, dry_run: bool) -> Iterable[str]:
    with translation.override(language(channel)):
        changed = changes(channel.raised, holding(channel, state), watched(channel), unknown(state), state.now)
    done = "would send"
    if not dry_run:
        if not _claim(channel, changed) or not (changed.new or changed.over):
            return
        error = send(channel, state.now, changed.new, changed.over)
        if error:
            _give_back(channel)
        done = outcome(error)
    for what, alerts in (("new", changed.new), ("over", changed.over)):
        yield from (f"{channel.name}: {done}, {what}: {alert['text']}" for alert in alerts)


def _claim(channel: AlertChannel, changed: Changes) -> bool:
    """Whether this run may send: of several that have read the same, one may."""
    mine = AlertChannel.objects.filter(pk=channel.pk, revision=channel.revision)
    return changed.raised != channel.raised and bool(mine.update(raised=changed.raised, revision=F("revision") + 1))


def _give_back(channel: AlertChannel) -> None:
    """Let the next run try again what could not be sent."""
    claimed = AlertChannel.objects.filter(pk=channel.pk, revision=channel.revision + 1)
    claimed.update(raised=channel.raised, revision=F("revision") + 1)
