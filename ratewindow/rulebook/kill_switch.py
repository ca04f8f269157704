"""The kill switch as this process knows it: whether all limits are switched off, until when, by whom and why.

It is stored twice, in a row and in a key of Redis, so that it works while either is away; the newest turn holds. The setting
``ENABLED = False`` overrides both.
"""

import json
import logging
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from django.utils.translation import gettext, pgettext

from ratewindow.conf import time_zone
from ratewindow.conf.in_words import in_english

logger = logging.getLogger("ratewindow")

MOST_DAYS = 10_000  # to the end: a date that every calendar has


@dataclass(frozen=True)
class Switch:
    """One turn of the switch. `until_s` and `at_s`, the time of the turn, are seconds since the epoch."""

    off: bool = False
    until_s: float | None = None
    reason: str = ""
    by: str = ""
    at_s: float = 0.0

    def is_off(self, now_s: float) -> bool:
        """Whether limits are off at that time; it ends by itself."""
        return self.off and (self.until_s is None or now_s < self.until_s)

    def words(self) -> str:
        """``off until 12:30, by admin: a campaign``, in English: for logs and commands."""
        with in_english():
            return f"off {self.how()}" if self.off else "on"

    def how(self) -> str:
        """``until 12:30, by admin: a campaign``, in the reader's language."""
        until = (
            gettext("until somebody switches them on")
            if self.until_s is None
            else gettext("until %s") % time_zone.in_short(datetime.fromtimestamp(self.until_s, UTC))
        )
        clauses = [until, gettext("by %s") % self.by] if self.by else [until]
        text = pgettext("between the clauses of a sentence", ", ").join(clauses)
        return gettext("%(text)s: %(reason)s") % {"text": text, "reason": self.reason} if self.reason else text


ON = Switch()
_lock = threading.Lock()
turned = ON  # the last turn that this process knows of
off = False  # whether limits are off now


def learn(switch: Switch | None = None) -> None:
    """Follow `switch` if it is newer than the last known turn; limits are on again when its time is over."""
    global turned, off
    with _lock:
        if switch is not None and switch.at_s > turned.at_s:
            turned = switch
        was_off, off = off, turned.is_off(time.time())
    if off != was_off:
        logger.warning("ratewindow: limits are %s", turned.words() if off else "on")


def from_redis(text: str | bytes | None) -> Switch | None:
    """What the key in Redis says; None for what no process of ours has written."""
    try:
        switch = Switch(**json.loads(text or "null"))
        times = [switch.at_s, 0 if switch.until_s is None else switch.until_s]
        latest_s = time.time() + MOST_DAYS * 86_400  # after a later `at_s` no turn would ever be newer
        valid = isinstance(switch.off, bool) and all(isinstance(each, int | float) and 0 <= each <= latest_s for each in times)
        return switch if valid and isinstance(switch.reason, str) and isinstance(switch.by, str) else None
    except (TypeError, ValueError, RecursionError):
        return None


def reset() -> None:
    """As in a process that knows of no turn."""
    global turned, off
    turned, off = ON, False


def renew() -> None:
    """In a fork: a thread that does not exist here may hold the lock."""
    global _lock
    _lock = threading.Lock()
