"""The kill switch as a value: whether somebody has switched all limits off, until when, by whom and why.

It is kept twice, in a row and in a key of Redis, so that either may be away; the one changed last holds. The setting
``ENABLED`` stands above both.
"""

import json
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.formats import date_format

from ratewindow.conf import time_zone

REMEMBERED_S = 86_400
MOST_WORDS = 200  # characters of a reason
MOST = timedelta(days=10_000)  # that an end may be away: every calendar has it


@dataclass(frozen=True)
class Switch:
    """One turn of the switch. `until_s` and `at_s`, when it was turned, are seconds since the epoch."""

    off: bool = False
    until_s: float | None = None
    reason: str = ""
    by: str = ""
    at_s: float = 0.0

    def is_off(self, now_s: float) -> bool:
        """It lets go by itself."""
        return self.off and (self.until_s is None or now_s < self.until_s)

    @property
    def kept_until_ms(self) -> int | None:
        """When a key in Redis that says so may go: long after what it says has ended."""
        return None if self.until_s is None else int((self.until_s + REMEMBERED_S) * 1000)

    def words(self) -> str:
        """``off until 12:30, by admin: a campaign``."""
        if not self.off:
            return "on"
        end = "until somebody switches them on" if self.until_s is None else f"until {clock(self.until_s)}"
        by = f", by {self.by}" if self.by else ""
        return f"off {end}{by}{f': {self.reason}' if self.reason else ''}"

    def to_text(self) -> str:
        return json.dumps(asdict(self))


ON = Switch()


def from_text(text: str | bytes | None) -> Switch | None:
    """What `to_text` wrote; None for anything else."""
    try:
        told: Any = json.loads(text or "null")
        switch = Switch(**told)
        moments = [switch.at_s, *([] if switch.until_s is None else [switch.until_s])]
        latest_s = time.time() + MOST.total_seconds()  # a later one would make every turn after it too early
        right = isinstance(switch.off, bool) and all(isinstance(each, int | float) and 0 <= each <= latest_s for each in moments)
        if not right or not isinstance(switch.reason, str) or not isinstance(switch.by, str):
            return None
        return replace(switch, reason=_shown(switch.reason), by=_shown(switch.by))
    except (TypeError, ValueError, RecursionError):
        return None


def _shown(text: str) -> str:
    """As pages and terminals can show it, whoever wrote it."""
    return "".join(letter if letter.isprintable() else " " for letter in text[:MOST_WORDS])


def clock(moment_s: float) -> str:
    """``12:30``, with the day when that is another one."""
    local = time_zone.local(datetime.fromtimestamp(moment_s, UTC))
    return date_format(local, "H:i" if local.date() == time_zone.local(time_zone.now()).date() else "j M, H:i")
