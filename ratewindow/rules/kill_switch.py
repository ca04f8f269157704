"""The kill switch as a value: whether all limits are switched off, until when, by whom and why.

It is stored twice, in a row and in a key of Redis, so that it works while either is away; the newer one holds. The setting
``ENABLED = False`` overrides both.
"""

import json
import time
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta

from django.utils.formats import date_format
from django.utils.translation import gettext, pgettext

from ratewindow.conf import time_zone
from ratewindow.conf.in_words import in_clauses
from ratewindow.conf.translation import in_english

REMEMBERED_S = 86_400
MOST_WORDS = 200  # characters of a reason
MOST = timedelta(days=10_000)  # from now to the end: a date that every calendar has


@dataclass(frozen=True)
class Switch:
    """One change of the switch. `until_s` and `at_s`, the time of the change, are seconds since the epoch."""

    off: bool = False
    until_s: float | None = None
    reason: str = ""
    by: str = ""
    at_s: float = 0.0
    site: str = field(default="", compare=False)  # whose it is, as Redis says

    def is_off(self, now_s: float) -> bool:
        """Whether limits are off at that time; it ends by itself."""
        return self.off and (self.until_s is None or now_s < self.until_s)

    @property
    def kept_until_ms(self) -> int | None:
        """When the key in Redis expires: a day after the end of the change."""
        return None if self.until_s is None else int((self.until_s + REMEMBERED_S) * 1000)

    def words(self) -> str:
        """``off until 12:30, by admin: a campaign``, in English: for logs and commands."""
        with in_english():
            return f"off {self.how()}" if self.off else "on"

    def how(self) -> str:
        """``until 12:30, by admin: a campaign``, in the reader's language."""
        until = gettext("until somebody switches them on")
        if self.until_s is not None:
            until = gettext("until %s") % clock(self.until_s)
        text = in_clauses([until, gettext("by %s") % self.by]) if self.by else until
        return gettext("%(text)s: %(reason)s") % {"text": text, "reason": self.reason} if self.reason else text

    def to_text(self) -> str:
        return json.dumps(asdict(self))


ON = Switch()


def from_text(text: str | bytes | None) -> Switch | None:
    """The switch that `to_text` wrote; None for any other text."""
    try:
        switch = Switch(**json.loads(text or "null"))
        times = [switch.at_s, *([] if switch.until_s is None else [switch.until_s])]
        latest_s = time.time() + MOST.total_seconds()  # after a later `at_s` no change would ever be newer
        valid = isinstance(switch.off, bool) and all(isinstance(each, int | float) and 0 <= each <= latest_s for each in times)
        if not valid or not all(isinstance(text, str) for text in (switch.reason, switch.by, switch.site)):
            return None
        return replace(switch, reason=_shown(switch.reason), by=_shown(switch.by), site=_shown(switch.site))
    except (TypeError, ValueError, RecursionError):
        return None


def _shown(text: str) -> str:
    """Printable and short, whoever wrote it."""
    return "".join(letter if letter.isprintable() else " " for letter in text[:MOST_WORDS])


def clock(moment_s: float) -> str:
    """``12:30``, with the date if it is not today."""
    local = time_zone.local(datetime.fromtimestamp(moment_s, UTC))
    is_today = local.date() == time_zone.local(time_zone.now()).date()
    return date_format(local, pgettext("date format", "H:i") if is_today else pgettext("date format", "j M, H:i"))
