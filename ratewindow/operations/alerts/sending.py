"""Sends what is new and what is over by the way of a channel; an error is kept at the channel."""

import json
import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from django.conf import settings
from django.core.mail import send_mail
from django.utils import translation
from django.utils.translation import gettext

from ratewindow.models import AlertChannel
from ratewindow.operations.alerts import webhook

logger = logging.getLogger("ratewindow")

NOT_SENT = "not sent"
Said = Sequence[dict[str, str]]  # each with condition, rule, since and text


def language(channel: AlertChannel) -> str:
    """Mails are in the site's language; programs read the others."""
    return str(settings.LANGUAGE_CODE) if channel.way == AlertChannel.Way.MAIL else "en"


def send(channel: AlertChannel, now: datetime, new: Said = (), over: Said = (), *, test: bool = False) -> str:
    """Why it could not be sent; empty if it was. Without `new` and `over` it is a test."""

    def deliver() -> None:
        with translation.override(language(channel)):
            lines = [each["text"] for each in new] + [gettext("Over: %s") % each["text"] for each in over]
            if test:
                lines.append(gettext("This is a test of the alert channel %s.") % channel.name)
            _send(channel, now, lines, new, over, test)

    return attempt(channel, "an alert", deliver)


def outcome(error: str) -> str:
    """What the line of a run says: ``sent``, or ``not sent`` and why."""
    return f"{NOT_SENT} ({error})" if error else "sent"


def attempt(channel: AlertChannel, what: str, deliver: Callable[[], object]) -> str:
    """Why `what` could not be sent; empty if it was."""
    try:
        deliver()
    except Exception as error:  # whatever the site's mail backend raises: shown at the channel
        why = str(error) if isinstance(error, webhook.NotDelivered) else f"{type(error).__name__}: {error}"
        logger.warning("ratewindow: %s could not be sent by the channel %s: %s", what, channel.name, why)
        return why[:500]
    return ""


def _send(channel: AlertChannel, now: datetime, lines: list[str], new: Said, over: Said, test: bool) -> None:
    match channel.way:
        case AlertChannel.Way.MAIL:
            subject = gettext("Rate limits: %s") % lines[0]
            send_mail(" ".join(subject.split())[:200], "\n\n".join(lines) + "\n", None, channel.address_list())
        case AlertChannel.Way.LOG:
            for line in lines:
                logger.warning("ratewindow: alert: %s", line)
        case _:
            values = {"channel": channel.name, "at": now.isoformat(), "test": test, "text": "\n".join(lines)}
            body = json.dumps({**values, "raised": list(new), "over": list(over)}).encode()
            webhook.post(channel.url, body, channel.secret, str(int(now.timestamp())))
