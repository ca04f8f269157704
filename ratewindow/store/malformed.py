"""What stands in Redis where ours should, and is not as any process of this version writes it: left out, named once, counted."""

import logging
import time

logger = logging.getLogger("ratewindow")

MOST_NAMED = 100
RECENT_S = 600.0
LONGEST = 80  # characters of a name, or of what is wrong, in the log

_seen: dict[tuple[str, str], float] = {}  # what was named, and when it was met last
_total = 0


def skip(what: str, name: object, why: object) -> None:
    """Leave out `what` (``process record``, ``count``) of that name; the log has it the first time."""
    global _total
    _total += 1
    kind = what, ascii(name)[:LONGEST]
    is_news = kind not in _seen
    if is_news and len(_seen) >= MOST_NAMED:
        return
    _seen[kind] = time.monotonic()
    if is_news:
        logger.warning("ratewindow: a %s in Redis is left out, %s (logged once): %s", *kind, ascii(str(why))[1:-1][:LONGEST])


def total() -> int:
    """How often something was left out since this process began."""
    return _total


def recent() -> int:
    """How many different things were left out within the last minutes, of those that were named."""
    now_s = time.monotonic()
    return sum(now_s - seen_s < RECENT_S for seen_s in list(_seen.values()))


def forget() -> None:
    """Name them anew."""
    global _total
    _seen.clear()
    _total = 0
