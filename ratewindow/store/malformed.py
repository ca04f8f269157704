"""Values in Redis that no process of this version writes: left out, counted, and logged once each."""

import logging
import time

logger = logging.getLogger("ratewindow")

MOST_LOGGED = 100
RECENT_S = 600.0
LONGEST = 80  # characters of a name, or of what is wrong, in the log

_seen: dict[tuple[str, str], float] = {}  # what was logged, and when it was met last
_total = 0


def skip(what: str, name: object, why: object) -> None:
    """Count that `what` (``process record``, ``count``) of this name is left out; logged the first time."""
    global _total
    _total += 1
    kind = what, ascii(name)[:LONGEST]
    is_new = kind not in _seen
    if is_new and len(_seen) >= MOST_LOGGED:
        return
    _seen[kind] = time.monotonic()
    if is_new:
        logger.warning("ratewindow: a %s in Redis is left out, %s (logged once): %s", *kind, ascii(str(why))[1:-1][:LONGEST])


def total() -> int:
    """How often something was left out since this process started."""
    return _total


def recent() -> int:
    """How many different values were left out within the last minutes, of those that were logged."""
    now_s = time.monotonic()
    return sum(now_s - seen_s < RECENT_S for seen_s in list(_seen.values()))


def forget() -> None:
    """Count from 0 and log again, as a process that has just started."""
    global _total
    _seen.clear()
    _total = 0
